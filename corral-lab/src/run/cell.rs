//! One cell: one learner in one environment with one seed, a pure function of the spec.

use corral_bases::band::Band;
use corral_core::memory::Budget;
use corral_core::{Base, Context, Decision, Feedback, Order, Proposal, Ticket};
use corral_envs::{AnyEnvironment, Delay, EnvError, Environment, Mailbox};
use rand_pcg::Pcg64Dxsm;

use super::Plugins;
use super::build::{self, Runner};
use crate::record::{BandRecord, CellRecord, CellSpec, LISTED_BASES, TRACED_SEEDS, checkpoints};
use crate::spec::{LearnerSpec, Spec};
use crate::streams::stream;

/// How often a cell tells how far it is. Whether to go on it asks in every round.
const LOOK_UP: u64 = 8192;

/// Runs a cell. `None` when `stop` said so before it ended.
pub fn run_cell(
    spec: &Spec,
    cell: &CellSpec,
    plugins: &Plugins,
    stop: &dyn Fn() -> bool,
    advance: &dyn Fn(u64),
) -> Option<CellRecord> {
    run_cell_within(spec, cell, plugins, stop, advance, &Budget::default())
}

/// Runs one cell and keeps the state of its learner after the last round.
pub fn train(spec: &Spec, cell: &CellSpec, plugins: &Plugins) -> (CellRecord, Vec<u8>) {
    let mut run = Run::new(spec, cell, &|| false, &|_| {});
    run.keeps = true;
    // Without a stop it ends.
    let _ = run.whole(spec, plugins, &Budget::default());
    (run.record, run.state)
}

/// As [`run_cell`], where what its world and its learner take is claimed of `budget`.
pub fn run_cell_within(
    spec: &Spec,
    cell: &CellSpec,
    plugins: &Plugins,
    stop: &dyn Fn() -> bool,
    advance: &dyn Fn(u64),
    budget: &Budget,
) -> Option<CellRecord> {
    let mut run = Run::new(spec, cell, stop, advance);
    run.whole(spec, plugins, budget).then_some(run.record)
}

/// Why a cell ended before its last round.
enum End {
    Stopped,
    Failed(String),
}

impl<E: std::error::Error> From<E> for End {
    fn from(e: E) -> Self {
        Self::Failed(e.to_string())
    }
}

struct Run<'a> {
    cell: &'a CellSpec,
    /// Whether the traces of its band are kept.
    traced: bool,
    stop: &'a dyn Fn() -> bool,
    advance: &'a dyn Fn(u64),
    checkpoints: Vec<u64>,
    record: CellRecord,
    /// Whether the state after the last round is kept.
    keeps: bool,
    state: Vec<u8>,
}

/// What a learner does in a round: a base alone by proposals, a band by tickets.
trait Plays<D> {
    /// What is in flight.
    type Made;
    fn choose(&mut self, x: &Context, rng: &mut Pcg64Dxsm) -> Result<Self::Made, End>;
    fn decision(made: &Self::Made) -> &D;
    fn learn(&mut self, x: &Context, made: Self::Made, feedback: Feedback) -> Result<(), End>;
    fn apply_order(&mut self, order: Order) -> Result<(), End>;
    fn band(&mut self) -> Option<&mut Band<D>>;
    fn save(&self) -> Vec<u8>;
}

/// A base whose proposals use their memory again.
struct Alone<'a, D> {
    base: &'a mut dyn Base<Context, D>,
    spare: Vec<Proposal<D>>,
}

impl<D: Decision> Plays<D> for Alone<'_, D> {
    type Made = Proposal<D>;

    fn choose(&mut self, x: &Context, rng: &mut Pcg64Dxsm) -> Result<Proposal<D>, End> {
        let mut made = self.spare.pop().unwrap_or_default();
        made.refill(self.base, x, rng)?;
        Ok(made)
    }
    fn decision(made: &Proposal<D>) -> &D {
        &made.decision
    }
    fn learn(&mut self, x: &Context, made: Proposal<D>, feedback: Feedback) -> Result<(), End> {
        self.base.learn(x, &made, feedback)?;
        if self.spare.len() < 64 {
            self.spare.push(made);
        }
        Ok(())
    }
    fn apply_order(&mut self, order: Order) -> Result<(), End> {
        Ok(self.base.apply_order(order)?)
    }
    fn band(&mut self) -> Option<&mut Band<D>> {
        None
    }
    fn save(&self) -> Vec<u8> {
        self.base.save()
    }
}

impl<D: Decision> Plays<D> for Band<D> {
    type Made = Ticket<D>;

    fn choose(&mut self, x: &Context, rng: &mut Pcg64Dxsm) -> Result<Ticket<D>, End> {
        Ok(Band::choose(self, x, rng)?)
    }
    fn decision(made: &Ticket<D>) -> &D {
        &made.decision
    }
    fn learn(&mut self, x: &Context, made: Ticket<D>, feedback: Feedback) -> Result<(), End> {
        Band::learn(self, x, made, feedback)?;
        Ok(())
    }
    fn apply_order(&mut self, order: Order) -> Result<(), End> {
        Ok(Base::apply_order(self, order)?)
    }
    fn band(&mut self) -> Option<&mut Band<D>> {
        Some(self)
    }
    fn save(&self) -> Vec<u8> {
        Band::save(self)
    }
}

impl<'a> Run<'a> {
    fn new(spec: &Spec, cell: &'a CellSpec, stop: &'a dyn Fn() -> bool, advance: &'a dyn Fn(u64)) -> Self {
        Self {
            cell,
            traced: cell.cell % spec.seeds < TRACED_SEEDS,
            stop,
            advance,
            checkpoints: checkpoints(cell.rounds),
            record: CellRecord {
                cell: cell.cell,
                rounds: cell.rounds,
                environment: spec.environments[cell.environment].label.clone(),
                learner: spec.learners[cell.learner].label.clone(),
                seed: cell.seed,
                ..CellRecord::default()
            },
            keeps: false,
            state: Vec::new(),
        }
    }

    /// Runs it to its end; false where it was stopped.
    fn whole(&mut self, spec: &Spec, plugins: &Plugins, budget: &Budget) -> bool {
        let environment = &spec.environments[self.cell.environment];
        let world = build::world(environment, self.cell.rounds, self.cell.seed, budget);
        let ended = match world {
            Ok(AnyEnvironment::Arms(mut env)) => self.in_world(&mut *env, spec, plugins, budget),
            Ok(AnyEnvironment::Points(mut env)) => self.in_world(&mut *env, spec, plugins, budget),
            Err(e) => Err(End::Failed(e.why)),
        };
        match ended {
            Err(End::Stopped) => return false,
            Err(End::Failed(why)) => self.record.failed = Some(why),
            Ok(()) => {}
        }
        true
    }

    fn in_world<D: Decision>(
        &mut self,
        env: &mut dyn Environment<Context, D>,
        spec: &Spec,
        plugins: &Plugins,
        budget: &Budget,
    ) -> Result<(), End> {
        let environment = &spec.environments[self.cell.environment];
        let learner = &spec.learners[self.cell.learner].learner;
        let setup = build::given(env, self.cell.rounds, budget);
        let delay = environment.delay.as_ref().map(|d| corral_envs::delay(&d.params)).transpose()?;
        match build::runner::<D>(learner, &setup, plugins).map_err(|e| End::Failed(e.why))? {
            Runner::Alone(mut base) => {
                self.play(env, &mut Alone { base: &mut *base, spare: Vec::new() }, delay.as_ref())
            }
            Runner::Band(mut band) => {
                self.record.band =
                    Some(BandRecord { bases: labels(learner, setup.horizon), ..Default::default() });
                self.play(env, &mut *band, delay.as_ref())
            }
        }
    }

    fn play<D: Decision, P: Plays<D>>(
        &mut self,
        env: &mut dyn Environment<Context, D>,
        learner: &mut P,
        delay: Option<&Delay>,
    ) -> Result<(), End> {
        let mut world_rng = stream(self.cell.seed, "environment");
        let mut learner_rng = stream(self.cell.seed, "learner");
        let mut delay_rng = stream(self.cell.seed, "delay");
        let mut in_flight: Mailbox<(Context, P::Made, Feedback)> = Mailbox::new();
        let mut ranges = Vec::new();
        let mut next_checkpoint = 0;
        let mut mean_loss = 0.0;
        let mut range = 1.0;
        self.record.squares = env.about().table.map(|_| 0.0);
        let ended = (|| {
            for t in 1..=self.cell.rounds {
                let new_range = env.about().range;
                if new_range != range {
                    range = new_range;
                    learner
                        .apply_order(Order::Widen { range, remaining: Some(self.cell.rounds - (t - 1)) })?;
                }
                match env.next(&mut world_rng) {
                    // Data may end before the horizon: the learner is judged by the rounds there were.
                    Err(EnvError::Ended(_)) if t > 1 => break,
                    other => other?,
                }
                let made = learner.choose(env.context(), &mut learner_rng)?;
                let decision = P::decision(&made);
                mean_loss += env.mean_loss(decision);
                let feedback = env.play(decision)?;
                if let Some(loss) = feedback.observed() {
                    self.record.loss += loss;
                    self.record.seen += 1;
                    let equal = self.record.squares.filter(|_| feedback.weight() == 1.0);
                    self.record.squares = equal.map(|sum| sum + loss * loss);
                }
                self.record.played = t;
                match delay {
                    None => learner.learn(env.context(), made, feedback)?,
                    Some(delay) => {
                        if let Some(arrival) = delay.arrival(t, &mut delay_rng) {
                            in_flight.send(arrival, (env.context().clone(), made, feedback));
                        }
                        while let Some((x, made, feedback)) = in_flight.receive(t) {
                            learner.learn(&x, made, feedback)?;
                        }
                    }
                }
                if self.checkpoints[next_checkpoint] == t {
                    next_checkpoint += 1;
                    self.record.curve.push(mean_loss - env.best_so_far());
                    if let (Some(band), Some(record)) = (learner.band(), &mut self.record.band) {
                        mark(band, record, self.traced, t, &mut ranges);
                    }
                }
                if t % LOOK_UP == 0 {
                    (self.advance)(LOOK_UP);
                }
                if (self.stop)() {
                    return Err(End::Stopped);
                }
            }
            Ok(())
        })();
        (self.advance)(self.cell.rounds - self.record.played / LOOK_UP * LOOK_UP);
        self.record.regret = mean_loss - env.best_so_far();
        self.record.chance = env.about().unlearned.and_then(|unlearned| unlearned.chance());
        if ended.is_ok() {
            self.record.curve.resize(self.checkpoints.len(), self.record.regret);
        }
        if let (Some(band), Some(record)) = (learner.band(), &mut self.record.band) {
            finish(band, record);
        }
        if self.keeps {
            self.state = learner.save();
        }
        if !self.record.regret.is_finite() {
            return Err(End::Failed(format!("the regret is {}", self.record.regret)));
        }
        ended
    }
}

/// The labels of a band's members.
fn labels(learner: &LearnerSpec, horizon: Option<u64>) -> Vec<String> {
    let band = match learner {
        LearnerSpec::Base(base) => return vec![base.label.clone()],
        LearnerSpec::Band(band) => band,
    };
    let copies = band.copies.of(horizon.unwrap_or(1));
    let of = |base: &LearnerSpec, copy: usize| match copies {
        1 => base.label().to_owned(),
        _ => format!("{} ({copy})", base.label()),
    };
    band.bases.iter().flat_map(|base| (1..=copies).map(move |copy| of(base, copy))).collect()
}

/// Adds a checkpoint to the traces, and the range changes since the last one, where the ranges were `before`.
fn mark<D: Decision>(band: &Band<D>, record: &mut BandRecord, traced: bool, t: u64, before: &mut Vec<f64>) {
    use corral_core::Master;
    let master = band.master();
    let ranges: Vec<f64> = (0..band.len()).filter_map(|i| master.limits(i).range).collect();
    if ranges.len() == before.len() {
        let changed = ranges.iter().zip(&*before).enumerate().filter(|(_, (new, old))| new != old);
        record.range_changes.extend(changed.map(|(base, _)| (t, base)));
    }
    let seen = master.telemetry();
    if let Some(audit) = seen.audit {
        let found = record.audit.get_or_insert_default();
        // Written so that NaN stays.
        let worse = |a: f64, b: f64| if b <= a { a } else { b };
        found.share = audit.tightest.map_or(found.share, |sides| worse(found.share, sides.share()));
        found.gap = [audit.worst_step, audit.run.gap(), audit.worst_sum, audit.worst_mixing]
            .into_iter()
            .chain([audit.worst_rate, audit.worst_range])
            .fold(found.gap, worse);
    }
    if traced && band.len() <= LISTED_BASES {
        record.probabilities.push(band.probabilities().to_vec());
        if !seen.rates.is_empty() {
            record.rates.push(seen.rates.to_vec());
        }
        if ranges.len() == band.len() {
            record.ranges.push(ranges.clone());
        }
    }
    *before = ranges;
}

/// The totals of a band.
fn finish<D: Decision>(band: &mut Band<D>, record: &mut BandRecord) {
    record.plays = band.tallies().map(|t| t.plays).collect();
    record.max_weight = band.tallies().map(|t| t.max_weight).collect();
    record.effective = band.tallies().map(|t| t.effective_samples()).collect();
    let benched = |b: corral_core::Benched| {
        // A base inside a band of the band is named by its path.
        let inner = if b.name.contains('/') { format!("{}: ", b.name) } else { String::new() };
        (b.round, b.base, format!("{inner}{}: {}", b.during, b.reason))
    };
    record.benched = band.everybody_benched().into_iter().map(benched).collect();
    record.shorten(LISTED_BASES);
}
