use super::*;
use crate::masters::*;
use crate::sample::split_mix;
use crate::{Credit, Master};

const KNOWN: [Experience; 3] = [
    Experience { relative: 0.1, plays: 12.0 },
    Experience { relative: -0.3, plays: 5.0 },
    Experience { relative: 0.2, plays: 0.5 },
];

fn known() -> MasterSetup {
    MasterSetup::new(4, Some(1_000)).with_experience(KNOWN.to_vec())
}

/// n0_i and rel_i, of the last base nothing.
fn of(i: usize) -> (f64, f64) {
    KNOWN.get(i).map_or((0.0, 0.0), |e| (e.plays, e.relative))
}

/// Plays and rewards with those behind the experience, from the plays n and rewards u of a run.
fn experienced(n: [f64; 4], u: [f64; 4]) -> [(f64, f64); 4] {
    let sum: f64 = (0..4).map(|i| u[i] - n[i] * of(i).1).sum();
    let level = (0.5 + sum) / (1.0 + n.iter().sum::<f64>());
    std::array::from_fn(|i| (n[i] + of(i).0, u[i] + of(i).0 * (level + of(i).1)))
}

/// Runs `rounds` rounds, where the base that is followed must be the one of which `score` says most, from its plays and rewards
/// and those of all; -1 is the score of a base without plays.
fn follows(
    mut master: impl Master,
    rounds: u32,
    score: impl Fn(u32, usize, [(f64, f64); 4]) -> f64,
) -> [u32; 4] {
    let (mut n, mut u, mut state) = ([0.0; 4], [0.0; 4], 7);
    let mut followed = [0; 4];
    for t in 0..rounds {
        let all = experienced(n, u);
        let of = |i: usize| if all[i].0 > 0.0 { score(t, i, all) } else { f64::INFINITY };
        let best = (0..4).max_by(|a, b| of(*a).total_cmp(&of(*b)).then(b.cmp(a))).unwrap();
        // Between sums in another order a tie may fall either way.
        let close = (0..4).find(|&i| master.probabilities()[i] == 1.0).unwrap();
        assert!(close == best || (of(close) - of(best)).abs() < 1e-9, "round {t}: {close} for {best}");
        followed[close] += 1;
        let loss = f64::from(split_mix(&mut state) % 10 < [6, 8, 3, 5][close]);
        master.update(loss, Credit::Chosen { base: close, weight: 1.0 }).unwrap();
        (n[close], u[close]) = (n[close] + 1.0, u[close] + 1.0 - loss);
    }
    followed
}

#[test]
fn the_index_of_ucb_is_that_of_more_plays_at_the_level_of_the_run() {
    let master = Ucb::new(UcbParams { scale: 0.3, ..UcbParams::default() }, &known()).unwrap();
    let followed = follows(master, 400, |t, i, all| {
        let (n, u) = all[i];
        u / n + 0.3 * (f64::from(t + 1) / 0.1).ln().sqrt() / n.sqrt()
    });
    assert!(followed[2] > 250, "{followed:?}");
}

#[test]
fn regret_is_balanced_over_the_plays_behind_the_experience_too() {
    let master = RegretBalancing::new(RegretBalancingParams::default(), &known()).unwrap();
    follows(master, 400, |_, i, all| {
        let played = all.iter().filter(|(n, _)| *n > 0.0);
        let optimum = played.map(|(n, u)| (u + n.sqrt()) / n).fold(0.0, f64::max);
        all[i].1 - all[i].0 * optimum
    });
}

/// sqrt(ln(4 max(1, ln n)/0.01)/n)
fn width(n: f64) -> f64 {
    ((4.0 * n.ln().max(1.0) / 0.01).ln() / n).sqrt()
}

#[test]
fn dynamic_balancing_tests_the_means_with_the_plays_behind_the_experience() {
    let params = DynamicBalancingParams { scale: 0.1, ..DynamicBalancingParams::default() };
    let master = DynamicBalancing::new(params, &known()).unwrap();
    let followed = follows(master, 400, |_, i, all| {
        let wide = |n: f64| 0.1 * width(n);
        let played = all.iter().filter(|(n, _)| *n > 0.0);
        let best = played.map(|(n, u)| u / n - wide(*n)).fold(f64::NEG_INFINITY, f64::max);
        let (n, u) = all[i];
        if u / n + 1.0 / n.sqrt() + wide(n) >= best { -n.sqrt() } else { -1e9 }
    });
    assert!(followed[1] < 40 && followed[2] > 100, "base 1 breaks its bound: {followed:?}");
}

/// Base 1 loses 0.6 more than base 0 in 4,000 plays of each, which refutes rates up to
/// sqrt(4000) (0.6 - 2 sqrt(ln(2 ln 4000/0.01)/4000)) = 63.246 (0.6 - 2 0.04305) = 32.50: d_1 is 64, or 32.50 where it is estimated.
#[test]
fn rates_begin_where_the_plays_refute_no_more() {
    let known = vec![Experience { relative: 0.3, plays: 4e3 }, Experience { relative: -0.3, plays: 4e3 }];
    let setup = MasterSetup::new(2, None).with_experience(known);
    let stochastic = || D3rbParams { draw: BalanceDraw::Stochastic, ..D3rbParams::default() };
    let odds = |p: &[f64]| (p[0] / p[1]).sqrt();
    let doubled = D3rb::new(stochastic(), &setup).unwrap();
    assert!((odds(doubled.probabilities()) - 64.0).abs() < 1e-9, "{:?}", doubled.probabilities());
    let estimated = Ed2rb::new(stochastic(), &setup).unwrap();
    assert!((odds(estimated.probabilities()) - 32.5).abs() < 0.01, "{:?}", odds(estimated.probabilities()));
    // By potential the second would be played after 64^2 as many plays of the first.
    let mut master = D3rb::new(D3rbParams::default(), &setup).unwrap();
    for _ in 0..100 {
        assert_eq!(master.probabilities(), [1.0, 0.0]);
        master.update(0.2, Credit::Chosen { base: 0, weight: 1.0 }).unwrap();
    }
    // A bound that the plays break is dropped with the first loss.
    let mut master = Rbbe::new(RbbeParams { scale: 0.5, ..RbbeParams::default() }, &setup).unwrap();
    master.update(0.2, Credit::Chosen { base: 0, weight: 1.0 }).unwrap();
    assert!(master.rule().active(0) && !master.rule().active(1));
}

/// -M n0_i rel_i: what an estimated loss -rel_i with the weight M adds up to in n0_i plays.
fn estimate(i: usize) -> f64 {
    -4.0 * of(i).0 * of(i).1
}

fn built(name: &str) -> Box<dyn Master> {
    let none = serde::de::value::MapDeserializer::<_, serde::de::value::Error>::new(std::iter::empty::<(
        &str,
        f64,
    )>());
    build(name, none, &known()).unwrap_or_else(|e| panic!("{name}: {e}"))
}

#[test]
fn weights_are_those_of_the_losses_of_so_many_plays() {
    // sqrt(2 ln 4/(1000 4)), 0.95 sqrt(ln 4/(1000 4)); exp4-mix as exp3, under a share of 1 evenly.
    for (name, rate) in [("exp3", 0.026_327_4), ("exp3-p", 0.017_685_4)] {
        let master = built(name);
        let p = master.probabilities();
        for i in 0..3 {
            let mixing = if name == "exp3" { 0.0 } else { 1.05 * (4.0 * 4f64.ln() / 1000.0).sqrt() / 4.0 };
            let log = ((p[i] - mixing) / (p[3] - mixing)).ln();
            assert!((log + rate * estimate(i)).abs() < 1e-5, "{name}: {p:?}");
        }
    }
    // 4/(eta (S_i - x))^2: 2/sqrt(p_i) - eta S_i is the same for all, with eta = 2 in round 1 and 2/sqrt(1000) for hedged.
    let same =
        |p: &[f64], eta: f64| (0..4).map(|i| 2.0 / p[i].sqrt() - eta * estimate(i)).collect::<Vec<_>>();
    let tsallis = same(built("tsallis-inf").probabilities(), 2.0);
    assert!(tsallis.iter().all(|x| (x - tsallis[0]).abs() < 1e-9), "{tsallis:?}");
    // No probability is below 1/rho_1 = 1/8 here, so that no bias is given.
    let hedged = same(built("hedged").probabilities(), 2.0 / 1000f64.sqrt());
    assert!(hedged.iter().all(|x| (x - hedged[0]).abs() < 1e-9), "{hedged:?}");
    // 1/p_i - eta S_i is the same for all; practical has eta = 1/mbar = 2, trim 0.34.
    for (name, eta) in [("practical", 2.0), ("trim", 0.34)] {
        let master = built(name);
        let p = master.probabilities();
        let same = |i: usize| 1.0 / p[i] - eta * estimate(i);
        assert!((0..4).all(|i| (same(i) - same(3)).abs() < 1e-9), "{name}: {p:?}");
    }
    let practical = Practical::new(PracticalParams::default(), &known()).unwrap();
    assert_eq!(practical.bound(1_000), None);
}

/// Among many bases the floors of some masters are above what so much experience leaves; what is left is a distribution, and a step
/// can be made from it.
#[test]
fn strong_experience_leaves_room_for_floors() {
    let strong = |i: usize| Experience { relative: 0.19 - 0.02 * i as f64, plays: 1e6 };
    let setup = MasterSetup::new(20, Some(1_000)).with_experience((0..20).map(strong).collect());
    let none = || {
        serde::de::value::MapDeserializer::<_, serde::de::value::Error>::new(std::iter::empty::<(&str, f64)>())
    };
    for name in [
        "trim",
        "practical",
        "corral",
        "eta-grid",
        "tsallis-inf",
        "exp3",
        "exp3-p",
        "exp4-mix",
        "hedged",
        "black-box",
    ] {
        let mut master = build(name, none(), &setup).unwrap_or_else(|e| panic!("{name}: {e}"));
        for t in 0..50 {
            let p = master.probabilities();
            assert!(
                (p.iter().sum::<f64>() - 1.0).abs() < 1e-9 && p.iter().all(|p| *p >= 0.0),
                "{name}: {p:?}"
            );
            let base = (0..20).max_by(|a, b| p[*a].total_cmp(&p[*b])).unwrap();
            let weight = 1.0 / p[base];
            let loss = f64::from(t % 2);
            master.update(loss, Credit::Chosen { base, weight }).unwrap_or_else(|e| panic!("{name}: {e}"));
        }
    }
}

#[test]
fn corral_has_it_as_its_first_distribution_and_keeps_its_bound() {
    let master = built("corral");
    let eta = 1.0 / 1000f64.sqrt();
    // pbar = (1 - 1/T) p + 1/(T M)
    let p: Vec<f64> = master.probabilities().iter().map(|p| (p - 0.00025) / 0.999).collect();
    let same = |i: usize| 1.0 / p[i] - eta * estimate(i);
    assert!((0..4).all(|i| (same(i) - same(3)).abs() < 1e-6), "{p:?}");
    let spec = |prior: Option<Vec<f64>>, audit| CorralSpec { prior, audit, ..CorralSpec::default() };
    let mut audited = spec(None, true).master(&known()).unwrap();
    let mut state = 3;
    for _ in 0..500 {
        let base = (split_mix(&mut state) % 4) as usize;
        let weight = 1.0 / audited.probabilities()[base];
        let loss = f64::from(split_mix(&mut state).is_multiple_of(2));
        audited.update(loss, Credit::Chosen { base, weight }).unwrap();
    }
    assert_eq!(audited.telemetry().audit.unwrap().failures(1e-9), []);
    let both = spec(Some(vec![1.0; 4]), false).master(&known()).err().map(|e| e.to_string());
    assert_eq!(both.as_deref(), Some("experience: goes without a prior: both say where to begin"));
    // Every rate of a grid begins where its own steps would be, and a black box with the best base as its candidate.
    assert_eq!(built("eta-grid").probabilities().iter().filter(|p| **p > 0.25).count(), 1);
    let setup = MasterSetup::new(3, None).with_experience(KNOWN[1..].to_vec());
    assert_eq!(BlackBox::new(BlackBoxParams::default(), &setup).unwrap().rule().candidate(), 1);
}

#[test]
fn what_cannot_be_experience_is_refused() {
    let refused = |experience: &[Experience]| {
        let setup = MasterSetup::new(2, None).with_experience(experience.to_vec());
        Ucb::new(UcbParams::default(), &setup).err().map(|e| e.to_string())
    };
    let one = |relative, plays| Experience { relative, plays };
    assert_eq!(refused(&KNOWN).as_deref(), Some("experience must be one entry per base, but is of length 3"));
    let why = "experience.relative must be in [-1, 1], but is 2";
    assert_eq!(refused(&[one(2.0, 1.0)]).as_deref(), Some(why));
    let why = "experience.plays must be in [0, 10^9], but is NaN";
    assert_eq!(refused(&[one(0.0, f64::NAN)]).as_deref(), Some(why));
    let setup = known().with_losses(LossDomain::Real);
    let unbounded = Ucb::new(UcbParams::default(), &setup).err().map(|e| e.to_string());
    assert!(
        unbounded.as_deref().is_some_and(|e| e.contains("in [0, 1] where there is experience")),
        "{unbounded:?}"
    );
}

#[test]
fn masters_for_which_it_means_nothing_say_so() {
    let none = || {
        serde::de::value::MapDeserializer::<_, serde::de::value::Error>::new(std::iter::empty::<(&str, f64)>())
    };
    for name in ["uniform", "fixed", "pacer", "arbe"] {
        let why = build(name, none(), &known()).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(why.contains("experience: means nothing to"), "{name}: {why}");
    }
    let audited = PracticalParams { audit: true, ..PracticalParams::default() };
    assert!(Practical::new(audited, &known()).is_err());
}

#[test]
fn a_snapshot_has_the_experience_and_is_for_no_other_master() {
    let mut master = Ucb::new(UcbParams::default(), &known()).unwrap();
    let fresh = |experience: &[Experience]| {
        let setup = MasterSetup::new(4, Some(1_000)).with_experience(experience.to_vec());
        Ucb::new(UcbParams::default(), &setup).unwrap()
    };
    let state = master.save();
    let other = "the snapshot does not hold a valid state: its experience is another than this master's";
    for mut foreign in [fresh(&[]), fresh(&KNOWN[..2])] {
        assert_eq!(foreign.load(&state).err().map(|e| e.to_string()).as_deref(), Some(other));
        assert_eq!(master.load(&foreign.save()).err().map(|e| e.to_string()).as_deref(), Some(other));
    }
    assert_eq!(master.save(), state);
    fresh(&KNOWN).load(&state).unwrap();
    // Starting over begins with it again.
    let first = master.probabilities().to_vec();
    for _ in 0..50 {
        master.update(1.0, Credit::Chosen { base: 3, weight: 1.0 }).unwrap();
    }
    assert_ne!(master.probabilities(), first);
    master.extra().unwrap().start_over(1.0, None).unwrap();
    assert_eq!(master.probabilities(), first);
}
