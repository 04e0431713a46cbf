//! One round, and many.

use std::sync::Arc;

use corral_core::Context;
use corral_lab::saved::Actions;
use numpy::ndarray::Array2;
use numpy::{PyArray1, ToPyArray};
use pyo3::prelude::*;

use super::Band;
use crate::args::Count;
use crate::convert;
use crate::decision::Decision;
use crate::errors::{Answer, Error};
use crate::label::Label;

/// See `Band.choose`.
pub fn choose<'py>(
    band: &Band,
    py: Python<'py>,
    x: Option<&Bound<'py, PyAny>>,
    actions: Option<&Bound<'py, PyAny>>,
) -> Answer<Bound<'py, Decision>> {
    let offers = band.offers();
    let round = convert::context(band.shape(), &offers, x, actions)?;
    let mut made = band.chosen(py, &offers, vec![round])?;
    made.pop().ok_or_else(|| Error::Failed("no decision was made".into()))
}

/// See `Band.choose_many`.
pub fn choose_many<'py>(
    band: &Band,
    py: Python<'py>,
    xs: Option<&Bound<'py, PyAny>>,
    count: Option<Count>,
) -> Answer<Vec<Bound<'py, Decision>>> {
    Error::unless(
        band.row_features == 0,
        "choose_many: actions with a feature row each are chosen one by one, by choose",
    )?;
    let contexts: Vec<Context> = match (xs, count) {
        (Some(xs), None) => band.contexts(xs)?,
        (None, Some(Count(count))) if band.features == 0 => {
            (0..count).map(|_| Context::plain(band.actions)).collect()
        }
        _ => {
            return Err(Error::Type(
                "give a row of features for each round, or count= where the band has no features".into(),
            ));
        }
    };
    let offers = band.offers();
    Error::unless(
        offers.offer.is_empty(),
        "choose_many: some actions were retired or are to join: choose them one by one",
    )?;
    band.chosen(py, &offers, contexts.into_iter().map(|x| (x, None)).collect())
}

/// See `Band.distribution`.
pub fn distribution<'py>(
    band: &Band,
    py: Python<'py>,
    x: Option<&Bound<'py, PyAny>>,
    actions: Option<&Bound<'py, PyAny>>,
) -> Answer<Bound<'py, PyAny>> {
    if let Some(xs) = x.filter(|x| actions.is_none() && convert::is_table(x)) {
        let contexts = band.contexts(xs)?;
        let all = band.watched(py, |inner| {
            let mut all = Vec::with_capacity(contexts.len() * band.actions);
            for x in &contexts {
                all.extend(inner.members.distribution(x)?);
                inner.callers()?;
            }
            Ok(all)
        })?;
        let table = Array2::from_shape_vec((contexts.len(), band.actions), all).map_err(Error::value)?;
        return Ok(table.to_pyarray(py).into_any());
    }
    let (context, _) = convert::context(band.shape(), &band.offers(), x, actions)?;
    let all = band.watched(py, |inner| {
        let all = inner.members.distribution(&context);
        inner.callers()?;
        Ok(all?)
    })?;
    Ok(PyArray1::from_vec(py, all).into_any())
}

impl Band {
    /// Chooses for contexts whose actions may have names of their own.
    fn chosen<'py>(
        &self,
        py: Python<'py>,
        offers: &Actions,
        rounds: Vec<(Context, Option<Vec<Arc<str>>>)>,
    ) -> Answer<Vec<Bound<'py, Decision>>> {
        self.watched(py, |inner| {
            inner.waiting.as_ref().map_or(Ok(()), |waiting| waiting.admits(rounds.len()))?;
            let mut made = Vec::with_capacity(rounds.len());
            for (context, own) in rounds {
                let ticket = inner.choose(py, &context)?;
                let base = Arc::clone(&inner.names[ticket.base()]);
                let names = own.as_deref().unwrap_or(&offers.names);
                let label = match Label::from(&ticket) {
                    Label::Number(number) if number < names.len() => Label::Name(Arc::clone(&names[number])),
                    played => played,
                };
                let decision = Bound::new(py, Decision::new(ticket, context, label, base))?;
                if let Some(waiting) = &mut inner.waiting {
                    waiting.keep(&decision);
                }
                made.push(decision);
            }
            Ok(made)
        })
    }
}
