//! Snapshots from before the alarm and experience.

use super::super::{MasterSetup, Roster};
use super::{Alarm, Fall, PracticalParams, PracticalRule, Rule};
use crate::snapshot;
use serde::Deserialize;

/// The version of these snapshots.
const OLDER: u16 = 2;

#[derive(Deserialize)]
struct Params {
    rate: Fall,
    scale: f64,
    cap: f64,
    reach: f64,
    floor: f64,
    offset: f64,
    baseline: bool,
    memory: f64,
    audit: bool,
}

#[derive(Deserialize)]
struct State {
    params: Params,
    outer: f64,
    inverse: Vec<f64>,
    spread: f64,
    fall: f64,
    rate: f64,
    time: f64,
    losses: (f64, f64),
    total: f64,
    ends: (f64, f64),
    unit: bool,
    whole: bool,
}

impl From<Params> for PracticalParams {
    fn from(p: Params) -> Self {
        let Params { rate, scale, cap, reach, floor, offset, baseline, memory, audit } = p;
        Self { rate, scale, cap, reach, floor, offset, baseline, memory, audit, ..Self::default() }
    }
}

/// The snapshot as it is written now, of one from before. The alarm begins to listen.
pub(super) fn upgrade(state: &[u8]) -> Option<Vec<u8>> {
    type Older = (Params, MasterSetup, Roster, State, Vec<f64>);
    let (params, setup, roster, old, probabilities): Older =
        snapshot::open(PracticalRule::NAME, OLDER, state).ok()?;
    let params = PracticalParams::from(params);
    let rule = PracticalRule {
        params: old.params.into(),
        outer: old.outer,
        inverse: old.inverse,
        spread: old.spread,
        fall: old.fall,
        rate: old.rate,
        time: old.time,
        losses: old.losses,
        total: old.total,
        ends: old.ends,
        unit: old.unit,
        whole: old.whole,
        alarm: Alarm::default(),
        alarms: 0,
        estimates: Vec::new(),
        places: Vec::new(),
        rates: Vec::new(),
        auditor: None,
    };
    Some(snapshot::seal(
        PracticalRule::NAME,
        PracticalRule::FORM,
        &(params, setup, roster, rule, probabilities),
    ))
}
