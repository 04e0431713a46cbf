//! Bases inside a band: they live through their whole horizon whatever the master credits and feeds.

use corral_bases::{Learner, build};
use corral_core::{
    Arm, Base, Context, Corral, CorralParams, Crediting, Ensemble, EnsembleParams, Feed, Horizon, Point,
    Rate, Set, Setup, Space, uniform,
};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

const ROUNDS: u64 = 600;

fn live(names: &[&str], setup: &Setup, credit: Crediting, feed: Feed) {
    let bases: Vec<Box<dyn Base<Context, Arm>>> = names
        .iter()
        .map(|name| match build(name, &toml::Table::new(), setup) {
            Ok(Learner::Arms(base)) => base,
            _ => panic!("{name} is not built"),
        })
        .collect();
    // An eager master, so that ranges grow and bases are told so.
    let params = CorralParams { rate: Rate::Eager, ..CorralParams::new(bases.len(), Horizon::Known(ROUNDS)) };
    let params_band = EnsembleParams { credit, feed, ..EnsembleParams::default() };
    let mut band = Ensemble::with_params(Corral::new(params).unwrap(), bases, params_band).unwrap();
    let mut rng = Pcg64Dxsm::seed_from_u64(5);
    for _ in 0..ROUNDS {
        let features = (0..setup.context.features).map(|_| uniform(&mut rng) - 0.5).collect();
        let x = Context::shared(features, setup.actions());
        let ticket = band.choose(&x, &mut rng).unwrap();
        let loss = f64::from(u8::from(uniform(&mut rng) < 0.3 + 0.1 * f64::from(ticket.decision.0)));
        let outcome = band.learn(&x, ticket, loss).unwrap();
        assert!(outcome.benched.is_empty(), "{:?} {credit:?} {feed:?}", band.benched());
    }
}

#[test]
fn no_base_is_benched_before_the_end() {
    let arms = Setup::arms(4, Some(ROUNDS));
    let mut contextual = arms.clone();
    contextual.context.features = 3;
    for credit in [Crediting::Chosen, Crediting::SameDecision, Crediting::Likelihood] {
        for feed in [Feed::Weighted, Feed::Raw, Feed::Everyone] {
            let free = ["exp3", "tsallis-inf", "ucb1", "ucb-v", "kl-ucb", "moss", "thompson", "random"];
            live(&free, &arms, credit, feed);
            let linear = ["greedy", "epsilon-greedy", "linucb", "lints", "squarecb", "regcb", "nlms", "exp3"];
            live(&linear, &contextual, credit, feed);
            live(&["glm-ucb", "ucb1", "epsilon-greedy"], &contextual, credit, feed);
        }
    }
}

fn live_on_points(names: &[&str], setup: &Setup, credit: Crediting, feed: Feed) {
    let bases: Vec<Box<dyn Base<Context, Point>>> = names
        .iter()
        .map(|name| match build(name, &toml::Table::new(), setup) {
            Ok(Learner::Points(base)) => base,
            _ => panic!("{name} is not built"),
        })
        .collect();
    let params = CorralParams { rate: Rate::Eager, ..CorralParams::new(bases.len(), Horizon::Known(ROUNDS)) };
    let params_band = EnsembleParams { credit, feed, ..EnsembleParams::default() };
    let mut band = Ensemble::with_params(Corral::new(params).unwrap(), bases, params_band).unwrap();
    let mut rng = Pcg64Dxsm::seed_from_u64(6);
    let x = Context::plain(0);
    for _ in 0..ROUNDS {
        let ticket = band.choose(&x, &mut rng).unwrap();
        let mean = 0.5 + 0.3 * ticket.decision.coordinates()[0];
        let loss = f64::from(u8::from(uniform(&mut rng) < mean));
        let outcome = band.learn(&x, ticket, loss).unwrap();
        assert!(outcome.benched.is_empty(), "{:?} {credit:?} {feed:?}", band.benched());
    }
}

#[test]
fn no_base_over_points_is_benched_before_the_end() {
    let world = |set| Setup::new(Space::Points(set), Some(ROUNDS));
    let list = Set::finite(&Set::cube(3).unwrap().vertices(8).unwrap()).unwrap();
    for credit in [Crediting::Chosen, Crediting::SameDecision, Crediting::Likelihood] {
        for feed in [Feed::Weighted, Feed::Raw, Feed::Everyone] {
            let all = [
                "scrible",
                "bgd",
                "oful",
                "lints-points",
                "sparse-oful",
                "sl-ucb",
                "group-sparse",
                "glm-oful",
            ];
            live_on_points(&all, &world(Set::ball(4).unwrap()), credit, feed);
            live_on_points(&["oful", "sparse-oful", "glm-oful"], &world(list.clone()), credit, feed);
        }
    }
}
