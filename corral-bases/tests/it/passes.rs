//! A base that says it wants no passes is spared them: then a pass must be nothing to it; and a base that says it does
//! makes an ensemble call it in every round: then a pass must be something. What stands around a base passes them on.

use crate::common::worlds;
use corral_bases::{Learner, Priced, Rescaled, Smoothed, build, entries};
use corral_core::{
    Base, BaseError, Benched, Context, Corral, CorralParams, Decision, Ensemble, Feedback, Horizon, Proposal,
    forward,
};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

type Boxed<D> = Box<dyn Base<Context, D>>;

/// Lives a few rounds; then whether it wants passes, and whether a pass changed what it saves.
fn observe<D>(mut base: Boxed<D>, x: &Context) -> (bool, bool) {
    let mut rng = Pcg64Dxsm::seed_from_u64(1);
    let mut changed = false;
    for round in 0..40 {
        let made = base.propose(x, &mut rng).unwrap();
        base.learn(x, &made, Feedback::plain(f64::from(round % 2))).unwrap();
        let before = base.save();
        base.pass(x).unwrap();
        changed |= base.save() != before;
    }
    (base.abilities().wants_passes, changed)
}

fn band<D: Decision>(bases: Vec<Boxed<D>>) -> Ensemble<Context, D, Corral> {
    let master = Corral::new(CorralParams::new(bases.len(), Horizon::Known(500))).unwrap();
    Ensemble::new(master, bases).unwrap()
}

/// A base alone, and inside of what can stand around one.
fn around<D: Decision>(fresh: impl Fn() -> Boxed<D>) -> [(&'static str, Boxed<D>); 4] {
    [
        ("alone", fresh()),
        ("smoothed", Box::new(Smoothed::new(fresh(), fresh()))),
        ("priced", Box::new(Priced::new(fresh(), 0.5))),
        ("in a band", Box::new(band(vec![fresh(), fresh()]))),
    ]
}

fn check<D: Decision>(name: &str, x: &Context, fresh: impl Fn() -> Boxed<D>) {
    for (inside, base) in around(fresh) {
        let (wants, changed) = match inside {
            "priced" => observe(Box::new(Costs(base)), x),
            _ => observe(base, x),
        };
        assert_eq!(wants, changed, "{name}, {inside}: wants passes, is changed by them");
    }
}

/// Says what each decision costs.
struct Costs<D>(Boxed<D>);

impl<D> Base<Context, D> for Costs<D> {
    forward!(Base<Context, D>: self => self.0, except learn);
    fn learn(&mut self, x: &Context, made: &Proposal<D>, feedback: Feedback) -> Result<(), BaseError> {
        self.0.learn(x, made, feedback.with_cost(0.5))
    }
}

#[test]
fn a_base_wants_passes_exactly_when_they_change_it() {
    for entry in entries() {
        let mut built = 0;
        for (setup, x) in worlds(Some(500)).into_iter().chain(worlds(None)) {
            for params in ["", "features = \"bias\""] {
                let fresh = || build(entry.name, &params.parse().unwrap(), &setup);
                let told = format!("{} {params}, horizon {:?}", entry.name, setup.horizon);
                match fresh() {
                    Ok(Learner::Arms(_)) => check(&told, &x, || fresh().unwrap().into_arms().unwrap()),
                    Ok(Learner::Points(_)) => check(&told, &x, || fresh().unwrap().into_points().unwrap()),
                    Err(_) => continue,
                }
                built += 1;
            }
        }
        assert!(built > 0, "{} fits no world", entry.name);
    }
}

/// Fails when it learns.
struct Fails<D>(Boxed<D>);

impl<D> Base<Context, D> for Fails<D> {
    forward!(Base<Context, D>: self => self.0, except learn);
    fn learn(&mut self, _: &Context, _: &Proposal<D>, _: Feedback) -> Result<(), BaseError> {
        Err(BaseError::Failed("the fixture fails".into()))
    }
}

/// A band says which bases of bands inside of it are benched, whatever stands around these.
#[test]
fn what_is_benched_inside_is_seen_from_outside() {
    let (setup, x) = worlds(Some(500)).remove(0);
    let base = || build("exp3", &toml::Table::new(), &setup).unwrap().into_arms().unwrap();
    let inner = || -> Boxed<_> { Box::new(band(vec![Box::new(Fails(base())), base()])) };
    let outer: [Boxed<_>; 4] = [
        inner(),
        Box::new(Smoothed::new(inner(), inner())),
        Box::new(Rescaled::new(inner())),
        Box::new(Priced::new(inner(), 0.0)),
    ];
    let (mut band, mut rng) = (band(outer.into()), Pcg64Dxsm::seed_from_u64(1));
    for _ in 0..200 {
        let ticket = band.choose(&x, &mut rng).unwrap();
        band.learn(&x, ticket, 0.5).unwrap();
    }
    let names: Vec<String> = band.everybody_benched().into_iter().map(|b: Benched| b.name).collect();
    assert_eq!(names, ["0/0", "1/0", "2/0", "3/0"]);
    assert!(band.report().contains("benched: 2/0 in round"), "{}", band.report());
}
