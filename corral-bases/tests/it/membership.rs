//! What holds of every band, whatever its master, credit, feed and bases, and whatever happens to it:
//!
//! - a snapshot continues bit for bit, in a band that is built of the same bases;
//! - a base that does nothing wrong is never benched, also where another one fails.

use std::panic::{AssertUnwindSafe, catch_unwind};

use corral_bases::band::{Assembler, Band, BandRecipe, Copies, MasterRecipe, Recipe};
use corral_core::registry::BuildError;
use corral_core::{
    Arm, Base, BaseError, BaseExtra, Benched, Context, ContextShape, Crediting, Duty, EnsembleError,
    FeatureRange, Feed, Feedback, MasterError, Proposal, Rng, Setup, Ticket, forward, masters, snapshot,
    uniform,
};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

const ACTIONS: usize = 3;
const FEATURES: usize = 2;

/// Bases of every kind: those that share a regression, those that divide by their own probability, without contexts, with
/// passes, with rare draws, and a band.
const BASES: &[&str] = &[
    "name = 'linucb'",
    "name = 'greedy'",
    "name = 'lints'\ndraw = 'independent'",
    "name = 'squarecb'",
    "name = 'nlms'",
    "name = 'ucb1'",
    "name = 'exp3'",
    "name = 'tsallis-inf'",
    "name = 'thompson'",
    "name = 'epoch-greedy'\nvariant = 'epochs'",
    "name = 'linucb'\nrange_change = 'restart'",
    "master = 'corral'\nbases = ['ucb1', 'greedy']",
    "master = { name = 'practical' }\nbases = ['linucb', 'greedy', 'exp3']",
];

fn recipe(text: &str) -> Recipe {
    Recipe::try_from(text.parse::<toml::Table>().unwrap()).unwrap()
}

fn setup() -> Setup {
    Setup {
        context: ContextShape { features: FEATURES, ..ContextShape::default() },
        // Part of a snapshot, as what the bases know is.
        range: FeatureRange::Learned,
        ..Setup::arms(ACTIONS, Some(2_000))
    }
}

const BROKEN: &str = "broken on purpose";

/// A base that fails for good after so many calls: one in its proposals, the other when it learns.
struct Breaks {
    base: Box<dyn Base<Context, Arm>>,
    left: u8,
    proposing: bool,
}

impl Breaks {
    fn call(&mut self) -> Result<(), BaseError> {
        let broken = || BaseError::Failed(BROKEN.into());
        self.left = self.left.checked_sub(1).ok_or_else(broken)?;
        Ok(())
    }
}

impl Base<Context, Arm> for Breaks {
    forward!(Base<Context, Arm>: self => self.base, except propose, learn, save, load, extra);
    fn propose(&mut self, x: &Context, rng: &mut dyn Rng) -> Result<Proposal<Arm>, BaseError> {
        if self.proposing {
            self.call()?;
        }
        self.base.propose(x, rng)
    }
    fn learn(&mut self, x: &Context, made: &Proposal<Arm>, feedback: Feedback) -> Result<(), BaseError> {
        if !self.proposing {
            self.call()?;
        }
        self.base.learn(x, made, feedback)
    }
    fn extra(&mut self) -> Option<&mut dyn BaseExtra<Context, Arm>> {
        Some(self)
    }
    fn save(&self) -> Vec<u8> {
        [vec![self.left], self.base.save()].concat()
    }
    fn load(&mut self, state: &[u8]) -> Result<(), BaseError> {
        let (left, base) = state.split_first().unwrap();
        self.left = *left;
        self.base.load(base)
    }
}

impl BaseExtra<Context, Arm> for Breaks {
    forward!(BaseExtra<Context, Arm>: self => self.base, except propose_into, share);
}

/// A base of a band: how it is built, and where it will break, in which of the two ways.
#[derive(Debug, Clone)]
struct Member {
    recipe: Recipe,
    breaks: Option<bool>,
}

impl Member {
    fn new(text: &str) -> Self {
        Self { recipe: recipe(text), breaks: None }
    }

    fn build(&self, master: &MasterRecipe) -> Box<dyn Base<Context, Arm>> {
        let base = Assembler::new(&setup()).member(master, &self.recipe).unwrap().base;
        match self.breaks {
            Some(proposing) => Box::new(Breaks { base, left: 5, proposing }),
            None => base,
        }
    }
}

/// A band, what it is built of, and what is in flight.
struct Play {
    band: Band<Arm>,
    master: MasterRecipe,
    bases: Vec<Member>,
    world: Pcg64Dxsm,
    learner: Pcg64Dxsm,
    flying: Vec<(Context, Ticket<Arm>)>,
}

fn build(master: &MasterRecipe, bases: &[Member]) -> Result<Band<Arm>, BuildError> {
    let recipes = bases.iter().map(|member| member.recipe.clone()).collect();
    let recipe = BandRecipe { master: master.clone(), bases: recipes, copies: Copies::Count(1) };
    let mut band = Assembler::new(&setup()).band(&recipe).map_err(|e| e.why)?;
    for (place, member) in bases.iter().enumerate().filter(|(_, member)| member.breaks.is_some()) {
        band.replace(place, member.build(master)).unwrap();
    }
    Ok(band)
}

impl Play {
    fn new(master: &MasterRecipe, bases: Vec<Member>, seed: u64) -> Option<Self> {
        let band = match build(master, &bases) {
            Ok(band) => band,
            // A master that needs something that this band does not have says so.
            Err(_) => return None,
        };
        let (world, learner) = (Pcg64Dxsm::seed_from_u64(seed), Pcg64Dxsm::seed_from_u64(!seed));
        Some(Self { band, master: master.clone(), bases, world, learner, flying: Vec::new() })
    }

    fn draw(&mut self, below: usize) -> usize {
        (uniform(&mut self.world) * below as f64) as usize
    }

    fn round(&mut self) {
        // A feature beyond its range now and then.
        let scale = if self.draw(20) == 0 { 100.0 } else { 1.0 };
        let feature = |_| scale * (uniform(&mut self.world) - 0.5);
        let x = Context::shared((0..FEATURES).map(feature).collect(), ACTIONS);
        let ticket = self.band.choose(&x, &mut self.learner).unwrap();
        self.flying.push((x, ticket));
        while self.flying.len() > 4 || (!self.flying.is_empty() && self.draw(3) > 0) {
            let at = self.draw(self.flying.len());
            let (x, ticket) = self.flying.swap_remove(at);
            let best = usize::from(x.features()[0] > 0.0);
            let loss = if ticket.decision.index() == best { 0.25 } else { 0.75 };
            let heard = crate::common::costing(&self.band, &x, &ticket, loss, 2.0 * loss);
            self.band.learn(&x, ticket, heard).unwrap();
        }
        let healthy = |b: &&Benched| b.during != Duty::Retired && !b.reason.contains(BROKEN);
        assert_eq!(self.band.everybody_benched().iter().find(healthy), None);
    }

    /// A base comes, goes, or will break. A master may take none; nothing else may go wrong.
    fn change(&mut self) {
        let base = self.draw(self.band.len());
        let share = 0.1 + 0.5 * uniform(&mut self.world);
        let mut member = Member::new(BASES[self.draw(BASES.len())]);
        let sound = |place: &usize| {
            self.bases[*place].breaks.is_none() && self.band.benched().iter().all(|b| b.base != *place)
        };
        // One that is sound stays, whatever the others do.
        let others = (0..self.bases.len()).filter(sound).filter(|place| *place != base).count();
        let done = match self.draw(5) {
            0 if self.bases.len() < 8 => {
                let added = self.band.add("newcomer", member.build(&self.master), share).map(drop);
                if added.is_ok() {
                    self.bases.push(member);
                }
                added
            }
            1 if others > 0 => self.band.retire(base),
            2 => self.band.reinstate(base, share),
            what => {
                member.breaks = (what == 3 && others > 0).then_some(share > 0.35);
                let replaced = self.band.replace(base, member.build(&self.master)).map(drop);
                self.bases[base] = member;
                replaced
            }
        };
        if let Err(error) = done {
            use MasterError::{Fixed, LastBase, Present, Retired};
            let EnsembleError::Master(why) = &error else { panic!("{error}") };
            assert!(matches!(why, Fixed | LastBase(_) | Present(_) | Retired(_)), "{error}");
        }
    }

    /// The same band, built anew and loaded.
    fn again(&self) -> Self {
        let saved = self.band.save();
        let mut band = build(&self.master, &self.bases).unwrap();
        band.load(&saved).unwrap_or_else(|e| panic!("its own snapshot is refused: {e}"));
        assert_ne!(band.next_id(), self.band.next_id(), "what is loaded is a copy of its own");
        // The same copy, to the last bit of its ids.
        band.set_copy(self.band.next_id().copy);
        assert!(band.save() == saved, "what was loaded is saved again");
        let copy =
            |ticket: &Ticket<Arm>| snapshot::open("ticket", 1, &snapshot::seal("ticket", 1, ticket)).unwrap();
        let flying = self.flying.iter().map(|(x, ticket)| (x.clone(), copy(ticket))).collect();
        let (master, bases) = (self.master.clone(), self.bases.clone());
        Self { band, master, bases, world: self.world.clone(), learner: self.learner.clone(), flying }
    }
}

/// One band through many changes; says whether a base of it has failed at the end. Panics at what breaks a law.
fn live(mut play: Play, changes: usize) -> bool {
    let bits = |p: &Play| p.band.probabilities().iter().map(|p| p.to_bits()).collect::<Vec<_>>();
    for _ in 0..changes {
        (0..12).for_each(|_| play.round());
        play.change();
        (0..play.draw(4)).for_each(|_| play.round());
        let mut again = play.again();
        for _ in 0..6 {
            play.round();
            again.round();
            assert_eq!(bits(&play), bits(&again));
        }
        for base in 0..play.band.len() {
            let [own, other] = [&play, &again].map(|p| p.band.base(base).unwrap().save());
            assert!(own == other, "base {base} went another way");
        }
        assert_eq!(play.band.metrics(), again.band.metrics());
        assert!(play.band.save() == again.band.save(), "they went different ways");
        play = again;
    }
    play.band.benched().iter().any(|b| b.during != Duty::Retired)
}

#[test]
fn a_snapshot_continues_bit_for_bit_and_no_healthy_base_is_benched() {
    let (seeds, changes) = if std::env::var_os("CORRAL_SLOW").is_some() { (100, 40) } else { (5, 10) };
    let (mut runs, mut broken) = (0, 0);
    for entry in masters::REGISTRY.entries() {
        for credit in [Crediting::Chosen, Crediting::SameDecision, Crediting::Likelihood] {
            for feed in [Feed::Weighted, Feed::Raw, Feed::Everyone] {
                for seed in 0..seeds {
                    let named = MasterRecipe::named(entry.name);
                    let master = MasterRecipe { credit: Some(credit), feed: Some(feed), ..named };
                    let mut rng = Pcg64Dxsm::seed_from_u64(seed);
                    let mut any = || Member::new(BASES[(uniform(&mut rng) * BASES.len() as f64) as usize]);
                    let bases = vec![any(), any(), any(), any()];
                    let Some(play) = Play::new(&master, bases.clone(), seed) else { continue };
                    runs += 1;
                    let ran = catch_unwind(AssertUnwindSafe(|| live(play, changes)));
                    let what = || format!("{} {credit:?} {feed:?} seed {seed} over {bases:?}", entry.name);
                    broken += usize::from(ran.unwrap_or_else(|_| panic!("{}", what())));
                }
            }
        }
    }
    assert!(runs > 170 * seeds, "{runs} of {seeds} seeds");
    assert!(broken > runs as usize / 5, "a base was benched for its fault at the end of {broken} of {runs}");
}
