//! Bases inside a band: they live through their whole horizon whatever the master credits and feeds.

use crate::common::{arms, coin, over_points, round};
use corral_core::{
    Arm, Base, Context, Corral, CorralParams, Crediting, Decision, Ensemble, EnsembleParams, Feed, Horizon,
    Point, Rate, Set, Setup, Space, Ticket, uniform,
};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

const ROUNDS: u64 = 600;

/// `mean` is the probability that a decision costs 1.
fn live<D: Decision>(
    bases: Vec<Box<dyn Base<Context, D>>>,
    setup: &Setup,
    (credit, feed): (Crediting, Feed),
    mut rng: Pcg64Dxsm,
    mean: impl Fn(&Ticket<D>) -> f64,
) {
    // An eager master, so that ranges grow and bases are told so.
    let params = CorralParams { rate: Rate::Eager, ..CorralParams::new(bases.len(), Horizon::Known(ROUNDS)) };
    let params_band = EnsembleParams { credit, feed, ..EnsembleParams::default() };
    let mut band = Ensemble::with_params(Corral::new(params).unwrap(), bases, params_band).unwrap();
    for _ in 0..ROUNDS {
        let features = (0..setup.context.features).map(|_| uniform(&mut rng) - 0.5).collect();
        let x = Context::shared(features, setup.actions());
        let outcome = round(&mut band, &x, &mut rng, |ticket, rng| coin(mean(ticket), rng));
        assert!(outcome.benched.is_empty(), "{:?} {credit:?} {feed:?}", band.benched());
    }
}

fn live_on_arms(names: &[&str], setup: &Setup, rules: (Crediting, Feed)) {
    let bases = names.iter().map(|name| arms(name, setup).unwrap()).collect();
    let mean = |ticket: &Ticket<Arm>| 0.3 + 0.1 * ticket.decision.index() as f64;
    live(bases, setup, rules, Pcg64Dxsm::seed_from_u64(5), mean);
}

#[test]
fn no_base_is_benched_before_the_end() {
    let arms = Setup::arms(4, Some(ROUNDS));
    let mut contextual = arms.clone();
    contextual.context.features = 3;
    for credit in [Crediting::Chosen, Crediting::SameDecision, Crediting::Likelihood] {
        for feed in [Feed::Weighted, Feed::Raw, Feed::Everyone] {
            let free = ["exp3", "tsallis-inf", "ucb1", "ucb-v", "kl-ucb", "moss", "thompson", "random"];
            live_on_arms(&free, &arms, (credit, feed));
            let linear = ["greedy", "epsilon-greedy", "linucb", "lints", "squarecb", "regcb", "nlms", "exp3"];
            live_on_arms(&linear, &contextual, (credit, feed));
            live_on_arms(&["glm-ucb", "ucb1", "epsilon-greedy"], &contextual, (credit, feed));
        }
    }
}

fn live_on_points(names: &[&str], setup: &Setup, rules: (Crediting, Feed)) {
    let bases = names.iter().map(|name| over_points(name, setup)).collect();
    let mean = |ticket: &Ticket<Point>| 0.5 + 0.3 * ticket.decision.coordinates()[0];
    live(bases, setup, rules, Pcg64Dxsm::seed_from_u64(6), mean);
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
            live_on_points(&all, &world(Set::ball(4).unwrap()), (credit, feed));
            live_on_points(&["oful", "sparse-oful", "glm-oful"], &world(list.clone()), (credit, feed));
        }
    }
}
