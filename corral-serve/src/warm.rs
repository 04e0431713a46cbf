//! A band that has learned from a log before its first decision.
//!
//! Bases that model the loss of actions learn each row as it is: what another logger played says nothing false of the action.
//! A base that divides by its own probability q of the action is given the weight q/p, with p the logger's propensity, so that it
//! learns loss/p, whose mean is right; it is told before how large weights become, and its rate falls with that for good. Where they
//! may be above [`MOST`] it is left as it is. The master begins as it would: it has followed no base yet.
//! The guard counts the rows: what they have seen of an action need not be seen again.

use std::collections::BTreeMap;

use corral_core::{Arm, Base, Context, Feedback, Order, Proposal};
use corral_log::{Header, Row, RowSource};

use crate::error::ServeError;
use crate::layout::Layout;
use crate::learner::{LearnerOptions, begin};
use crate::model::Model;
use crate::spec::{ServedSpec, offering};
use crate::store::Store;

/// The largest weight that is worth its price, a rate that is divided by its square root.
const MOST: f64 = 20.0;

/// What a band has learned from a log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Warmed {
    /// The rows of the log.
    pub rows: u64,
    /// Those that were learned.
    pub used: u64,
    /// Why others were not, and how many.
    pub refused: BTreeMap<String, u64>,
    /// Bases that were taught nothing: they learn from their own decisions alone, and the logger played an action too seldom.
    pub untaught: Vec<String>,
}

/// Opens the log: it is read twice.
pub type Open<'a> = &'a dyn Fn() -> Result<Box<dyn RowSource + 'a>, ServeError>;

/// Has a band begin in a store with bases that have learned from a log. `None`: it has begun already, and nothing was changed.
///
/// # Errors
/// The store or the log cannot be read, the band cannot be built, or no row of the log can be used: it has not begun then.
pub fn warm_up(
    spec: &ServedSpec,
    store: &dyn Store,
    options: &LearnerOptions,
    open: Open<'_>,
) -> Result<Option<Warmed>, ServeError> {
    let layout = Layout::of(&spec.name);
    if store.get(&layout.origin())?.is_some() {
        return Ok(None);
    }
    let mut band = spec.band()?;
    let mut range: f64 = 1.0;
    each(spec, &mut *open()?, |lesson| {
        range = lesson.map_or(range, |lesson| range.max(1.0 / lesson.propensity));
    })?;
    let (mut bases, mut warmed) = (Vec::new(), Warmed::default());
    // The range that the band tells its bases at first, beyond which they would start over.
    let first = if band.params().cut.is_none() { 2.0 * band.len() as f64 } else { 1.0 };
    for (place, mut base) in spec.bases()?.into_iter().enumerate() {
        let listens = base.abilities().learns_from_others;
        if !listens && range > MOST {
            warmed.untaught.push(band.name(place));
            continue;
        }
        let range = if listens { first } else { range.max(first) };
        base.apply_order(Order::Widen { range, remaining: None })
            .map_err(|e| ServeError::Model(e.to_string()))?;
        bases.push((place, base));
    }
    let mut log = open()?;
    each(spec, &mut *log, |lesson| {
        warmed.rows += 1;
        let taught = lesson.and_then(|lesson| {
            let taught = bases.iter_mut().map(|(_, base)| lesson.teach(&mut **base));
            // All are asked, whether or not one refuses.
            taught.fold(Ok(()), Result::and).map(|()| lesson)
        });
        match taught {
            Ok(Lesson { context, action, propensity, loss }) => {
                warmed.used += 1;
                band.warm_guard(&context, &action, propensity, loss);
            }
            Err(why) => *warmed.refused.entry(why).or_default() += 1,
        }
    })?;
    for (count, first) in log.faults().iter() {
        warmed.rows += count;
        *warmed.refused.entry(format!("with the fault: {}", first.kind)).or_default() += count;
    }
    if warmed.used == 0 || bases.is_empty() {
        return Err(ServeError::Model(format!("the log teaches nothing: {warmed}")));
    }
    for (place, base) in &bases {
        band.warm(*place, &base.save())?;
    }
    Ok(begin(&layout, band, spec, store, options)?.then_some(warmed))
}

/// Reads a log to its end.
fn each(
    spec: &ServedSpec,
    log: &mut dyn RowSource,
    mut see: impl FnMut(Result<Lesson, String>),
) -> Result<(), ServeError> {
    let mut row = Row::default();
    while log.next(&mut row).map_err(|e| ServeError::Store(e.to_string()))? {
        see(lesson(spec, log.header(), &row));
    }
    Ok(())
}

/// A row as the band would have seen it.
struct Lesson {
    context: Context,
    action: Arm,
    propensity: f64,
    loss: f64,
}

/// What a row teaches, or why it teaches nothing.
fn lesson(spec: &ServedSpec, header: &Header, row: &Row) -> Result<Lesson, String> {
    if row.forced {
        return Err("no policy made the decision".into());
    }
    let propensity = row.propensity.ok_or("without a propensity")?;
    let reward = row.reward.ok_or("without a reward")?;
    let scale = spec.scale();
    // On the scale of the log, where it has one.
    let value =
        header.scale.map_or_else(|| scale.value(1.0 - reward), |own| own.low + reward * (own.high - own.low));
    let (loss, _) = scale.loss(value).map_err(|_| "with a reward outside the range of the spec")?;
    let number = |action: u32| match (spec.actions.names(), header.actions.get(action as usize)) {
        (names @ [_, ..], Some(name)) => names.iter().position(|own| own == name).map(|n| n as u32),
        _ => Some(action).filter(|action| (*action as usize) < spec.actions.len()),
    };
    let unknown = || "of an action that the band does not have".to_owned();
    let mut offered = Vec::with_capacity(row.offered.len());
    for place in 0..row.offered.len() {
        // What the band does not have it could not have played.
        offered.extend(row.offered.at(place).and_then(number).map(|number| (number, place)));
    }
    offered.sort_unstable();
    let none = Context::default();
    let seen = row.context.as_ref().unwrap_or(&none);
    if (seen.features().len(), seen.row_dim()) != (spec.features, spec.action_features) {
        return Err("with another number of features than the spec says".into());
    }
    let features = seen.features().to_vec();
    let context = match seen.row_dim() {
        0 => Context::shared(features, offered.len()),
        dim => {
            let rows = offered.iter().filter_map(|(_, place)| seen.row(*place));
            Context::with_rows(features, rows.flatten().copied().collect(), dim)
        }
    };
    let numbers: Vec<u32> = offered.into_iter().map(|(number, _)| number).collect();
    let context = offering(context, numbers);
    let played = number(row.action).and_then(|number| context.place(number as usize)).ok_or_else(unknown)?;
    Ok(Lesson { context, action: Arm::at(played), propensity, loss })
}

impl Lesson {
    fn teach(&self, base: &mut dyn Base<Context, Arm>) -> Result<(), String> {
        let abilities = base.abilities();
        let own = match abilities.learns_from_others && !abilities.wants_memo {
            true => None,
            false => base.likelihood(&self.context, &self.action),
        };
        let weight = match (&own, abilities.learns_from_others) {
            (_, true) => 1.0,
            (Some((own, _)), false) => own / self.propensity,
            // It would never have played it, or cannot say so.
            (None, false) => 0.0,
        };
        let learned = match weight > 0.0 {
            true => {
                let memo = own.map(|(_, memo)| memo).unwrap_or_default();
                let made = Proposal::with_memo(self.action, memo);
                base.learn(&self.context, &made, Feedback::plain(self.loss).with_weight(weight))
            }
            false => base.pass(&self.context),
        };
        learned.map_err(|_| "that a base refuses".to_owned())
    }
}

impl std::fmt::Display for Warmed {
    /// "1950 of 2000 rows; 30 without a propensity; not taught: exp3".
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} rows", self.used, self.rows)?;
        self.refused.iter().try_for_each(|(why, count)| write!(f, "; {count} {why}"))?;
        if self.untaught.is_empty() {
            Ok(())
        } else {
            write!(f, "; not taught: {}", self.untaught.join(", "))
        }
    }
}
