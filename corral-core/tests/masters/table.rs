//! Every master, by name and as a value, for the tests over all of them.
#![allow(missing_docs, dead_code, unused_imports)]

pub use std::collections::HashMap;

pub use corral_core::masters::{self, CorralSpec, MasterSetup, RegretBound, Ruled};
pub use corral_core::masters::{
    Arbe, ArbeParams, BalanceDraw, BlackBox, BlackBoxParams, CorralProgram, D3rb, D3rbParams,
    DynamicBalancing, DynamicBalancingParams, Ed2rb, Estimator, EtaGrid, EtaGridParams, Exp3, Exp3P,
    Exp3PParams, Exp3Params, Exp4Mix, Exp4MixParams, Experience, Fall, Fixed, FixedParams, Hedged,
    HedgedParams, Practical, PracticalParams, Rbbe, RbbeParams, RegretBalancing, Rule, Rulebook, Schedule,
    Trim, TrimParams, TsallisInf, TsallisInfParams, TwoStep, TwoStepParams, Ucb, UcbParams, Uniform,
};
pub use corral_core::registry::BuildError;
pub use corral_core::{Credit, LossDomain, Master, MasterError, MasterExtra, Rate, Rng, draw_base, uniform};
pub use proptest::prelude::*;
pub use rand::SeedableRng;
pub use rand_pcg::Pcg64Dxsm;
pub use serde::de::value::{Error, MapDeserializer};

pub type Build = fn(&MasterSetup) -> Box<dyn Master>;

pub fn ruled<R: Rule + 'static>(params: R::Params, setup: &MasterSetup) -> Box<dyn Master> {
    Box::new(Ruled::<R>::new(params, setup).unwrap())
}

pub fn by_name(name: &str, setup: &MasterSetup) -> Result<Box<dyn Master>, BuildError> {
    masters::build(name, MapDeserializer::<_, Error>::new(std::iter::empty::<(&str, f64)>()), setup)
}

pub fn corral(rules: CorralProgram, rate: Option<f64>, setup: &MasterSetup) -> Box<dyn Master> {
    CorralSpec { rules, rate: rate.map(Rate::Fixed), ..CorralSpec::default() }.master(setup).unwrap()
}

pub fn clipped(rate: Option<f64>, setup: &MasterSetup) -> Box<dyn Master> {
    CorralSpec { clipped: true, rate: rate.map(Rate::Fixed), ..CorralSpec::default() }.master(setup).unwrap()
}

pub fn bounds(scales: [f64; 3]) -> Option<Vec<RegretBound>> {
    Some(scales.map(|scale| RegretBound::new(scale, 0.5)).to_vec())
}

pub fn published() -> D3rbParams {
    D3rbParams { scale: 0.5, rules: Rulebook::PublishedCode, ..D3rbParams::default() }
}

pub fn stochastic() -> D3rbParams {
    D3rbParams { draw: BalanceDraw::Stochastic, ..published() }
}

/// The first base is the best so far, the second one worse, and nothing is known of the others.
pub fn experienced(setup: &MasterSetup) -> MasterSetup {
    let known = |i: usize| Experience { relative: 0.2 - 0.25 * i as f64, plays: 12.0 };
    // It is of losses in [0, 1] alone.
    let bases = if setup.losses == LossDomain::Unit { setup.bases } else { 0 };
    setup.clone().with_experience((0..bases.min(2)).map(known).collect())
}

pub fn rb_grid() -> RbbeParams {
    RbbeParams { scale: 1.0, rules: Rulebook::PublishedCode, ..RbbeParams::default() }
}

/// Every registered master with its defaults, and the variants that have code of their own.
pub const TABLE: &[(&str, Build)] = &[
    ("corral", |s| by_name("corral", s).unwrap()),
    ("corral/as-modelselection", |s| corral(CorralProgram::AsModelselection, None, s)),
    ("corral/as-coba", |s| corral(CorralProgram::AsCoba, None, s)),
    ("corral/as-smpybandits", |s| corral(CorralProgram::AsSmpybandits, None, s)),
    ("corral/as-adversarial-master-h", |s| corral(CorralProgram::AsAdversarialMasterH, None, s)),
    ("corral/clipped", |s| clipped(None, s)),
    ("two-step", |s| by_name("two-step", s).unwrap()),
    ("exp3", |s| by_name("exp3", s).unwrap()),
    ("exp3/mixing", |s| Box::new(Exp3::new(Exp3Params { mixing: 0.1, ..Exp3Params::default() }, s).unwrap())),
    ("exp3/published", |s| {
        let params = Exp3Params { mixing: 1.0, rules: Rulebook::PublishedCode, ..Exp3Params::default() };
        Box::new(Exp3::new(params, s).unwrap())
    }),
    ("exp3/anytime", |s| by_name("exp3", &MasterSetup { horizon: None, ..s.clone() }).unwrap()),
    ("exp3-p", |s| by_name("exp3-p", s).unwrap()),
    ("exp4-mix", |s| by_name("exp4-mix", s).unwrap()),
    ("ucb", |s| by_name("ucb", s).unwrap()),
    ("ucb/experience", |s| {
        let params = UcbParams { scale: 0.1, ..UcbParams::default() };
        Box::new(Ucb::new(params, &experienced(s)).unwrap())
    }),
    ("ucb/published", |s| {
        let params = UcbParams { scale: 2.0, rules: Rulebook::PublishedCode, ..UcbParams::default() };
        Box::new(Ucb::new(params, s).unwrap())
    }),
    ("ucb/published-greedy", |s| {
        let params = UcbParams { scale: 0.0, rules: Rulebook::PublishedCode, ..UcbParams::default() };
        Box::new(Ucb::new(params, s).unwrap())
    }),
    ("regret-balancing", |s| by_name("regret-balancing", s).unwrap()),
    ("rbbe", |s| by_name("rbbe", s).unwrap()),
    ("rbbe/published", |s| Box::new(Rbbe::new(rb_grid(), s).unwrap())),
    ("d3rb/stochastic", |s| Box::new(D3rb::new(stochastic(), s).unwrap())),
    ("ed2rb/stochastic", |s| Box::new(Ed2rb::new(stochastic(), s).unwrap())),
    ("dynamic-balancing", |s| by_name("dynamic-balancing", s).unwrap()),
    ("d3rb", |s| by_name("d3rb", s).unwrap()),
    ("d3rb/published", |s| Box::new(D3rb::new(published(), s).unwrap())),
    ("ed2rb", |s| by_name("ed2rb", s).unwrap()),
    ("ed2rb/published", |s| Box::new(Ed2rb::new(published(), s).unwrap())),
    ("hedged", |s| by_name("hedged", s).unwrap()),
    ("arbe", |s| by_name("arbe", s).unwrap()),
    ("arbe/gap", |s| {
        let params = ArbeParams { scale: 0.02, ..ArbeParams::default() };
        Box::new(Arbe::new(params, s).unwrap())
    }),
    ("black-box", |s| by_name("black-box", s).unwrap()),
    ("r-ed-ucb", |s| by_name("r-ed-ucb", s).unwrap()),
    ("r-ucbe", |s| by_name("r-ucbe", s).unwrap()),
    ("r-sr", |s| by_name("r-sr", s).unwrap()),
    ("tsallis-inf", |s| by_name("tsallis-inf", s).unwrap()),
    ("tsallis-inf/reduced", |s| {
        let params =
            TsallisInfParams { estimator: Estimator::ReducedVariance, ..TsallisInfParams::default() };
        Box::new(TsallisInf::new(params, s).unwrap())
    }),
    ("eta-grid", |s| by_name("eta-grid", s).unwrap()),
    ("trim", |s| by_name("trim", s).unwrap()),
    ("trim/patient", |s| {
        let params = TrimParams { schedule: Schedule::Halving, patience: 1.0, ..TrimParams::default() };
        Box::new(Trim::new(params, s).unwrap())
    }),
    ("trim/halved", |s| {
        let params = TrimParams { schedule: Schedule::Halving, scale: Some(0.03), ..TrimParams::default() };
        Box::new(Trim::new(params, s).unwrap())
    }),
    ("practical", |s| by_name("practical", s).unwrap()),
    ("practical/falling", |s| {
        let params = PracticalParams { rate: Fall::Falling, scale: 30.0, floor: 0.0, ..Default::default() };
        Box::new(Practical::new(params, s).unwrap())
    }),
    ("practical/experience", |s| by_name("practical", &experienced(s)).unwrap()),
    ("corral/experience", |s| by_name("corral", &experienced(s)).unwrap()),
    ("corral/clipped-experience", |s| clipped(Some(8.0), &experienced(s))),
    ("two-step/experience", |s| by_name("two-step", &experienced(s)).unwrap()),
    ("exp3/experience", |s| by_name("exp3", &experienced(s)).unwrap()),
    ("exp3-p/experience", |s| by_name("exp3-p", &experienced(s)).unwrap()),
    ("exp4-mix/experience", |s| by_name("exp4-mix", &experienced(s)).unwrap()),
    ("tsallis-inf/experience", |s| by_name("tsallis-inf", &experienced(s)).unwrap()),
    ("hedged/experience", |s| by_name("hedged", &experienced(s)).unwrap()),
    ("black-box/experience", |s| by_name("black-box", &experienced(s)).unwrap()),
    ("eta-grid/experience", |s| by_name("eta-grid", &experienced(s)).unwrap()),
    ("trim/experience", |s| by_name("trim", &experienced(s)).unwrap()),
    ("regret-balancing/experience", |s| by_name("regret-balancing", &experienced(s)).unwrap()),
    ("rbbe/experience", |s| by_name("rbbe", &experienced(s)).unwrap()),
    ("dynamic-balancing/experience", |s| by_name("dynamic-balancing", &experienced(s)).unwrap()),
    ("d3rb/experience", |s| by_name("d3rb", &experienced(s)).unwrap()),
    ("ed2rb/experience", |s| by_name("ed2rb", &experienced(s)).unwrap()),
    ("pacer", |s| by_name("pacer", s).unwrap()),
    ("uniform", |s| by_name("uniform", s).unwrap()),
    ("fixed", |s| by_name("fixed", s).unwrap()),
];

pub fn setup(bases: usize) -> MasterSetup {
    MasterSetup::new(bases, Some(1000))
}

pub fn simplex(name: &str, p: &[f64]) {
    let sum: f64 = p.iter().sum();
    assert!(p.iter().all(|x| (0.0..=1.0 + 1e-12).contains(x)), "{name}: {p:?}");
    assert!((sum - 1.0).abs() < 1e-9, "{name}: sum {sum} of {p:?}");
}

/// A round drawn from the generator: chosen credit, or shared among the bases that "agree".
pub fn round(name: &str, master: &mut dyn Master, rng: &mut dyn Rng) {
    let base = draw_base(&mut *master, rng).0;
    let loss = [0.0, 1.0, uniform(rng), uniform(rng)][(rng.next_u64() % 4) as usize];
    let agree: Vec<bool> =
        (0..master.probabilities().len()).map(|i| i == base || uniform(rng) < 0.3).collect();
    let p = master.probabilities();
    let together: f64 = p.iter().zip(&agree).filter(|(_, a)| **a).map(|(p, _)| p).sum();
    let shared: Vec<f64> =
        p.iter().zip(&agree).map(|(p, a)| if *a && *p > 0.0 { 1.0 / together } else { 0.0 }).collect();
    let credit = if uniform(rng) < 0.5 {
        Credit::Chosen { base, weight: 1.0 / p[base] }
    } else {
        Credit::Shared(&shared)
    };
    master.update(loss, credit).unwrap_or_else(|e| panic!("{name}: {e}"));
    simplex(name, master.probabilities());
}
