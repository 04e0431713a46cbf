//! What a flat barrier continues from, to the last bit. Moments are not part of it: summed in any order they are the same.

use serde::{Deserialize, Serialize};

use super::FlatBarrier;
use super::clusters::{Charges, NOWHERE};
use super::moments::{LANES, LIMIT, Octet};
use crate::omd::OmdParams;
use crate::omd::wide::Wide;

/// The state but for the rates.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct FlatState {
    goal: f64,
    level: (f64, f64),
    sums: (f64, f64, f64),
    /// a_i - A; 0 for retired bases.
    offset: Vec<f64>,
    /// In their places; a retired one is without members.
    #[serde(deserialize_with = "crate::snapshot::untrusted")]
    clusters: Vec<ClusterState>,
    /// Empty where no base is watched.
    alarms: Vec<f64>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct ClusterState {
    centre: (f64, f64),
    radius: f64,
    scale: f64,
    mass: f64,
    heaviest: f64,
    watch: f64,
    members: Vec<u32>,
}

impl FlatBarrier {
    pub(crate) fn state(&self) -> FlatState {
        let charges = &self.charges;
        let cluster = |(c, cluster): (usize, &super::clusters::Cluster)| {
            let (octet, j) = (&charges.octets[c / LANES], c % LANES);
            ClusterState {
                centre: (octet.high[j], octet.low[j]),
                radius: octet.radius[j],
                scale: octet.scale[j],
                mass: octet.mass[j],
                heaviest: cluster.heaviest,
                watch: cluster.watch,
                members: cluster.members.clone(),
            }
        };
        let watched = charges.all.iter().any(|charge| charge.alarm < f64::INFINITY);
        FlatState {
            goal: self.goal,
            level: (charges.level.0, charges.level.1),
            sums: (self.slope, self.curve, self.largest),
            offset: charges.all.iter().map(|charge| charge.offset).collect(),
            clusters: charges.clusters.iter().enumerate().map(cluster).collect(),
            alarms: if watched {
                charges.all.iter().map(|charge| charge.alarm).collect()
            } else {
                Vec::new()
            },
        }
    }
}

impl FlatState {
    /// The barrier that continues from here with these rates, which must be positive and finite. Every comparison is
    /// written so that NaN fails.
    pub(crate) fn resume(self, rates: &[f64]) -> Result<FlatBarrier, String> {
        let n = rates.len();
        let largest = rates.iter().copied().fold(0.0, f64::max);
        let positive = |x: f64| x > 0.0 && x < f64::INFINITY;
        let (slope, curve, bound) = self.sums;
        if !(positive(slope) && positive(curve) && bound >= largest && bound < f64::INFINITY) {
            return Err(format!("sums of {slope}, {curve} and {bound}"));
        }
        if !(self.goal > 0.0 && self.goal <= 1.0 + 1e-9) {
            return Err(format!("charges that sum to {}", self.goal));
        }
        if self.offset.len() != n || !(self.alarms.is_empty() || self.alarms.len() == n) {
            return Err(format!(
                "{} places and {} alarms for {n} bases",
                self.offset.len(),
                self.alarms.len()
            ));
        }
        if !self.clusters.len().is_multiple_of(LANES) || self.clusters.len() / LANES > n {
            return Err(format!("{} clusters of {n} bases", self.clusters.len()));
        }
        let mut charges = Charges::new(rates);
        charges.level = Wide(self.level.0, self.level.1);
        charges.all.iter_mut().zip(self.alarms).for_each(|(charge, alarm)| charge.alarm = alarm);
        charges.all.iter_mut().zip(self.offset).for_each(|(charge, offset)| charge.offset = offset);
        charges.reserve(self.clusters.len() / LANES);
        let mut active = 0;
        let mut total = 0.0;
        for (c, saved) in self.clusters.into_iter().enumerate() {
            let octet: &mut Octet = &mut charges.octets[c / LANES];
            let j = c % LANES;
            if saved.members.is_empty() {
                continue;
            }
            let centre = Wide(saved.centre.0, saved.centre.1);
            let distance = centre.minus(charges.level);
            let radius = saved.radius;
            let fits = radius >= 0.0 && radius <= LIMIT * distance && radius <= saved.scale;
            let power = positive(saved.scale) && saved.scale.to_bits().trailing_zeros() >= 52;
            if !(positive(distance) && fits && power && saved.mass >= 0.0 && saved.mass <= 1.0 + 1e-9) {
                return Err(format!("a cluster of radius {radius} and mass {} at {distance}", saved.mass));
            }
            (octet.high[j], octet.low[j], octet.distance[j]) = (centre.0, centre.1, distance);
            (octet.radius[j], octet.scale[j], octet.mass[j]) = (radius, saved.scale, saved.mass);
            let mut mass = 0.0;
            for (at, &i) in saved.members.iter().enumerate() {
                let Some(own) = charges.all.get_mut(i as usize) else {
                    return Err(format!("a cluster with base {i} of {n}"));
                };
                let (offset, charge, twice) = (own.offset, 1.0 / own.rate, own.home != NOWHERE);
                if twice || !(offset.abs() <= radius && charge <= saved.heaviest) {
                    return Err(format!("base {i} twice, or at {offset} in a cluster of radius {radius}"));
                }
                (own.home, own.slot) = (c as u32, at as u32);
                mass += charge / (distance + offset);
            }
            if !((mass - saved.mass).abs() <= 1e-9 * mass) {
                return Err(format!("a cluster of mass {mass}, not {}", saved.mass));
            }
            total += mass;
            active += saved.members.len();
            let cluster = &mut charges.clusters[c];
            (cluster.heaviest, cluster.watch, cluster.members) = (saved.heaviest, saved.watch, saved.members);
        }
        if !((total / self.goal - 1.0).abs() <= 1e-9) || active == 0 {
            return Err(format!("probabilities that sum to {}", total / self.goal));
        }
        charges.sum_afresh();
        let params = OmdParams::default();
        Ok(FlatBarrier { params, charges, goal: self.goal, active, largest: bound, slope, curve })
    }
}

#[cfg(test)]
impl FlatState {
    /// One of nine ways to make the state impossible.
    pub fn spoil(&mut self, way: usize) {
        let there = self.clusters.iter_mut().find(|c| !c.members.is_empty()).expect("one is there");
        match way {
            0 => self.goal = 0.5,
            1 => self.level.0 = f64::NAN,
            2 => self.level.0 += 1.0,
            3 => there.members.push(there.members[0]),
            4 => there.members.clear(),
            5 => there.members[0] = 99,
            6 => there.scale = 0.3,
            7 => there.mass *= 1.1,
            _ => self.sums.0 = -1.0,
        }
    }
}
