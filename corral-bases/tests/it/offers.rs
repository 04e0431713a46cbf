//! Rounds that offer some of the actions by their numbers: every base means the same action by a number, and learns it.

use corral_bases::{BaseParams, BuildError, band, build, entries};
use corral_core::{
    Arm, Base, BaseError, Context, ContextShape, EnsembleError, Feedback, Learner, Rng, Setup, uniform,
};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

/// Bases that keep something for each action by its number: arms, and contexts with a parameter vector for each.
fn names() -> Vec<&'static str> {
    vec![
        "ucb1",
        "kl-ucb",
        "ucb-v",
        "moss",
        "exp3",
        "tsallis-inf",
        "thompson",
        "epsilon-greedy",
        "greedy",
        "linucb",
        "lints",
        "squarecb",
        "regcb",
        "glm-ucb",
        "nlms",
    ]
}

fn base(name: &str, setup: &Setup) -> Box<dyn Base<Context, Arm>> {
    match build(name, &toml::Table::new(), setup).unwrap() {
        Learner::Arms(base) => base,
        Learner::Points(_) => unreachable!("{name} is over arms"),
    }
}

fn with_constant(actions: usize) -> Setup {
    Setup { context: ContextShape { features: 1, ..ContextShape::default() }, ..Setup::arms(actions, None) }
}

/// A round with a constant feature that offers these actions.
fn offering(numbers: &[u32]) -> Context {
    Context::shared(vec![1.0], 0).offering(numbers.to_vec())
}

#[test]
fn what_was_learned_of_an_action_is_known_wherever_it_is_offered() {
    // Action 2 is the best, 0 the worst. After 300 rounds with all three, 0 is retired: places 0 and 1 are now actions 1 and 2.
    let (setup, losses) = (with_constant(3), [0.9, 0.6, 0.1]);
    for name in names() {
        let mut base = base(name, &setup);
        let mut rng = Pcg64Dxsm::seed_from_u64(3);
        assert!(base.abilities().takes_offers, "{name}");
        let mut play = |x: &Context, rounds: usize| {
            let mut best = 0;
            for _ in 0..rounds {
                let made = base.propose(x, &mut rng).unwrap();
                let number = x.number(made.decision.index());
                best += usize::from(number == 2);
                let loss = f64::from(uniform(&mut rng) < losses[number]);
                base.learn(x, &made, Feedback::plain(loss)).unwrap();
            }
            best
        };
        play(&offering(&[0, 1, 2]), 600);
        // lints explores most: its scale grows with the horizon.
        let found = play(&offering(&[1, 2]), 200);
        assert!(found > 130, "{name} plays action 2 in {found} of 200 rounds");
    }
}

#[test]
fn an_offer_of_all_actions_is_the_round_without_one() {
    let setup = with_constant(4);
    for name in names() {
        let (mut one, mut other) = (base(name, &setup), base(name, &setup));
        let mut rng = [Pcg64Dxsm::seed_from_u64(5), Pcg64Dxsm::seed_from_u64(5)];
        let (plain, offer) = (Context::shared(vec![1.0], 4), offering(&[0, 1, 2, 3]));
        for round in 0..50 {
            let made = one.propose(&plain, &mut rng[0]).unwrap();
            let again = other.propose(&offer, &mut rng[1]).unwrap();
            assert_eq!(made.decision, again.decision, "{name}, round {round}");
            for arm in 0..4 {
                let of = |base: &dyn Base<Context, Arm>, x| base.likelihood(x, &Arm(arm)).map(|(p, _)| p);
                let (p, q) = (of(&*one, &plain).unwrap(), of(&*other, &offer).unwrap());
                assert!((p - q).abs() < 1e-6, "{name}, round {round}, arm {arm}: {p} and {q}");
            }
            let loss = f64::from(made.decision.0) / 4.0;
            one.learn(&plain, &made, Feedback::plain(loss)).unwrap();
            other.learn(&offer, &again, Feedback::plain(loss)).unwrap();
        }
    }
}

#[test]
fn likelihoods_among_the_offered_actions_are_the_frequencies() {
    // 4,000 draws at five standard errors.
    let setup = with_constant(4);
    for name in names() {
        let mut base = base(name, &setup);
        let mut rng = Pcg64Dxsm::seed_from_u64(7);
        for round in 0..40 {
            let x = Context::shared(vec![1.0], 4);
            let made = base.propose(&x, &mut rng).unwrap();
            let loss = f64::from((round + made.decision.0) % 3 == 0);
            base.learn(&x, &made, Feedback::plain(loss)).unwrap();
        }
        let x = offering(&[1, 3]);
        let p = base.likelihood(&x, &Arm(1)).unwrap().0;
        let n = 4_000;
        let found = (0..n).filter(|_| base.propose(&x, &mut rng).unwrap().decision == Arm(1)).count();
        let error = 5.0 * (p * (1.0 - p) / f64::from(n)).sqrt() + 0.003;
        assert!((found as f64 / f64::from(n) - p).abs() <= error, "{name}: {found} of {n}, likelihood {p}");
    }
}

/// Chooses a place of what a context offers; the function has the loss of each action.
type Choose<'a> = dyn FnMut(&Context, &mut dyn Rng, &dyn Fn(usize) -> f64) -> usize + 'a;

/// Mean loss of the last half of a game of 4,000 rounds over five actions of means 0.9, 0.7, 0.5, 0.3, 0.1, of which a round offers
/// a random three by their numbers. Action 4 joins in the middle and action 3 retires.
fn changing(choose: &mut Choose<'_>) -> f64 {
    let means = [0.9, 0.7, 0.5, 0.3, 0.1];
    let mut rng = Pcg64Dxsm::seed_from_u64(11);
    let (rounds, mut total) = (4_000, 0.0);
    for t in 0..rounds {
        let there: &[u32] = if t < rounds / 2 { &[0, 1, 2, 3] } else { &[0, 1, 2, 4] };
        let out = there[(4.0 * uniform(&mut rng)) as usize];
        let x = offering(&there.iter().copied().filter(|a| *a != out).collect::<Vec<_>>());
        let u = uniform(&mut rng);
        let place = choose(&x, &mut rng, &|number| f64::from(u < means[number]));
        if t >= rounds / 2 {
            total += means[x.number(place)];
        }
    }
    total / (rounds / 2) as f64
}

#[test]
fn a_band_learns_while_actions_join_and_retire() {
    let setup = with_constant(5);
    let mut band = band(["ucb1", "linucb", "thompson"], &setup).unwrap();
    let of_band = changing(&mut |x, rng, loss| {
        let ticket = band.choose(x, rng).unwrap();
        let place = ticket.decision.index();
        band.learn(x, ticket, loss(x.number(place))).unwrap();
        place
    });
    assert!(band.benched().is_empty());
    let random = changing(&mut |x, rng, _| (uniform(rng) * x.actions() as f64) as usize);
    let best = changing(&mut |x, _, _| x.actions() - 1);
    let mut alone = base("ucb1", &setup);
    let of_base = changing(&mut |x, rng, loss| {
        let made = alone.propose(x, rng).unwrap();
        let place = made.decision.index();
        alone.learn(x, &made, Feedback::plain(loss(x.number(place)))).unwrap();
        place
    });
    // random 0.55, the best offered action 0.2
    assert!(random > 0.5 && best < 0.25, "{random} {best}");
    assert!(
        of_band < best + 0.05 && of_band < of_base + 0.02,
        "{of_band}, ucb1 alone {of_base}, best {best}"
    );
}

#[test]
fn a_base_takes_an_offer_or_says_that_it_cannot() {
    let (setup, x) = (with_constant(4), offering(&[1, 3]));
    let mut rng = Pcg64Dxsm::seed_from_u64(1);
    let mut refused = Vec::new();
    for entry in entries() {
        let Ok(Learner::Arms(mut base)) = build(entry.name, &toml::Table::new(), &setup) else { continue };
        let takes = base.abilities().takes_offers;
        match base.propose(&x, &mut rng) {
            Ok(made) => assert!(takes && made.decision.index() < 2, "{}", entry.name),
            Err(BaseError::LeftOut { .. }) => refused.push((entry.name, takes)),
            Err(other) => panic!("{}: {other}", entry.name),
        }
    }
    assert!(refused.iter().all(|(_, takes)| !takes), "{refused:?}");
    // A band says it before any base is asked, and benches none.
    let (rigid, _) = refused[0];
    let mut rigid_band = band(["ucb1", rigid], &setup).unwrap();
    let error = rigid_band.choose(&x, &mut rng).unwrap_err();
    assert!(matches!(&error, EnsembleError::Context(BaseError::LeftOut { .. })), "{error}");
    assert!(rigid_band.benched().is_empty() && rigid_band.rounds() == 0);
    rigid_band.choose(&Context::shared(vec![1.0], 4), &mut rng).unwrap();
}

#[test]
fn numbers_that_no_action_has_are_refused() {
    let mut band = band(["ucb1", "linucb"], &with_constant(3)).unwrap();
    let mut rng = Pcg64Dxsm::seed_from_u64(1);
    for numbers in [vec![1, 0], vec![0, 0], vec![2, 3]] {
        let refused = band.choose(&offering(&numbers), &mut rng).unwrap_err();
        assert_eq!(refused, EnsembleError::Context(BaseError::Numbers { numbers, actions: 3 }));
    }
    let x = offering(&[0, 2]);
    let ticket = band.choose(&x, &mut rng).unwrap();
    // Another offer is another context.
    let other = band.learn(&offering(&[0, 1]), ticket, 0.5).unwrap_err();
    assert!(matches!(other.error, EnsembleError::OtherContext { .. }));
    band.learn(&x, other.ticket, 0.5).unwrap();
}

/// Which of three actions is good depends on a shared feature and on a feature of the action together: the loss is 0.1 where they
/// have the same sign and 0.9 elsewhere. Mean loss of the last half of 3,000 rounds.
fn by_both(name: &str, keys: &str) -> Result<f64, BuildError> {
    let context = ContextShape { features: 1, row_features: 2, cells: None };
    let setup = Setup { context, ..Setup::arms(3, None) };
    let Learner::Arms(mut base) = build(name, &keys.parse().unwrap(), &setup)? else {
        panic!("{name} is over arms")
    };
    let mut rng = Pcg64Dxsm::seed_from_u64(2);
    let sign = |rng: &mut Pcg64Dxsm| if uniform(rng) < 0.5 { -1.0 } else { 1.0 };
    let (mut total, rounds) = (0.0, 3_000);
    for t in 0..rounds {
        let shared = sign(&mut rng);
        let rows: Vec<f64> = (0..3).flat_map(|_| [1.0, sign(&mut rng)]).collect();
        let x = Context::with_rows(vec![shared], rows, 2);
        let made = base.propose(&x, &mut rng).unwrap();
        let fits = x.row(made.decision.index()).unwrap()[1] == shared;
        let loss = if fits { 0.1 } else { 0.9 };
        base.learn(&x, &made, Feedback::plain(loss)).unwrap();
        total += if t >= rounds / 2 { loss } else { 0.0 };
    }
    Ok(total / f64::from(rounds / 2))
}

#[test]
fn shared_features_are_crossed_with_rows() {
    // A random action costs 0.5, the best 0.2: with probability 1/8 no action fits.
    for name in ["greedy", "linucb", "squarecb", "regcb", "nlms", "glm-ucb", "epsilon-greedy"] {
        let found = by_both(name, "").unwrap();
        assert!(found < 0.3, "{name}: {found}");
    }
    // lints explores widely by theory.
    assert!(by_both("lints", "scale = 0.25").unwrap() < 0.3);
    let of_rows = by_both("linucb", "model = { parameters = \"shared\" }").unwrap();
    assert!(of_rows > 0.4, "rows alone do not tell: {of_rows}");
    let direct = corral_bases::linear::GreedyParams::default().build(&Setup {
        context: ContextShape { features: 1, row_features: 2, cells: None },
        ..Setup::arms(3, None)
    });
    assert!(direct.unwrap_err().to_string().contains("model.parameters"));
}
