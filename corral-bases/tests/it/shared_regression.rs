//! Under `everyone`, bases with the same regression keep it once: nothing else may change, to the last bit.

use crate::common::choose;
use corral_core::{
    Arm, Base, BaseExtra, Commons, Context, ContextShape, Corral, CorralParams, Crediting, Ensemble,
    EnsembleParams, Feed, Feedback, Horizon, Order, Proposal, Setup, Ticket, forward, uniform,
};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

const ROUNDS: u64 = 700; // Past the 256 examples after which an inverse is computed afresh.
const ACTIONS: usize = 3;
const DIM: usize = 5;

/// Eight of a kind or two of a kind, in two representations; some unlike all others.
const BAND: &[(&str, &str)] = &[
    ("greedy", ""),
    ("epsilon-greedy", "epsilon = 0.1"),
    ("linucb", "alpha = 0.1"),
    ("linucb", "alpha = 1.0"),
    ("regcb", ""),
    ("squarecb", "gamma = 10.0"),
    ("lints", "scale = 0.25\ndraw = \"independent\""),
    ("nlms", ""),
    ("nlms", "ties = \"lowest\""),
    ("linucb", "alpha = 0.1\nfeatures = \"bias\""),
    ("greedy", "features = \"bias\""),
    ("greedy", "model = { ridge = 2.0 }"),
    ("greedy", "range_change = \"restart\""),
];

/// A base that keeps to itself.
struct Apart(Box<dyn Base<Context, Arm>>);

impl Base<Context, Arm> for Apart {
    forward!(Base<Context, Arm>: self => self.0, except extra);
    fn extra(&mut self) -> Option<&mut dyn BaseExtra<Context, Arm>> {
        Some(self)
    }
}

impl BaseExtra<Context, Arm> for Apart {
    forward!(BaseExtra<Context, Arm>: self => self.0, except share);
}

fn setup() -> Setup {
    let mut setup = Setup::arms(ACTIONS, Some(ROUNDS));
    setup.context = ContextShape { features: DIM, ..ContextShape::default() };
    setup
}

fn bases() -> Vec<Box<dyn Base<Context, Arm>>> {
    let build = |(name, params): &(&str, &str)| {
        corral_bases::build(name, &params.parse().unwrap(), &setup()).unwrap().into_arms().unwrap()
    };
    BAND.iter().map(build).collect()
}

type Band = Ensemble<Context, Arm, Corral>;

fn band(credit: Crediting, together: bool) -> Band {
    let apart = |base| Box::new(Apart(base)) as Box<dyn Base<Context, Arm>>;
    let bases = if together { bases() } else { bases().into_iter().map(apart).collect() };
    let master = Corral::new(CorralParams::new(BAND.len(), Horizon::Known(ROUNDS))).unwrap();
    let params = EnsembleParams {
        credit,
        feed: Feed::Everyone,
        id: Some(1),
        secret: 1_u64.try_into().ok(),
        copy: Some(0),
        ..EnsembleParams::default()
    };
    Ensemble::with_params(master, bases, params).unwrap()
}

fn context(rng: &mut Pcg64Dxsm) -> Context {
    Context::shared((0..DIM).map(|_| uniform(rng) - 0.5).collect(), ACTIONS)
}

/// Losses return late and out of order, up to seven in flight.
struct Play {
    band: Band,
    world: Pcg64Dxsm,
    learner: Pcg64Dxsm,
    flying: Vec<(Context, Ticket<Arm>, f64)>,
    trail: Vec<(usize, usize)>,
}

impl Play {
    fn new(band: Band) -> Self {
        let (world, learner) = (Pcg64Dxsm::seed_from_u64(5), Pcg64Dxsm::seed_from_u64(6));
        Self { band, world, learner, flying: Vec::new(), trail: Vec::new() }
    }

    fn go(&mut self, rounds: u64) {
        for _ in 0..rounds {
            let x = context(&mut self.world);
            let (ticket, loss) = choose(&mut self.band, &x, &mut self.learner, |ticket, _| {
                self.trail.push((ticket.base(), ticket.decision.index()));
                let best = if x.features()[0] > 0.1 { 0 } else { 1 + usize::from(x.features()[1] > 0.0) };
                let miss = f64::from(u8::from(ticket.decision.index() != best));
                if uniform(&mut self.world) < 0.1 { 1.0 - miss } else { miss }
            });
            self.flying.push((x, ticket, loss));
            while self.flying.len() > 7 || (!self.flying.is_empty() && uniform(&mut self.world) < 0.4) {
                let at = (uniform(&mut self.world) * self.flying.len() as f64) as usize;
                let (x, ticket, loss) = self.flying.swap_remove(at);
                let outcome = self.band.learn(&x, ticket, loss).unwrap();
                assert_eq!(outcome.learned, BAND.len());
            }
        }
        assert!(self.band.benched().is_empty(), "{:?}", self.band.benched());
    }
}

#[test]
fn a_shared_regression_changes_nothing() {
    for credit in [Crediting::Chosen, Crediting::SameDecision, Crediting::Likelihood] {
        let (mut together, mut apart) = (Play::new(band(credit, true)), Play::new(band(credit, false)));
        for _ in 0..7 {
            together.go(ROUNDS / 7);
            apart.go(ROUNDS / 7);
            assert_eq!(together.trail, apart.trail, "{credit:?}");
            assert_eq!(together.band.save(), apart.band.save(), "{credit:?}");
        }
    }
}

#[test]
fn snapshots_fit_either_way_and_continue_bit_for_bit() {
    let mut going = Play::new(band(Crediting::Likelihood, true));
    going.go(400);
    let saved = going.band.save();
    let at = going.trail.len();
    // The generators as they are now, and the losses that are in flight, once for each.
    let (world, learner) = (going.world.clone(), going.learner.clone());
    let flying = serde_copy(&going.flying);
    going.go(200);
    for together in [true, false] {
        let mut again = Play::new(band(Crediting::Likelihood, together));
        again.go(30); // Not where it is loaded to.
        again.band.load(&saved).unwrap();
        assert_eq!(again.band.save(), saved);
        (again.world, again.learner) = (world.clone(), learner.clone());
        (again.flying, again.trail) = (serde_copy(&flying), Vec::new());
        again.go(200);
        assert_eq!(again.trail, going.trail[at..], "together: {together}");
        assert_eq!(again.band.save(), going.band.save());
    }
    // A snapshot that is refused leaves everybody where they were.
    let mut damaged = saved.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    let before = going.band.save();
    assert!(going.band.load(&damaged).is_err());
    assert_eq!(going.band.save(), before);
    going.go(20);
}

/// Tickets are not `Clone`, for a loss is learned once; here two futures learn it.
fn serde_copy(flying: &[(Context, Ticket<Arm>, f64)]) -> Vec<(Context, Ticket<Arm>, f64)> {
    let copy = |ticket: &Ticket<Arm>| {
        let bytes = corral_core::snapshot::seal("ticket", 1, ticket);
        corral_core::snapshot::open("ticket", 1, &bytes).unwrap()
    };
    flying.iter().map(|(x, ticket, loss)| (x.clone(), copy(ticket), *loss)).collect()
}

#[test]
fn a_new_range_from_above_restarts_those_that_restart_and_no_others() {
    let (mut together, mut apart) =
        (Play::new(band(Crediting::Likelihood, true)), Play::new(band(Crediting::Likelihood, false)));
    for play in [&mut together, &mut apart] {
        play.go(50);
        Base::apply_order(&mut play.band, Order::StartOver { range: 1.0, remaining: Some(ROUNDS) }).unwrap();
        play.flying.clear();
        play.go(300);
    }
    assert_eq!(together.trail, apart.trail);
    assert_eq!(together.band.save(), apart.band.save());
}

/// Losses, restarts and snapshots come to all or to some, in any order, and bases are introduced again at any time: each is
/// as if it kept its regression alone.
#[test]
fn members_that_go_different_ways_part() {
    for seed in 0..200 {
        let mut rng = Pcg64Dxsm::seed_from_u64(seed);
        let (mut together, mut apart): (Vec<_>, Vec<_>) =
            (bases().into_iter().take(7).collect(), bases().into_iter().take(7).collect());
        introduce(&mut together);
        for _ in 0..60 {
            let x = context(&mut rng);
            let (event, whole) = ((uniform(&mut rng) * 10.0) as u32, uniform(&mut rng) < 0.8);
            let made = Proposal::new(Arm((uniform(&mut rng) * ACTIONS as f64) as u32));
            let concerned: Vec<bool> = together.iter().map(|_| whole || uniform(&mut rng) < 0.5).collect();
            if event == 9 {
                introduce(&mut together);
            }
            let pairs =
                together.iter_mut().zip(&mut apart).zip(concerned).filter(|(_, concerned)| *concerned);
            for ((shared, own), _) in pairs {
                for base in [shared, own] {
                    match event {
                        7 => base
                            .apply_order(Order::StartOver { range: 1.0, remaining: Some(ROUNDS) })
                            .unwrap(),
                        8 => base.load(&base.save()).unwrap(),
                        9 => drop(base.propose(&x, &mut rng.clone()).unwrap()),
                        n => base.learn(&x, &made, Feedback::plain(f64::from(n) / 7.0)).unwrap(),
                    }
                }
            }
            if uniform(&mut rng) < 0.3 {
                for (shared, own) in together.iter().zip(&apart) {
                    assert_eq!(shared.likelihood(&x, &Arm(0)), own.likelihood(&x, &Arm(0)), "seed {seed}");
                    assert_eq!(shared.save(), own.save(), "seed {seed}");
                }
            }
            if uniform(&mut rng) < 0.02 && together.len() > 2 {
                let gone = (uniform(&mut rng) * together.len() as f64) as usize;
                drop((together.remove(gone), apart.remove(gone)));
            }
        }
        let saved =
            |bases: &[Box<dyn Base<Context, Arm>>]| bases.iter().map(|b| b.save()).collect::<Vec<_>>();
        assert_eq!(saved(&together), saved(&apart), "seed {seed}");
    }
}

fn introduce(bases: &mut [Box<dyn Base<Context, Arm>>]) {
    let mut commons = Commons::default();
    bases.iter_mut().for_each(|base| base.extra().unwrap().share(&mut commons));
}
