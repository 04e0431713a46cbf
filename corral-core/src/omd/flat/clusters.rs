//! Charges on a line, grouped by their distance from the level.

use super::super::wide::Wide;
use super::moments::{Grid, LANES, LIMIT, Moments, Octet, Sums, TERMS, evaluate, power_above};

/// A member that moved may stay up to this part of a cluster's distance from its centre.
const STAY: f64 = 0.9 * LIMIT;
/// Who joins, and who remains when a cluster is trimmed, is nearer.
const JOIN: f64 = 0.7 * LIMIT;
/// The cluster of retired bases.
pub(super) const NOWHERE: u32 = u32::MAX;

/// What is kept of a cluster beside what an evaluation reads.
#[derive(Debug, Clone)]
pub(super) struct Cluster {
    pub members: Vec<u32>,
    /// An upper bound of the members' charges.
    pub heaviest: f64,
    /// An upper bound of how far members lie above the places where they would raise an alarm.
    pub watch: f64,
    moments: Moments,
}

impl Cluster {
    const EMPTY: Self =
        Self { members: Vec::new(), heaviest: 0.0, watch: f64::NEG_INFINITY, moments: Moments::ZERO };
}

/// A place, relative to the centre of a cluster.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seat {
    cluster: usize,
    centre: Wide,
    offset: f64,
}

impl Seat {
    /// Further right by `push`.
    pub fn pushed(self, push: f64) -> Self {
        Self { offset: self.offset + push, ..self }
    }
}

/// A charge m = 1/eta at its place a: what a round reads of one base lies together.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
pub(super) struct Charge {
    pub rate: f64,
    /// a - A, with A the centre of its cluster.
    pub offset: f64,
    /// The distance above which a base is reported; infinite where none is.
    pub alarm: f64,
    /// Its cluster.
    pub home: u32,
    /// Where it stands among the members.
    pub slot: u32,
}

/// Charges m_i = 1/eta_i at places a_i, seen from a level L left of all of them.
#[derive(Debug, Clone)]
pub(super) struct Charges {
    pub level: Wide,
    pub all: Vec<Charge>,
    pub clusters: Vec<Cluster>,
    pub octets: Vec<Octet>,
    pub grid: Grid,
}

impl Grid {
    fn of(all: &[Charge]) -> Self {
        let least = all.iter().map(|charge| charge.rate).fold(f64::INFINITY, f64::min);
        Self::new(all.len(), 1.0 / least)
    }
}

impl Charges {
    pub fn new(rates: &[f64]) -> Self {
        let charge =
            |rate: &f64| Charge { rate: *rate, offset: 0.0, alarm: f64::INFINITY, home: NOWHERE, slot: 0 };
        let all: Vec<Charge> = rates.iter().map(charge).collect();
        let (clusters, octets) = (Vec::new(), Vec::new());
        Self { level: Wide::default(), grid: Grid::of(&all), all, clusters, octets }
    }

    #[inline]
    pub fn is_there(&self, i: usize) -> bool {
        self.all[i].home != NOWHERE
    }

    /// The cluster of `i`, and d_i = a_i - L; infinite for retired bases.
    #[inline]
    pub fn distance(&self, i: usize) -> f64 {
        let Charge { home, offset, .. } = self.all[i];
        let c = home as usize;
        self.octets.get(c / LANES).map_or(f64::INFINITY, |o| o.distance[c % LANES] + offset)
    }

    #[inline]
    pub fn charge(&self, i: usize) -> f64 {
        1.0 / self.all[i].rate
    }

    /// The sums at L + lambda.
    #[inline]
    pub fn evaluate(&mut self, lambda: f64) -> Sums {
        evaluate(&mut self.octets, lambda)
    }

    /// Moves the level to L + lambda + rest, after an evaluation at L + lambda. Whether a cluster is too wide now.
    pub fn advance(&mut self, lambda: f64, rest: f64) -> bool {
        self.level = self.level.plus(lambda).plus(rest);
        let mut wide = false;
        for octet in &mut self.octets {
            for j in 0..LANES {
                octet.distance[j] = Wide(octet.high[j], octet.low[j]).minus(self.level);
                octet.mass[j] += octet.slope[j] * rest;
                wide |= octet.is_wide(j);
            }
        }
        wide
    }

    /// A cluster that is too wide to be evaluated at L + lambda.
    #[inline]
    pub fn unseen(&self, lambda: f64) -> Option<usize> {
        let wide = |o: &Octet, j: usize| !o.is_seen(j, lambda);
        let found = self.octets.iter().position(|o| {
            let mut any = false;
            for j in 0..LANES {
                any |= wide(o, j);
            }
            any
        })?;
        (0..LANES).find(|j| wide(&self.octets[found], *j)).map(|j| found * LANES + j)
    }

    /// Trims every cluster that is too wide, and weighs all anew.
    #[cold]
    pub fn trim_all(&mut self) -> Sums {
        for c in 0..self.clusters.len() {
            if self.octets[c / LANES].is_wide(c % LANES) {
                self.trim(c, 0.0);
            }
        }
        self.evaluate(0.0)
    }

    /// Sends members away that are too far from the centre of cluster `c`, seen from L + lambda.
    #[cold]
    pub fn trim(&mut self, c: usize, lambda: f64) {
        let limit = JOIN * (self.octets[c / LANES].distance[c % LANES] - lambda);
        for at in (0..self.clusters[c].members.len()).rev() {
            let i = self.clusters[c].members[at] as usize;
            if !(self.all[i].offset.abs() <= limit) {
                let distance = self.distance(i);
                self.leave(i);
                self.settle(i, distance, lambda);
            }
        }
        let (mut radius, mut heaviest, mut watch) = (0.0f64, 0.0f64, f64::NEG_INFINITY);
        for &i in &self.clusters[c].members {
            let i = i as usize;
            radius = radius.max(self.all[i].offset.abs());
            heaviest = heaviest.max(self.charge(i));
            watch = watch.max(self.excess(i));
        }
        (self.clusters[c].heaviest, self.clusters[c].watch) = (heaviest, watch);
        let (octet, j) = (&mut self.octets[c / LANES], c % LANES);
        octet.radius[j] = radius;
        let scale = power_above(LIMIT * (octet.distance[j] - lambda));
        if octet.scale[j] > scale && octet.distance[j] < f64::INFINITY {
            octet.scale[j] = scale;
            self.clusters[c].moments = Moments::ZERO;
            for at in 0..self.clusters[c].members.len() {
                self.add(c, self.clusters[c].members[at] as usize, 1.0);
            }
        }
    }

    /// The largest lambda for which no member of cluster `c` comes nearer than `nearest` times its charge.
    pub fn slack(&self, c: usize, nearest: f64) -> f64 {
        let slack = |i: &u32| self.distance(*i as usize) - nearest * self.charge(*i as usize);
        self.clusters[c].members.iter().map(slack).fold(f64::INFINITY, f64::min)
    }

    /// How far `i` lies above the place where it raises an alarm, seen from the centre of its cluster.
    fn excess(&self, i: usize) -> f64 {
        self.all[i].offset - self.all[i].alarm
    }

    /// Sets the distance above which `i` raises an alarm.
    pub fn set_alarm(&mut self, i: usize, distance: f64) {
        self.all[i].alarm = distance;
        let (excess, home) = (self.excess(i), self.all[i].home as usize);
        if let Some(cluster) = self.clusters.get_mut(home) {
            cluster.watch = cluster.watch.max(excess);
        }
    }

    /// Shows every base that is beyond the distance of its alarm, or so near that rounding decides.
    pub fn alarmed(&mut self, mut show: impl FnMut(usize)) {
        for c in 0..self.clusters.len() {
            let distance = self.octets[c / LANES].distance[c % LANES];
            let close = -1e-9 * distance;
            if self.clusters[c].members.is_empty() || !(distance + self.clusters[c].watch > close) {
                continue;
            }
            let mut watch = f64::NEG_INFINITY;
            for &i in &self.clusters[c].members {
                let excess = self.excess(i as usize);
                watch = watch.max(excess);
                if distance + excess > close {
                    show(i as usize);
                }
            }
            self.clusters[c].watch = watch;
        }
    }

    /// Takes `i` out of its cluster.
    pub fn leave(&mut self, i: usize) {
        let (c, at) = (self.all[i].home as usize, self.all[i].slot as usize);
        self.all[i].home = NOWHERE;
        let members = &mut self.clusters[c].members;
        members.swap_remove(at);
        if let Some(&moved) = members.get(at) {
            self.all[moved as usize].slot = at as u32;
        }
        self.add(c, i, -1.0);
        let cluster = &mut self.clusters[c];
        if cluster.members.is_empty() {
            // Its moments are exactly zero.
            (cluster.heaviest, cluster.watch) = (0.0, f64::NEG_INFINITY);
            let (octet, j) = (&mut self.octets[c / LANES], c % LANES);
            (octet.high[j], octet.low[j], octet.distance[j]) = (f64::INFINITY, 0.0, f64::INFINITY);
            (octet.radius[j], octet.scale[j], octet.mass[j]) = (0.0, 0.0, 0.0);
        }
    }

    /// Where `i` is: its cluster, the centre of that, and the offset from there.
    #[inline]
    pub fn seat(&self, i: usize) -> Seat {
        let Charge { home, offset, .. } = self.all[i];
        let (octet, j) = (&self.octets[home as usize / LANES], home as usize % LANES);
        Seat { cluster: home as usize, centre: Wide(octet.high[j], octet.low[j]), offset }
    }

    /// Puts `i`, which is nowhere, at `distance` from L: to `seat`, where its cluster is still there and may hold it, else as
    /// [`settle`](Self::settle) does.
    #[inline]
    pub fn resettle(&mut self, i: usize, seat: Seat, distance: f64) {
        let (octet, j) = (&self.octets[seat.cluster / LANES], seat.cluster % LANES);
        let same = seat.centre == Wide(octet.high[j], octet.low[j]);
        if same && seat.offset.abs() <= octet.scale[j].min(STAY * octet.distance[j]) {
            self.enter(i, seat.cluster, seat.offset);
        } else {
            self.settle(i, distance, 0.0);
        }
    }

    /// Puts `i`, which is nowhere, at `distance` from L: into the nearest cluster that may hold it, seen from L + lambda, or
    /// into a new one.
    pub fn settle(&mut self, i: usize, distance: f64, lambda: f64) {
        let mut best = (f64::INFINITY, 0);
        for (o, octet) in self.octets.iter().enumerate() {
            for j in 0..LANES {
                let gap = (octet.distance[j] - distance).abs();
                if gap < best.0 && gap <= octet.scale[j].min(JOIN * (octet.distance[j] - lambda)) {
                    best = (gap, o * LANES + j);
                }
            }
        }
        let (gap, c) = best;
        if gap < f64::INFINITY {
            let offset = distance - self.octets[c / LANES].distance[c % LANES];
            self.enter(i, c, offset);
        } else {
            let c = self.found(distance, lambda);
            self.enter(i, c, 0.0);
        }
    }

    /// A new cluster at `distance` from L.
    fn found(&mut self, distance: f64, lambda: f64) -> usize {
        let dead = |o: &Octet| o.distance.iter().position(|d| *d == f64::INFINITY);
        let free = self.octets.iter().enumerate().find_map(|(o, octet)| Some(o * LANES + dead(octet)?));
        let c = free.unwrap_or_else(|| {
            self.reserve(self.octets.len() + 1);
            self.clusters.len() - LANES
        });
        let Wide(high, low) = self.level.plus(distance);
        let (octet, j) = (&mut self.octets[c / LANES], c % LANES);
        (octet.high[j], octet.low[j]) = (high, low);
        octet.distance[j] = Wide(high, low).minus(self.level);
        octet.scale[j] = power_above(LIMIT * (distance - lambda));
        c
    }

    /// Buffers for `octets` of clusters.
    pub fn reserve(&mut self, octets: usize) {
        self.octets.resize(octets, Octet::EMPTY);
        self.clusters.resize(octets * LANES, Cluster::EMPTY);
    }

    /// Counts `mass` to the cluster of `i`, until the next evaluation.
    #[inline]
    pub fn gain(&mut self, i: usize, mass: f64) {
        let c = self.all[i].home as usize;
        self.octets[c / LANES].mass[c % LANES] += mass;
    }

    /// Puts `i`, which is nowhere, into cluster `c`.
    fn enter(&mut self, i: usize, c: usize, offset: f64) {
        let cluster = &mut self.clusters[c];
        let own = &mut self.all[i];
        (own.home, own.slot, own.offset) = (c as u32, cluster.members.len() as u32, offset);
        let (charge, excess) = (1.0 / own.rate, own.offset - own.alarm);
        cluster.members.push(i as u32);
        cluster.heaviest = cluster.heaviest.max(charge);
        cluster.watch = cluster.watch.max(excess);
        let radius = &mut self.octets[c / LANES].radius[c % LANES];
        *radius = radius.max(offset.abs());
        self.add(c, i, 1.0);
    }

    /// Adds the powers of `i` to the moments of cluster `c`, or takes them away.
    fn add(&mut self, c: usize, i: usize, sign: f64) {
        let charge = sign * self.charge(i);
        let (octet, j) = (&mut self.octets[c / LANES], c % LANES);
        let moments = &mut self.clusters[c].moments;
        moments.add(charge, self.all[i].offset / octet.scale[j], &self.grid);
        for k in 0..TERMS {
            octet.sums[k][j] = moments.get(k, &self.grid);
        }
    }

    /// Sums all moments, on a grid for the rates that there are.
    pub fn sum_afresh(&mut self) {
        self.grid = Grid::of(&self.all);
        for cluster in &mut self.clusters {
            cluster.moments = Moments::ZERO;
        }
        for i in 0..self.all.len() {
            if self.is_there(i) {
                self.add(self.all[i].home as usize, i, 1.0);
            }
        }
    }

    /// Moves the level and every place by `by`.
    #[cfg(test)]
    pub fn shift(&mut self, by: f64) {
        self.level = self.level.plus(by);
        for octet in &mut self.octets {
            for j in 0..LANES {
                let Wide(high, low) = Wide(octet.high[j], octet.low[j]).plus(by);
                if high.is_finite() {
                    (octet.high[j], octet.low[j]) = (high, low);
                }
            }
        }
    }
}
