//! A base that says it wants no passes is spared them: then a pass must be nothing to it; and a base that says it does
//! makes an ensemble call it in every round: then a pass must be something.

use crate::common::worlds;
use corral_bases::{Learner, build, entries};
use corral_core::{Base, Context, Feedback};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

/// Lives a few rounds; then whether it wants passes, and whether a pass changed what it saves.
fn observe<D>(mut base: Box<dyn Base<Context, D>>, x: &Context) -> (bool, bool) {
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

#[test]
fn a_base_wants_passes_exactly_when_they_change_it() {
    for entry in entries() {
        let mut built = 0;
        for (setup, x) in worlds(Some(500)).into_iter().chain(worlds(None)) {
            let (wants, changed) = match build(entry.name, &toml::Table::new(), &setup) {
                Ok(Learner::Arms(base)) => observe(base, &x),
                Ok(Learner::Points(base)) => observe(base, &x),
                Err(_) => continue,
            };
            built += 1;
            let (name, horizon) = (entry.name, setup.horizon);
            assert_eq!(wants, changed, "{name}, horizon {horizon:?}: wants passes, is changed by them");
        }
        assert!(built > 0, "{} fits no world", entry.name);
    }
}
