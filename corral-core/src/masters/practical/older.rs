//! Snapshots from before the alarm (version 2), and from when experience was a parameter of this master (version 3).

use super::super::rule::seal;
use super::super::{Experience, MasterSetup, Roster};
use super::{Alarm, Fall, PracticalParams, PracticalRule, Rule};
use crate::snapshot;
use serde::Deserialize;

#[derive(Deserialize)]
struct Params2 {
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
struct Params3 {
    rate: Fall,
    scale: f64,
    cap: f64,
    reach: f64,
    floor: f64,
    alarm: bool,
    offset: f64,
    baseline: bool,
    memory: f64,
    experience: Vec<Experience>,
    audit: bool,
}

/// The state of the rule but for its params and the alarm.
#[derive(Deserialize)]
struct State {
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

type Older2 = (Params2, MasterSetup, Roster, (Params2, State), Vec<f64>);
type Older3 = (Params3, MasterSetup, Roster, (Params3, State, Alarm, u64), Vec<f64>);

impl From<Params2> for PracticalParams {
    fn from(p: Params2) -> Self {
        let Params2 { rate, scale, cap, reach, floor, offset, baseline, memory, audit } = p;
        Self { rate, scale, cap, reach, floor, offset, baseline, memory, audit, ..Self::default() }
    }
}

impl From<Params3> for PracticalParams {
    fn from(p: Params3) -> Self {
        let Params3 { rate, scale, cap, reach, floor, alarm, offset, baseline, memory, audit, .. } = p;
        Self { rate, scale, cap, reach, floor, alarm, offset, baseline, memory, audit }
    }
}

impl State {
    fn rule(self, params: PracticalParams, (alarm, alarms): (Alarm, u64)) -> PracticalRule {
        PracticalRule {
            params,
            outer: self.outer,
            inverse: self.inverse,
            spread: self.spread,
            fall: self.fall,
            rate: self.rate,
            time: self.time,
            losses: self.losses,
            total: self.total,
            ends: self.ends,
            unit: self.unit,
            whole: self.whole,
            alarm,
            alarms,
            estimates: Vec::new(),
            places: Vec::new(),
            rates: Vec::new(),
            auditor: None,
        }
    }
}

/// The snapshot as it is written now, of an older one. Where there was no alarm, it begins to listen.
pub(super) fn upgrade(state: &[u8]) -> Option<Vec<u8>> {
    const NAME: &str = PracticalRule::NAME;
    if let Ok((params, setup, roster, (_, old), probabilities)) = snapshot::open::<Older2>(NAME, 2, state) {
        let params = PracticalParams::from(params);
        let rule = old.rule(params.clone(), (Alarm::default(), 0));
        return Some(seal::<PracticalRule>(&(params, setup, roster, rule, probabilities), &[]));
    }
    let (params, setup, roster, (own, old, alarm, alarms), probabilities): Older3 =
        snapshot::open(NAME, 3, state).ok()?;
    let rule = old.rule(own.into(), (alarm, alarms));
    let experience = params.experience.clone();
    Some(seal::<PracticalRule>(
        &(PracticalParams::from(params), setup, roster, rule, probabilities),
        &experience,
    ))
}
