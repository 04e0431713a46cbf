//! A base that says it heeds no passes is spared them: then a pass must be nothing to it; and a base that says it does
//! makes an ensemble call it in every round: then a pass must be something.

use std::sync::Arc;

use corral_bases::{Learner, build, entries};
use corral_core::{Base, Context, ContextSampler, Feedback, Policy, Rng, Set, Setup, Space, uniform};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

struct Cells;

impl ContextSampler for Cells {
    fn sample(&self, rng: &mut dyn Rng) -> Context {
        Context::tabular((uniform(rng) * 4.0) as usize, 4)
    }
}

/// Worlds that between them fit every base, each with and without a horizon, and a context of each.
fn worlds() -> Vec<(Setup, Context)> {
    let plain = (Setup::arms(4, None), Context::plain(4));
    let mut features = (Setup::arms(4, None), Context::shared(vec![1.0, 0.5, -0.2], 4));
    features.0.context.features = 3;
    let mut tables = (Setup::arms(4, None), Context::tabular(2, 4));
    tables.0.context.cells = Some(4);
    tables.0.policies = Some((0..9).map(|i| Policy::Table(vec![i % 4, i / 3, 1, 3 - i % 4])).collect());
    tables.0.sampler = Some(Arc::new(Cells));
    let points = [Set::Ball { dim: 8 }, Set::Simplex { vertices: 4 }]
        .map(|set| (Setup::new(Space::Points(set), None), Context::plain(0)));
    let mut worlds = vec![plain, features, tables];
    worlds.extend(points);
    let limited = worlds.iter().map(|(s, x)| (Setup { horizon: Some(500), ..s.clone() }, x.clone()));
    limited.collect::<Vec<_>>().into_iter().chain(worlds.clone()).collect()
}

/// Lives a few rounds; then whether it heeds passes, and whether a pass changed what it saves.
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
    (base.abilities().heeds_passes, changed)
}

#[test]
fn a_base_heeds_passes_exactly_when_they_change_it() {
    for entry in entries() {
        let mut built = 0;
        for (setup, x) in worlds() {
            let (heeds, changed) = match build(entry.name, &toml::Table::new(), &setup) {
                Ok(Learner::Arms(base)) => observe(base, &x),
                Ok(Learner::Points(base)) => observe(base, &x),
                Err(_) => continue,
            };
            built += 1;
            let (name, horizon) = (entry.name, setup.horizon);
            assert_eq!(heeds, changed, "{name}, horizon {horizon:?}: heeds passes, is changed by them");
        }
        assert!(built > 0, "{} fits no world", entry.name);
    }
}
