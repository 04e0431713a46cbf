//! What is learned of decisions: of many at once, and of those that wait too long.

use std::collections::HashSet;

use corral_core::Feedback;
use pyo3::prelude::*;

use super::Band;
use crate::convert;
use crate::errors::{Answer, Error};
use crate::waiting::now;

/// What is said of many decisions.
pub struct Given<'a, 'py> {
    pub rewards: Option<&'a Bound<'py, PyAny>>,
    pub losses: Option<&'a Bound<'py, PyAny>>,
    pub costs: Option<&'a Bound<'py, PyAny>>,
    pub clients: Option<Vec<String>>,
}

/// What is said of one decision.
pub struct Heard<'a> {
    pub reward: Option<f64>,
    pub loss: Option<f64>,
    pub cost: Option<f64>,
    pub client: Option<&'a str>,
}

/// See `Band.learn`.
pub fn learn(band: &Band, py: Python<'_>, decision: &Bound<'_, PyAny>, heard: Heard<'_>) -> Answer<()> {
    let Heard { reward, loss, cost, client } = heard;
    let loss = band.rated(reward, loss, cost)?;
    band.watched(py, |inner| {
        let decision = inner.given(decision)?;
        let heard = inner.heard(client, loss)?;
        inner.learn(py, decision.get(), costing(heard, cost))?;
        inner.count(client);
        Ok(())
    })
}

/// What was heard, with what the decision cost where that was said.
fn costing(heard: Feedback, cost: Option<f64>) -> Feedback {
    cost.map_or(heard, |cost| heard.with_cost(cost))
}

/// See `Band.expire`.
pub fn expire(band: &Band, py: Python<'_>, seconds: f64, heard: Heard<'_>) -> Answer<usize> {
    let Heard { reward, loss, cost, .. } = heard;
    let learned = if reward.is_some() || loss.is_some() { Some(band.loss(reward, loss)?) } else { None };
    Error::unless(seconds >= 0.0, format_args!("seconds must be 0 or more, but is {seconds}"))?;
    // As many milliseconds as there are since 1970 are enough.
    let before = now().saturating_add(1).saturating_sub((seconds * 1000.0) as u64);
    band.watched(py, |inner| {
        let kept = inner
            .waiting
            .as_ref()
            .ok_or_else(|| Error::value("the band keeps no decisions: build it with pending="))?;
        let late = kept.late(py, before);
        let heard = costing(learned.map_or(Feedback::unseen(), Feedback::plain), cost);
        for decision in &late {
            let id = decision.get().id;
            // One that was learned by its token in another place is settled all the same.
            inner.settle(py, decision.get(), heard)?;
            if let Some(waiting) = &mut inner.waiting {
                waiting.expire(id);
            }
            if let Some(log) = &mut inner.log {
                log.outcome(id, learned, inner.plan.rewards)?;
            }
            inner.callers()?;
        }
        Ok(late.len())
    })
}

/// See `Band.learn_many`.
pub fn learn_many(
    band: &Band,
    py: Python<'_>,
    decisions: &[Bound<'_, PyAny>],
    given: Given<'_, '_>,
) -> Answer<()> {
    let Given { rewards, losses, costs, clients } = given;
    let (mut numbers, mut prices) = (Vec::new(), Vec::new());
    costs.map_or(Ok(()), |costs| convert::append(costs, &mut prices))?;
    for given in [rewards, losses].into_iter().flatten() {
        convert::append(given, &mut numbers)?;
    }
    let rated = rewards.is_some() || losses.is_some();
    if (rewards.is_some() && losses.is_some()) || !(rated || costs.is_some()) {
        return Err(Error::Type("give rewards= or losses=, one of them; or costs= alone".into()));
    }
    let count = decisions.len();
    let given = if rated { numbers.len() } else { count };
    Error::unless(count == given, format_args!("{count} decisions, but {given} rewards or losses"))?;
    let named = clients.as_ref().map_or(count, Vec::len);
    Error::unless(count == named, format_args!("{count} decisions, but {named} clients"))?;
    let costed = if costs.is_some() { prices.len() } else { count };
    Error::unless(count == costed, format_args!("{count} decisions, but {costed} costs"))?;
    let priced = |i: usize, heard: Feedback| costing(heard, prices.get(i).copied());
    let client = |i: usize| clients.as_ref().map(|clients| &*clients[i]);
    band.watched(py, |inner| {
        let given = |(i, d)| inner.given(d).map_err(|e| e.of(format!("decision {i}")));
        let decisions = decisions.iter().enumerate().map(given).collect::<Answer<Vec<_>>>()?;
        let mut seen = HashSet::new();
        if count > 0 {
            inner.heard(client(0), None)?;
        }
        let mut heard = Vec::with_capacity(count);
        for (i, decision) in decisions.iter().enumerate() {
            let decision = decision.get();
            let (number, cost) = (numbers.get(i).copied(), prices.get(i).copied());
            let (reward, loss) = if losses.is_some() { (None, number) } else { (number, None) };
            let number = band.rated(reward, loss, cost).map_err(|e| e.of(format!("decision {i}")))?;
            heard.push(number);
            let fresh = if seen.insert(decision.id) { Ok(()) } else { Err(decision.learned()) };
            let heard = priced(i, number.map_or(Feedback::unseen(), Feedback::plain));
            let looked = fresh.and_then(|()| decision.look(py, |x, t| inner.members.check(x, t, heard)));
            looked.map_err(|e| e.of(format!("decision {i}")))?;
        }
        for (i, (decision, loss)) in decisions.iter().zip(heard).enumerate() {
            let heard = priced(i, inner.heard(client(i), loss)?);
            let learned = inner.learn(py, decision.get(), heard);
            learned.map_err(|e| e.of(format!("decision {i} (those before it were learned)")))?;
            inner.count(client(i));
        }
        Ok(())
    })
}

impl Band {
    /// The loss of a round, where one is said: a cost may be said alone.
    fn rated(&self, reward: Option<f64>, loss: Option<f64>, cost: Option<f64>) -> Answer<Option<f64>> {
        match (reward, loss, cost) {
            (None, None, Some(_)) => Ok(None),
            _ => self.loss(reward, loss).map(Some),
        }
    }

    /// The loss of a round, from what the caller says of it.
    pub(super) fn loss(&self, reward: Option<f64>, loss: Option<f64>) -> Answer<f64> {
        match (reward, loss) {
            // The band itself knows the range so far.
            (Some(reward), None) if self.rewards.learned => Ok(reward),
            (Some(reward), None) => Ok(self.rewards.loss(reward).map_err(Error::value)?.0),
            (None, Some(_)) if self.rewards.learned => {
                Err(Error::value("this band learns the range of rewards: give reward="))
            }
            (None, Some(loss)) if (0.0..=1.0).contains(&loss) => Ok(loss),
            (None, Some(loss)) => Err(Error::value(format!("a loss must be in [0, 1], but is {loss}"))),
            _ => Err(Error::Type("give reward= or loss=, one of them".into())),
        }
    }
}
