//! As `membership.rs`, over points: whatever the master, credit, feed and bases, and whatever joins or leaves, a snapshot continues bit
//! for bit in a band that is built of the same bases, and no base is benched.

use corral_bases::band::{Assembler, Band, BandRecipe, Copies, MasterRecipe, Recipe};
use corral_bases::entries;
use corral_core::{
    Context, Crediting, Duty, EnsembleError, Feed, MasterError, Point, Set, Setup, Ticket, masters, snapshot,
    uniform,
};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

const DIM: usize = 4;

fn setup() -> Setup {
    crate::common::points(Set::Ball { dim: DIM }, Some(2_000))
}

/// Every base over points that the ball is for, and a band of two.
fn recipes() -> Vec<Recipe> {
    let setup = setup();
    let fits = |recipe: &Recipe| Assembler::new(&setup).learner::<Point>(recipe).is_ok();
    let mut all: Vec<Recipe> = entries().map(|e| Recipe::from(e.name)).filter(fits).collect();
    let band: toml::Table = "master = 'corral'\nbases = ['oful', 'scrible']".parse().unwrap();
    all.push(Recipe::try_from(band).unwrap());
    all
}

struct Play {
    band: Band<Point>,
    master: MasterRecipe,
    bases: Vec<Recipe>,
    world: Pcg64Dxsm,
    learner: Pcg64Dxsm,
    flying: Vec<Ticket<Point>>,
}

fn build(master: &MasterRecipe, bases: &[Recipe]) -> Option<Band<Point>> {
    let recipe = BandRecipe { master: master.clone(), bases: bases.to_vec(), copies: Copies::Count(1) };
    Assembler::new(&setup()).band(&recipe).ok()
}

impl Play {
    fn draw(&mut self, below: usize) -> usize {
        (uniform(&mut self.world) * below as f64) as usize
    }

    fn round(&mut self) {
        let x = Context::plain(0);
        self.flying.push(self.band.choose(&x, &mut self.learner).unwrap());
        while self.flying.len() > 3 || (!self.flying.is_empty() && self.draw(3) > 0) {
            let at = self.draw(self.flying.len());
            let ticket = self.flying.swap_remove(at);
            let loss = (0.5 + 0.4 * ticket.decision.0.first().copied().unwrap_or_default()).clamp(0.0, 1.0);
            let heard = crate::common::costing(&self.band, &x, &ticket, loss, loss);
            self.band.learn(&x, ticket, heard).unwrap();
        }
        let failed = self.band.everybody_benched();
        assert!(failed.iter().all(|b| b.during == Duty::Retired), "{failed:?}");
    }

    /// A base comes, goes or is replaced. A master may take none; nothing else may go wrong.
    fn change(&mut self, all: &[Recipe]) {
        let (base, share) = (self.draw(self.band.len()), 0.1 + 0.5 * uniform(&mut self.world));
        let new = all[self.draw(all.len())].clone();
        let member = Assembler::new(&setup()).member::<Point>(&self.master, &new).unwrap().base;
        let done = match self.draw(4) {
            0 if self.bases.len() < 7 => {
                let added = self.band.add("newcomer", member, share).map(drop);
                if added.is_ok() {
                    self.bases.push(new);
                }
                added
            }
            1 => self.band.retire(base),
            2 => self.band.reinstate(base, share),
            _ => {
                self.bases[base] = new;
                self.band.replace(base, member).map(drop)
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
        band.set_copy(self.band.next_id().copy);
        assert!(band.save() == saved, "what was loaded is saved again");
        let copy = |t: &Ticket<Point>| snapshot::open("ticket", 1, &snapshot::seal("ticket", 1, t)).unwrap();
        let flying = self.flying.iter().map(copy).collect();
        let (master, bases) = (self.master.clone(), self.bases.clone());
        Self { band, master, bases, world: self.world.clone(), learner: self.learner.clone(), flying }
    }
}

#[test]
fn over_points_a_snapshot_continues_bit_for_bit_and_no_base_is_benched() {
    let seeds = if std::env::var_os("CORRAL_SLOW").is_some() { 40 } else { 2 };
    let (all, mut runs) = (recipes(), 0);
    assert!(all.len() > 6, "{} bases over points", all.len());
    for entry in masters::REGISTRY.entries() {
        for credit in [Crediting::Chosen, Crediting::SameDecision, Crediting::Likelihood] {
            for feed in [Feed::Weighted, Feed::Raw, Feed::Everyone] {
                for seed in 0..seeds {
                    let named = MasterRecipe::named(entry.name);
                    let master = MasterRecipe { credit: Some(credit), feed: Some(feed), ..named };
                    let mut rng = Pcg64Dxsm::seed_from_u64(seed);
                    let mut any = || all[(uniform(&mut rng) * all.len() as f64) as usize].clone();
                    let bases = vec![any(), any(), any()];
                    // A master that needs something that this band does not have says so.
                    let Some(band) = build(&master, &bases) else { continue };
                    let (world, learner) = (Pcg64Dxsm::seed_from_u64(seed), Pcg64Dxsm::seed_from_u64(!seed));
                    let mut play = Play { band, master, bases, world, learner, flying: Vec::new() };
                    runs += 1;
                    for _ in 0..6 {
                        (0..8).for_each(|_| play.round());
                        play.change(&all);
                        (0..3).for_each(|_| play.round());
                        let mut again = play.again();
                        (0..5).for_each(|_| [&mut play, &mut again].into_iter().for_each(Play::round));
                        let what = format!("{} {credit:?} {feed:?} seed {seed}", entry.name);
                        assert!(play.band.save() == again.band.save(), "{what}: they went different ways");
                        assert_eq!(play.band.metrics(), again.band.metrics(), "{what}");
                        play = again;
                    }
                }
            }
        }
    }
    assert!(runs > 150 * seeds, "{runs} of {seeds} seeds");
}
