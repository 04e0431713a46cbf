//! Decisions that are made again, from the states that front ends served, in the order in which they made them.
//!
//! A choice changes the band a little until the next state is loaded (clocks of bases, the guard's counts). So all choices of a
//! front end since then are needed, whether or not their rewards came: the log of decisions has them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use corral_bases::band::Band;
use corral_core::{Context, TicketId};
use corral_log::{Chain, Decided, Member, Offered, Played, Record};
use rand_pcg::Pcg64Dxsm;
use rand_pcg::rand_core::SeedableRng;

use crate::error::ServeError;
use crate::event::Lines;
use crate::layout::Layout;
use crate::model::{Model, Served};
use crate::state::{self, State};
use crate::store::Store;

/// How much of a log is read at a time.
const PIECE: usize = 1 << 18;

/// What a line says of its decision, to the last bit.
pub(crate) type Said<'a> = (TicketId, &'a Played, &'a Offered, Option<u64>, bool, Option<u32>, Vec<u64>);

pub(crate) fn said(decision: &Decided) -> Said<'_> {
    let Decided { id, action, offered, propensity, forced, base, q, .. } = decision;
    (*id, action, offered, propensity.map(f64::to_bits), *forced, *base, bits(q))
}

fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|number| number.to_bits()).collect()
}

/// One segment of decisions, read to its end.
struct Segment {
    name: String,
    from: u64,
    chain: Chain,
    lines: VecDeque<Decided>,
}

impl Segment {
    /// The next decision.
    fn peek(&mut self, store: &dyn Store) -> Result<Option<&Decided>, ServeError> {
        let mut most = PIECE;
        while self.lines.is_empty() {
            let bytes = store.read(&self.name, self.from, most)?;
            let mut end = 0;
            for (place, line) in Lines::of(&bytes) {
                let at = self.from + place.start as u64;
                let checked = self.chain.check(line).map_err(|e| e.to_string());
                let read = checked.and_then(|()| Record::read(line).map_err(|e| e.to_string()));
                let wrong = |why| ServeError::Damaged { name: self.name.clone(), at, why };
                if let Record::Decision(decision) = read.map_err(wrong)? {
                    self.lines.push_back(decision);
                }
                end = place.end;
            }
            // What is behind the last line break was not written whole.
            if end == 0 && bytes.len() < most {
                return Ok(None);
            }
            // Else a line is longer than what was read.
            most = if end == 0 { 2 * most } else { PIECE };
            self.from += end as u64;
        }
        Ok(self.lines.front())
    }
}

/// Makes the decisions of a band again.
pub(crate) struct Again<D> {
    model: Arc<dyn Model<D>>,
    store: Arc<dyn Store>,
    segments: Vec<Segment>,
    /// Decisions from states before this fold are passed over.
    from: u64,
    /// The round of each copy that comes next.
    next: BTreeMap<u64, u64>,
    band: Option<(Vec<Member>, Band<D>)>,
    /// Decisions that came out the same.
    pub same: u64,
    /// Decisions that could not be made again: some before them, from the same state, are not in the log.
    pub left: u64,
}

impl<D: Served> Again<D> {
    /// The decisions of a band in a store, where they are logged.
    pub fn of(
        model: Arc<dyn Model<D>>,
        store: Arc<dyn Store>,
        layout: &Layout,
        from: u64,
    ) -> Result<Self, ServeError> {
        let names = store.list(&layout.decisions())?;
        let mut numbers: Vec<u64> = names.iter().filter_map(|name| Layout::segment_number(name)).collect();
        numbers.sort_unstable();
        let segment = |number| Segment {
            name: layout.decision_segment(number),
            from: 0,
            chain: Chain::new(0),
            lines: VecDeque::new(),
        };
        let segments = numbers.into_iter().map(segment).collect();
        Ok(Self { model, store, segments, from, next: BTreeMap::new(), band: None, same: 0, left: 0 })
    }

    /// Makes those decisions again that were made after `fold` folds, when `state` was what they had come to.
    pub fn make(&mut self, fold: u64, state: &State<D>) -> Result<(), ServeError> {
        let mut copies: BTreeMap<u64, Vec<Decided>> = BTreeMap::new();
        for segment in &mut self.segments {
            while let Some(next) = segment.peek(&*self.store)?
                && next.fold.is_none_or(|made| made <= fold)
            {
                let (copy, round) = (next.id.copy, next.id.round);
                if next.fold.is_some_and(|made| made < self.from) {
                    let next = self.next.entry(copy).or_default();
                    *next = (*next).max(round + 1);
                    segment.lines.pop_front();
                } else {
                    copies.entry(copy).or_default().extend(segment.lines.pop_front());
                }
            }
        }
        for (copy, mut decisions) in copies {
            decisions.sort_by_key(|decision| decision.id.round);
            // What was written once more after a failure.
            decisions.dedup_by_key(|decision| decision.id.round);
            self.make_those(copy, &decisions, fold, state)?;
        }
        Ok(())
    }

    fn make_those(
        &mut self,
        copy: u64,
        decisions: &[Decided],
        fold: u64,
        state: &State<D>,
    ) -> Result<(), ServeError> {
        let secret = state.band.params().secret.ok_or(corral_core::TokenError::NoSecret)?.get();
        let mut band = match self.band.take() {
            Some((members, mut band)) if members == state.members => {
                band.load(&state.band.save())?;
                band
            }
            _ => state::build(&*self.model, &state.members, &state.band.save())?,
        };
        let next = self.next.entry(copy).or_default();
        let mut whole = true;
        for decision in decisions {
            let (round, made) = (decision.id.round, decision.fold);
            if round < *next {
                continue;
            }
            let gap = std::mem::replace(next, round + 1) != round;
            if made != Some(fold) {
                self.left += 1;
                continue;
            }
            whole &= !gap;
            match (&decision.context, decision.base) {
                _ if !whole => self.left += 1,
                // The default action is no choice of the band: it takes the number of a round, and no more.
                (_, None) => {}
                (None, Some(_)) => self.left += 1,
                (Some(context), Some(_)) => {
                    band.set_next(copy, round);
                    compare(&mut band, secret, decision, context, fold)?;
                    self.same += 1;
                }
            }
        }
        self.band = Some((state.members.clone(), band));
        Ok(())
    }
}

/// Makes one decision again.
fn compare<D: Served>(
    band: &mut Band<D>,
    secret: u64,
    decision: &Decided,
    context: &Context,
    fold: u64,
) -> Result<(), ServeError> {
    let pbar = band.probabilities().to_vec();
    let mut rng = Pcg64Dxsm::seed_from_u64(band.next_id().seed(secret));
    let ticket = band.choose(context, &mut rng)?;
    let mut again = D::logged(&ticket, &pbar, context);
    // What was not asked for is not in the log.
    if decision.q.is_empty() {
        again.q.clear();
    }
    if said(&again) == said(decision) && (decision.pbar.is_empty() || bits(&decision.pbar) == bits(&pbar)) {
        return Ok(());
    }
    let brief =
        |d: &Decided| format!("{:?} with probability {:?} by base {:?}", d.action, d.propensity, d.base);
    Err(ServeError::Store(format!(
        "decision {} does not come out again from the state after {fold} folds: the log has {}, and it is {}",
        decision.id,
        brief(decision),
        brief(&again)
    )))
}
