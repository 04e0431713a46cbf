//! Runs of one base in one world, optionally under E'.

use corral_core::{Arm, Base, Context, Order, Point, Proposal, Setup, Space};
use corral_envs::{AnyEnvironment, Environment};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

/// The pseudo-regrets of one run.
pub struct Regret {
    /// Of the base's proposals.
    pub base: f64,
    /// Of idle play: a uniform decision from a finite set or of the arms, else the centre of the set.
    #[allow(dead_code)]
    pub idle: f64,
}

fn table(text: &str) -> toml::Table {
    text.parse().expect("toml")
}

/// What the learners of `env` are told before the first round.
#[allow(dead_code)]
pub fn setup(env: (&str, &str), rounds: u64) -> Setup {
    let mut rng = Pcg64Dxsm::seed_from_u64(0);
    corral_envs::build(env.0, &table(env.1), rounds, &mut rng).expect("environment").setup()
}

/// One run of `base` in `env`, under E' where a schedule is given.
pub fn regret(
    env: (&str, &str),
    induced: Option<&str>,
    base: (&str, &str),
    rounds: u64,
    seed: u64,
) -> Regret {
    let mut rng = Pcg64Dxsm::seed_from_u64(seed);
    let mut world = corral_envs::build(env.0, &table(env.1), rounds, &mut rng).expect("environment");
    if let Some(schedule) = induced {
        world = corral_envs::induce(world, &table(schedule), rounds).expect("schedule");
    }
    let learner = corral_bases::build(base.0, &table(base.1), &world.setup()).expect("base");
    let idle: Vec<Point> = match &world.setup().space {
        Space::Points(corral_core::Set::Finite(points)) => points.iter().map(|x| Point(x.to_vec())).collect(),
        Space::Points(set) => vec![Point(set.centre())],
        Space::Arms(_) => Vec::new(),
    };
    match (world, learner) {
        (AnyEnvironment::Points(world), corral_bases::Learner::Points(learner)) => {
            play(world, learner, &idle, rounds, seed, rng)
        }
        (AnyEnvironment::Arms(world), corral_bases::Learner::Arms(learner)) => {
            let arms: Vec<Arm> = (0..world.setup().actions()).map(Arm::at).collect();
            play(world, learner, &arms, rounds, seed, rng)
        }
        _ => panic!("{base:?} does not fit {env:?}"),
    }
}

fn play<D>(
    mut world: Box<dyn Environment<Context, D>>,
    mut learner: Box<dyn Base<Context, D>>,
    idle: &[D],
    rounds: u64,
    seed: u64,
    mut world_rng: Pcg64Dxsm,
) -> Regret
where
    Proposal<D>: Default,
{
    let mut rng = Pcg64Dxsm::seed_from_u64(seed ^ 0x5eed_0000);
    let mut made: Proposal<D> = Proposal::default();
    let (mut range, mut total, mut at_rest) = (1.0, 0.0, 0.0);
    for t in 0..rounds {
        let new_range = world.about().range;
        if new_range != range {
            range = new_range;
            learner.apply_order(Order::Widen { range, remaining: Some(rounds - t) }).expect("range");
        }
        world.next(&mut world_rng).expect("endless");
        made.refill(&mut learner, world.context(), &mut rng).expect("proposal");
        total += world.mean_loss(&made.decision);
        at_rest += idle.iter().map(|x| world.mean_loss(x)).sum::<f64>() / idle.len() as f64;
        let feedback = world.play(&made.decision).expect("inside");
        learner.learn(world.context(), &made, feedback).expect("feedback");
    }
    let best = world.best_so_far();
    Regret { base: total - best, idle: at_rest - best }
}

/// Mean and standard error.
pub fn mean_and_error(all: &[f64]) -> (f64, f64) {
    let n = all.len() as f64;
    let mean = all.iter().sum::<f64>() / n;
    let var = all.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (var / n).sqrt())
}
