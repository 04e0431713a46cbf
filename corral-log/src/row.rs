//! One decision with its outcome, as estimators see it.

use corral_core::{Context, Scale, TicketId};

use crate::faults::Refused;
use crate::{FaultKind, Given, Offered};

/// What is known of a whole log.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Header {
    /// The names of the bases, in the order of a row's lists.
    pub bases: Vec<String>,
    /// The names of the actions; empty where they have none.
    pub actions: Vec<String>,
    /// Where outcomes lie; `None`: in [0, 1], and what is a reward is said with each.
    pub scale: Option<Scale>,
    /// The names of further columns that were asked for.
    pub columns: Vec<String>,
    /// A digest of what the band was built from, where it is known.
    pub model: Option<String>,
}

impl Header {
    /// The name of an action, or its number.
    pub fn action(&self, index: u32) -> String {
        self.actions.get(index as usize).cloned().unwrap_or_else(|| index.to_string())
    }

    /// The index of an action by its name, or by its number where actions have no names.
    pub fn find_action(&self, name: &str) -> Option<u32> {
        let named = self.actions.iter().position(|a| a == name).map(|a| a as u32);
        named.or_else(|| self.actions.is_empty().then(|| name.parse().ok()).flatten())
    }
}

/// One decision with its outcome. It is filled again for each, so that a log is read without allocation.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its id, where it has one of ours.
    pub id: Option<TicketId>,
    /// When it was made, in milliseconds since 1970, where that is known.
    pub at: Option<u64>,
    /// The action that was played.
    pub action: u32,
    /// The actions that could have been played.
    pub offered: Offered,
    /// The probability with which it was played.
    pub propensity: Option<f64>,
    /// Whether that is the probability itself.
    pub exact: bool,
    /// Whether no policy made the decision.
    pub forced: bool,
    /// The reward, in [0, 1]; `None` where the outcome is not known.
    pub reward: Option<f64>,
    /// The outcome as the log has it.
    pub given: Option<Given>,
    /// The probability with which the decision was kept in the log.
    pub keep: f64,
    /// What it is grouped by.
    pub unit: Option<String>,
    /// The key by which outcomes from elsewhere know it, or an id that is not ours.
    pub key: Option<String>,
    /// The base that was followed.
    pub base: Option<u32>,
    /// A digest of what was seen before deciding.
    pub digest: Option<String>,
    /// The sealed ticket.
    pub ticket: Option<String>,
    /// Each base's probability of being followed.
    pub pbar: Vec<f64>,
    /// Each base's own probability of the action; NaN: not known.
    pub q: Vec<f64>,
    /// Each base's own probability of every offered action, one base after the other; empty: not known.
    pub full: Vec<f64>,
    /// The logger's probability of every offered action; empty: not known.
    pub logger: Vec<f64>,
    /// What was seen before deciding.
    pub context: Option<Context>,
    /// The further columns that were asked for: the probability of the action, or that of every offered action.
    pub columns: Vec<Vec<f64>>,
}

impl Default for Row {
    fn default() -> Self {
        Self {
            id: None,
            at: None,
            action: 0,
            offered: Offered::First(0),
            propensity: None,
            exact: true,
            forced: false,
            reward: None,
            given: None,
            keep: 1.0,
            unit: None,
            key: None,
            base: None,
            digest: None,
            ticket: None,
            pbar: Vec::new(),
            q: Vec::new(),
            full: Vec::new(),
            logger: Vec::new(),
            context: None,
            columns: Vec::new(),
        }
    }
}

impl Row {
    /// Writes what was seen before deciding into `context`, with the numbers of the actions that were offered. `false`: these do
    /// not increase, or are not those of the context.
    pub fn seen(&self, context: &mut Context) -> bool {
        match &self.context {
            Some(x) => context.copy_from(x),
            None => *context = Context::plain(self.offered.len()),
        }
        let Offered::These(numbers) = &self.offered else { return true };
        if context.offer().is_none() {
            let rows = context.rows().len() / context.row_dim().max(1);
            if rows != 0 && rows != numbers.len() {
                return false;
            }
            *context = std::mem::take(context).offering(numbers.clone());
        }
        context.offer() == Some(numbers) && numbers.is_sorted_by(|a, b| a < b)
    }

    /// Takes an outcome, in the units of `scale`.
    pub(crate) fn give(&mut self, scale: Option<Scale>, given: Given) -> Result<(), Refused> {
        if let Some((value, is_loss)) = given.value() {
            let found = reward(scale, value, is_loss);
            self.reward = Some(found.map_err(|why| (FaultKind::Reward, why))?);
            self.given = Some(given);
        }
        Ok(())
    }

    /// Empties it, keeping its memory.
    pub(crate) fn clear(&mut self, columns: usize) {
        (self.id, self.at, self.action, self.propensity, self.reward) = (None, None, 0, None, None);
        (self.exact, self.forced, self.keep) = (true, false, 1.0);
        self.offered = Offered::First(0);
        (self.unit, self.key, self.context, self.given) = (None, None, None, None);
        (self.base, self.digest, self.ticket) = (None, None, None);
        for list in [&mut self.pbar, &mut self.q, &mut self.full, &mut self.logger] {
            list.clear();
        }
        self.columns.resize_with(columns, Vec::new);
        self.columns.iter_mut().for_each(Vec::clear);
    }

    /// The logger's probability of every offered action, from those of its bases, where a log has them.
    pub(crate) fn mix_logger(&mut self) {
        let actions = self.offered.len();
        if !self.logger.is_empty() || actions == 0 || self.full.len() != self.pbar.len() * actions {
            return;
        }
        self.logger.resize(actions, 0.0);
        for (pbar, own) in self.pbar.iter().zip(self.full.chunks_exact(actions)) {
            // A base that is not followed may be unknown.
            if *pbar > 0.0 {
                self.logger.iter_mut().zip(own).for_each(|(p, own)| *p += pbar * own);
            }
        }
        if self.logger.iter().any(|p| p.is_nan()) {
            self.logger.clear();
        }
    }
}

/// The reward in [0, 1] of an outcome on `scale`, or in [0, 1] where there is none. Written so that NaN fails.
///
/// # Errors
/// What the value must be.
pub(crate) fn reward(scale: Option<Scale>, value: f64, is_loss: bool) -> Result<f64, String> {
    let (low, high, clip) = scale.map_or((0.0, 1.0, false), |s| (s.low, s.high, s.clip));
    let inside = (low..=high).contains(&value);
    if !(inside || clip && value.is_finite()) {
        let what = if is_loss { "loss" } else { "reward" };
        return Err(format!("a {what} must be in [{low}, {high}], but is {value}"));
    }
    let part = ((value - low) / (high - low)).clamp(0.0, 1.0);
    Ok(if is_loss { 1.0 - part } else { part })
}
