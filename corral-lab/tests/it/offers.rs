//! Rounds that offer some of a band's actions, by their numbers: what is logged of them, valued and played again.

use corral_bases::band::{Assembler, MasterRecipe, Recipe};
use corral_core::registry::Kind;
use corral_core::{Arm, Context, EnsembleParams, Propensities, Setup, uniform};
use corral_envs::Environment;
use corral_envs::data::LoggedParams;
use corral_lab::valuation::{Request, value};
use corral_log::{Both, Decided, Estimator, Given, Offered, Options, Played, Record, Start, Writer};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

/// The reward of each action, without noise, so that a self-normalised mean has no error either.
const REWARDS: [f64; 4] = [0.1, 0.9, 0.3, 0.6];

/// In every round one of the four actions is left out. A log that named places in place of numbers would mix their rewards.
#[test]
fn a_log_names_actions_by_their_numbers() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("log.jsonl");
    let setup = Setup::arms(4, None);
    let (build, master) = (Assembler::new(&setup), MasterRecipe::default());
    let member = |name: &str| build.member::<Arm>(&master, &Recipe::from(name)).unwrap();
    let members = ["ucb1", "random", "thompson"].map(member).into();
    let params = EnsembleParams { propensities: Propensities::Full, ..EnsembleParams::practical(Kind::Arms) };
    let mut band = build.ensemble(&master, members, params).unwrap();
    let mut log = Writer::new(std::fs::File::create(&path).unwrap());
    let actions = ["a", "b", "c", "d"].map(String::from).to_vec();
    let bases = ["ucb1", "random", "thompson"].map(String::from).to_vec();
    log.write(&Record::Start(Start { actions, bases, ..Start::new(band.id()) })).unwrap();
    let mut rng = Pcg64Dxsm::seed_from_u64(5);
    let (mut earned, mut blind) = (0.0, 0.0);
    for _ in 0..2_000 {
        let out = (4.0 * uniform(&mut rng)) as u32;
        let offer: Vec<u32> = (0..4).filter(|number| *number != out).collect();
        blind += offer.iter().map(|number| REWARDS[*number as usize]).sum::<f64>() / 3.0;
        let x = Context::plain(4).offering(offer.clone());
        let pbar = band.probabilities().to_vec();
        let ticket = band.choose(&x, &mut rng).unwrap();
        let number = x.number(ticket.decision.index());
        let decision = Decided::of(&ticket, &pbar, &x);
        assert_eq!(
            (&decision.action, &decision.offered),
            (&Played::Arm(number as u32), &Offered::These(offer))
        );
        let reward = REWARDS[number];
        earned += reward;
        log.write(&Record::Both(Both { decision, given: Given::reward(reward) })).unwrap();
        band.learn(&x, ticket, 1.0 - reward).unwrap();
    }
    assert!(earned > blind + 300.0, "{earned} where blind play earns {blind}");

    let policies = ["action:a", "action:b", "action:c", "action:d", "learner:epsilon-greedy", "uniform"];
    let options = Options { estimators: vec![Estimator::Snips, Estimator::Dr], ..Options::default() };
    let request = Request {
        policies: policies.map(String::from).to_vec(),
        options,
        strict: true,
        ..Request::default()
    };
    let report = value(&path, &request).unwrap();
    let worth = |policy: &str, estimator: Estimator| {
        let own = report.values.iter().find(|v| v.policy == policy && v.estimator == estimator).unwrap();
        own.value.unwrap()
    };
    for (policy, reward) in policies.iter().zip(REWARDS) {
        let found = worth(policy, Estimator::Snips);
        assert!((found - reward).abs() < 1e-12, "{policy} is worth {found}, not {reward}");
    }
    for estimator in [Estimator::Snips, Estimator::Dr] {
        let (learner, uniform) = (worth("learner:epsilon-greedy", estimator), worth("uniform", estimator));
        assert!(learner > uniform + 0.15, "{learner} where blind play is worth {uniform}");
    }

    let world = LoggedParams { file: path.display().to_string(), ..LoggedParams::default() };
    let mut world = world.open(u64::MAX).unwrap();
    assert_eq!(world.setup().actions(), 4);
    while world.next(&mut rng).is_ok() {
        let x = world.context();
        assert_eq!(x.actions(), 3);
        for place in 0..3 {
            let (mean, own) = (world.mean_loss(&Arm(place as u32)), 1.0 - REWARDS[x.number(place)]);
            assert!((mean - own).abs() < 1e-12, "{mean} where the action costs {own}");
        }
    }
}
