//! Bases that come and go.

use std::sync::Arc;

use corral_log::Change;
use pyo3::prelude::*;

use super::Band;
use crate::base::Raised;
use crate::errors::Answer;
use crate::inner::Inner;
use crate::plan;

/// See `Band.add`.
pub fn join(
    band: &Band,
    py: Python<'_>,
    base: &Bound<'_, PyAny>,
    share: f64,
    name: Option<String>,
) -> Answer<String> {
    let mut entered = band.enter(py)?;
    add(&mut entered.inner, base, share, name)
}

/// See `Band.retire`.
pub fn retire(band: &Band, py: Python<'_>, base: &Bound<'_, PyAny>) -> Answer<()> {
    let mut entered = band.enter(py)?;
    let base = entered.inner.find(base)?;
    entered.inner.members.retire(base)?;
    entered.inner.came_or_went(Change::Retire, base, None)
}

/// See `Band.reinstate`.
pub fn reinstate(band: &Band, py: Python<'_>, base: &Bound<'_, PyAny>, share: f64) -> Answer<()> {
    let mut entered = band.enter(py)?;
    let base = entered.inner.find(base)?;
    entered.inner.members.reinstate(base, share)?;
    entered.inner.came_or_went(Change::Reinstate, base, Some(share))
}

/// Adds a base to what a band holds.
fn add(inner: &mut Inner, base: &Bound<'_, PyAny>, share: f64, name: Option<String>) -> Answer<String> {
    let raised = inner.raised.first().map(Raised::sibling).unwrap_or_default();
    let mut plan = inner.plan.clone();
    let built = plan::join(&mut plan, base, name, Some(share), &raised, &inner.shelf)?;
    let name = plan.members.last().map(|m| m.name.clone()).unwrap_or_default();
    inner.members.add(&name, built, share)?;
    inner.plan = plan;
    inner.names.push(Arc::from(&*name));
    inner.raised.push(raised);
    inner.came_or_went(Change::Add, inner.names.len() - 1, Some(share))?;
    Ok(name)
}
