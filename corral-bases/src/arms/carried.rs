//! The probability with which each of several independent numbers is the lowest, carried along as their laws change one by one.
//!
//! P(a) is the integral of f_a prod_{b != a} S_b, S = 1 - F. Densities f and survival functions S are kept at the nodes of
//! Gauss and Legendre's rule on panels. Where one more whole loss or gain is counted, with s the logistic function,
//!
//! ```text
//! a -> a + 1:   S <- S + f/a,   f <- f s (a + b)/a
//! b -> b + 1:   S <- S - f/b,   f <- f (1 - s) (a + b)/b
//! ```
//!
//! (the recurrences of the incomplete beta function: in logits its term x^a (1 - x)^b/B(a, b) is the density itself). For any
//! other change f and S of that number are computed anew. Products of S are kept in a tree, so that one P(a) needs
//! log K of them. The panels are laid anew when they have become too wide for a law, or a law has left them.
//!
//! The answer depends on the changes alone, not on when it was asked for: panels, the law of each number when it was last
//! computed anew and the whole changes since are saved, and the tables follow from them bit for bit.

use std::cell::RefCell;

use crate::law::{Law, Node, Span};
use crate::prelude::*;
use crate::quadrature::{NODES, QUADRATURE};
use crate::winner::FLOOR;

/// How many deviations of a law its panels are wide when they are laid, and at most.
const LAID: f64 = 2.4;
const WIDEST: f64 = 3.4;
/// How many deviations of a law must lie on its panels, and how many do when they are laid.
const REACH: f64 = 6.7;
const WIDE_REACH: f64 = 8.5;
/// A law is computed anew when its deviation has shrunk by this.
const SHRUNK: f64 = 1.0 / 1.43;
/// Laws that need more panels are not carried.
const MOST_PANELS: usize = 64;

/// Numbers at the nodes of a panel.
type Panel = [f64; NODES];

/// Independent numbers, of which the lowest wins.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Carried {
    /// The ends of the panels, in order; empty where there would be too many.
    edges: Vec<f64>,
    tracks: Vec<Track>,
    /// Where the tracks are on the panels.
    #[serde(skip)]
    places: Vec<Place>,
    #[serde(skip)]
    spans: Vec<Span>,
    /// A number that is surely below the last edge.
    #[serde(skip)]
    leader: usize,
    #[serde(skip)]
    tables: RefCell<Tables>,
}

/// How a number came to its law.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Track {
    /// The law when it was last computed anew.
    anchor: Law,
    /// The whole changes since, after a leading 1: losses are 1, gains 0.
    path: u64,
}

/// The panels on which a number may be, from `first` to before `end`.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    first: usize,
    end: usize,
    from: f64,
    to: f64,
    /// The width of the widest of them.
    widest: f64,
    /// The deviation of the law.
    scale: f64,
}

/// What follows from the rest; filled as far as it is asked for.
#[derive(Debug, Clone, Default)]
struct Tables {
    /// Whether the nodes are those of the edges.
    laid: bool,
    nodes: Vec<[Node; NODES]>,
    weights: Vec<Panel>,
    shares: Vec<Panel>,
    rests: Vec<Panel>,
    /// f of each number, on all panels.
    densities: Vec<Panel>,
    /// A tree of products: row K + a is S of the number a, row i the product of rows 2 i and 2 i + 1.
    products: Vec<Panel>,
    /// The law and the path of each number that the tables have; path 0: none.
    have: Vec<(Law, u64)>,
    /// The numbers of which they may not have the last.
    behind: Vec<u32>,
    answer: Option<(usize, f64)>,
}

impl Track {
    fn new(anchor: Law) -> Self {
        Self { anchor, path: 1 }
    }

    fn steps(path: u64) -> u32 {
        63 - path.leading_zeros()
    }
}

impl Carried {
    /// `arms` numbers; `None` where they have no laws of their own.
    pub fn new(arms: usize, law: impl Fn(usize) -> Option<Law>) -> Option<Self> {
        let tracks = (0..arms).map(|arm| law(arm).map(Track::new)).collect::<Option<_>>()?;
        let (edges, places, spans) = (Vec::new(), Vec::new(), Vec::new());
        let mut fresh = Self { edges, tracks, places, spans, leader: 0, tables: RefCell::default() };
        fresh.lay();
        Some(fresh)
    }

    /// The number `arm` has another law now, by one whole loss (`Some(true)`) or gain (`Some(false)`), or anyhow. `law` gives
    /// the present law of each.
    pub fn changed(&mut self, arm: usize, whole: Option<bool>, law: impl Fn(usize) -> Option<Law>) {
        let Some(now) = law(arm) else { return };
        let (span, place) = (now.span(REACH), self.places[arm]);
        let track = &mut self.tracks[arm];
        self.tables.get_mut().outdate(arm);
        let inside =
            span.from >= place.from && span.to.min(self.edges.last().copied().unwrap_or(0.0)) <= place.to;
        match whole {
            Some(loss) if track.path.leading_zeros() > 0 && inside && span.scale >= SHRUNK * place.scale => {
                track.path = track.path << 1 | u64::from(loss);
            }
            _ => {
                *track = Track::new(now);
                self.places[arm] = Place::new(&now.span(WIDE_REACH), &self.edges);
                self.tables.get_mut().have[arm].1 = 0;
            }
        }
        if !self.holds(arm, &span, &law) {
            for (arm, track) in self.tracks.iter_mut().enumerate() {
                *track = Track::new(law(arm).unwrap_or(track.anchor));
            }
            self.lay();
        }
    }

    /// Whether the panels can carry on with the law of `arm`.
    fn holds(&mut self, arm: usize, span: &Span, law: impl Fn(usize) -> Option<Law>) -> bool {
        let (Some(low), Some(high)) = (self.edges.first(), self.edges.last()) else { return false };
        let wide_enough = span.from >= *low && self.places[arm].widest <= WIDEST * span.scale;
        if wide_enough && arm == self.leader && span.to > *high {
            let below = |arm: &usize| law(*arm).is_some_and(|law| law.span(REACH).to <= *high);
            match (0..self.tracks.len()).find(below) {
                Some(leader) => self.leader = leader,
                None => return false,
            }
        }
        wide_enough
    }

    /// Lays panels for the anchors.
    fn lay(&mut self) {
        let Self { edges, tracks, places, spans, .. } = self;
        edges.clear();
        spans.clear();
        spans.extend(tracks.iter().map(|track| track.anchor.span(WIDE_REACH)));
        let low = spans.iter().map(|span| span.from).fold(f64::INFINITY, f64::min);
        let high = spans.iter().map(|span| span.to).fold(f64::INFINITY, f64::min);
        if low < high && !tracks.iter().any(|track| track.anchor.is_certain()) {
            edges.push(low);
            let mut x = low;
            while x < high && edges.len() <= MOST_PANELS {
                x += spans.iter().map(|span| span.stride(x, LAID)).fold(high - x, f64::min);
                edges.push(x);
            }
            if x < high {
                edges.clear();
            }
        }
        places.clear();
        places.extend(spans.iter().map(|span| Place::new(span, edges)));
        self.leader = self.find_leader();
        self.tables.get_mut().clear(self.tracks.len());
    }

    fn find_leader(&self) -> usize {
        let high = self.edges.last().copied().unwrap_or(0.0);
        self.tracks.iter().position(|t| t.law().span(REACH).to <= high).unwrap_or(0)
    }

    /// The probability with which the number `arm` is the lowest; `None` where they are not carried.
    pub fn lowest(&self, arm: usize) -> Option<f64> {
        if self.edges.is_empty() {
            return None;
        }
        let mut tables = self.tables.try_borrow_mut().ok()?;
        tables.catch_up(self);
        let answer = tables.answer.filter(|(of, _)| *of == arm).map(|(_, p)| p);
        let p = answer.unwrap_or_else(|| tables.integrate(arm, &self.places[arm]));
        tables.answer = Some((arm, p));
        Some(p)
    }

    /// Checks what was read back against the present laws, and fills what was not written.
    pub fn restore(&mut self, arms: usize, law: impl Fn(usize) -> Option<Law>) -> Result<(), SnapshotError> {
        ensure(self.tracks.len() == arms, "another number of laws that are carried")?;
        let sound = self.edges.len() <= MOST_PANELS + 1 && self.edges.is_sorted_by(|a, b| a < b);
        check_numbers("panels", &self.edges, self.edges.len())?;
        ensure(sound && self.edges.len() != 1, "panels that are not in order")?;
        ensure(
            (0..arms).all(|arm| self.tracks[arm].path > 0 && Some(self.tracks[arm].law()) == law(arm)),
            "laws that are not those of the posterior",
        )?;
        let place = |t: &Track| Place::new(&t.anchor.span(WIDE_REACH), &self.edges);
        self.places = self.tracks.iter().map(place).collect();
        self.leader = self.find_leader();
        self.tables.get_mut().clear(arms);
        Ok(())
    }
}

impl Track {
    /// The present law.
    fn law(&self) -> Law {
        (0..Self::steps(self.path))
            .rev()
            .fold(self.anchor, |law, step| count(law, self.path >> step & 1 == 1).0)
    }
}

/// The law after one more whole loss or gain, 1/a or -1/b, and (a + b)/a or (a + b)/b.
#[inline]
fn count(law: Law, loss: bool) -> (Law, f64, f64) {
    match law {
        Law::Beta { a, b } if loss => (Law::Beta { a: a + 1.0, b }, 1.0 / a, (a + b) / a),
        Law::Beta { a, b } => (Law::Beta { a, b: b + 1.0 }, -1.0 / b, (a + b) / b),
        // Always computed anew.
        Law::Normal { .. } => (law, 0.0, 1.0),
    }
}

impl Place {
    fn new(span: &Span, edges: &[f64]) -> Self {
        let (Some(last), panels) = (edges.last(), edges.len().saturating_sub(1)) else {
            return Self::default();
        };
        let first = edges[1..].partition_point(|to| *to <= span.from);
        let end = edges[..panels].partition_point(|from| *from < span.to).max(first);
        let widest = edges[first..=end].windows(2).map(|e| e[1] - e[0]).fold(0.0, f64::max);
        let from = edges[first].min(*last);
        Self { first, end, from, to: edges[end], widest, scale: span.scale }
    }
}

impl Tables {
    /// Nothing is known.
    fn clear(&mut self, arms: usize) {
        self.laid = false;
        self.answer = None;
        self.behind.clear();
        self.have.clear();
        self.have.resize(arms, (Law::Beta { a: 1.0, b: 1.0 }, 0));
    }

    fn outdate(&mut self, arm: usize) {
        self.answer = None;
        if self.laid && !self.behind.contains(&(arm as u32)) {
            self.behind.push(arm as u32);
        }
    }

    /// Brings the tables to what is known of the numbers.
    fn catch_up(&mut self, carried: &Carried) {
        let Carried { tracks, places, edges, .. } = carried;
        let arms = tracks.len();
        if !self.laid {
            self.lay(edges, arms);
            for (arm, (track, place)) in tracks.iter().zip(places).enumerate() {
                self.anew(arm, track.anchor, place);
                self.step(arm, track.path, place);
            }
            (1..arms).rev().for_each(|row| self.multiply(row, 0, edges.len() - 1));
            return;
        }
        while let Some(arm) = self.behind.pop() {
            let arm = arm as usize;
            let (track, place) = (tracks[arm], &places[arm]);
            let anew = self.have[arm].1 == 0;
            if anew {
                self.anew(arm, track.anchor, place);
            }
            self.step(arm, track.path, place);
            let (from, to) = if anew { (0, edges.len() - 1) } else { (place.first, place.end) };
            let mut row = (arms + arm) / 2;
            while row > 0 {
                self.multiply(row, from, to);
                row /= 2;
            }
        }
    }

    /// Nodes for these panels.
    fn lay(&mut self, edges: &[f64], arms: usize) {
        let (rule, panels) = (&*QUADRATURE, edges.len() - 1);
        self.nodes.clear();
        self.weights.clear();
        for edge in edges.windows(2) {
            let length = edge[1] - edge[0];
            self.nodes.push(rule.nodes.map(|t| Node::new(edge[0] + length * t)));
            self.weights.push(rule.weights.map(|w| length * w));
        }
        self.shares.clear();
        self.shares.extend(self.nodes.iter().map(|panel| panel.map(|node| node.ln_share.exp())));
        self.rests.clear();
        self.rests.extend(self.nodes.iter().map(|panel| panel.map(|node| node.ln_rest.exp())));
        self.densities.resize(arms * panels, [0.0; NODES]);
        self.products.resize(2 * arms * panels, [0.0; NODES]);
        self.laid = true;
    }

    /// Computes f and S of a number from its law.
    fn anew(&mut self, arm: usize, law: Law, place: &Place) {
        let (rule, panels, arms) = (&*QUADRATURE, self.nodes.len(), self.have.len());
        let densities = &mut self.densities[arm * panels..][..panels];
        let survivals = &mut self.products[(arms + arm) * panels..][..panels];
        densities.fill([0.0; NODES]);
        survivals[..place.first].fill([1.0; NODES]);
        survivals[place.end..].fill([0.0; NODES]);
        let (constant, mut above) = (law.log_constant(), 1.0);
        for at in place.first..place.end {
            for (f, node) in densities[at].iter_mut().zip(&self.nodes[at]) {
                *f = law.density(constant, node);
            }
            // The panel's length: the weights of the rule sum to 1.
            let length: f64 = self.weights[at].iter().sum();
            for (s, row) in survivals[at].iter_mut().zip(&rule.partial) {
                *s = above - length * row.iter().zip(&densities[at]).map(|(w, f)| w * f).sum::<f64>();
            }
            above -= self.weights[at].iter().zip(&densities[at]).map(|(w, f)| w * f).sum::<f64>();
        }
        self.have[arm] = (law, 1);
    }

    /// Follows the path of a number from where the tables are.
    fn step(&mut self, arm: usize, path: u64, place: &Place) {
        let (panels, arms) = (self.nodes.len(), self.have.len());
        let (mut law, known) = self.have[arm];
        let (from, to) = (place.first, place.end);
        let densities = &mut self.densities[arm * panels..][from..to];
        let survivals = &mut self.products[(arms + arm) * panels..][from..to];
        for step in (0..Track::steps(path) - Track::steps(known)).rev() {
            let loss = path >> step & 1 == 1;
            let (next, part, factor) = count(law, loss);
            let shares = if loss { &self.shares[from..to] } else { &self.rests[from..to] };
            for ((f, s), share) in densities.iter_mut().zip(survivals.iter_mut()).zip(shares) {
                for i in 0..NODES {
                    s[i] += part * f[i];
                    f[i] *= factor * share[i];
                }
            }
            law = next;
        }
        self.have[arm] = (law, path);
    }

    /// One row of the tree, on the panels `from` to before `to`.
    fn multiply(&mut self, row: usize, from: usize, to: usize) {
        let panels = self.nodes.len();
        let (above, below) = self.products.split_at_mut(2 * row * panels);
        let (left, right) = below[..2 * panels].split_at(panels);
        let out = &mut above[row * panels..][from..to];
        for ((out, a), b) in out.iter_mut().zip(&left[from..to]).zip(&right[from..to]) {
            for i in 0..NODES {
                out[i] = a[i] * b[i];
            }
        }
    }

    /// The integral of f_a prod_{b != a} S_b.
    fn integrate(&self, arm: usize, place: &Place) -> f64 {
        let (panels, arms) = (self.nodes.len(), self.have.len());
        let mut total = [0.0; NODES];
        for at in place.first..place.end {
            let (weight, density) = (&self.weights[at], &self.densities[arm * panels + at]);
            let mut part: Panel = std::array::from_fn(|i| weight[i] * density[i]);
            let mut row = arms + arm;
            while row > 1 {
                let other = &self.products[(row ^ 1) * panels + at];
                for i in 0..NODES {
                    part[i] *= other[i];
                }
                row /= 2;
            }
            for i in 0..NODES {
                total[i] += part[i];
            }
        }
        total.iter().sum::<f64>().clamp(FLOOR, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corral_core::uniform;
    use rand::SeedableRng;
    use rand_pcg::Pcg64Dxsm;

    /// All probabilities by panels of a quarter of the narrowest deviation.
    fn fine(laws: &[Law]) -> Vec<f64> {
        let spans: Vec<Span> = laws.iter().map(|law| law.span(8.5)).collect();
        let high = spans.iter().map(|s| s.to).fold(f64::INFINITY, f64::min);
        let mut x = spans.iter().map(|s| s.from).fold(f64::INFINITY, f64::min);
        let (mut below, mut won) = (vec![0.0; laws.len()], vec![0.0; laws.len()]);
        while x < high {
            let length = spans.iter().map(|s| s.stride(x, 0.25).min(0.5)).fold(high - x, f64::min);
            let nodes = QUADRATURE.nodes.map(|t| Node::new(x + length * t));
            let densities: Vec<Panel> = laws
                .iter()
                .map(|law| nodes.map(|node| length * law.density(law.log_constant(), &node)))
                .collect();
            let weighted = |row: &Panel, f: &Panel| row.iter().zip(f).map(|(w, f)| w * f).sum::<f64>();
            for i in 0..NODES {
                let survivals: Vec<f64> = (0..laws.len())
                    .map(|b| 1.0 - below[b] - weighted(&QUADRATURE.partial[i], &densities[b]))
                    .collect();
                for (a, won) in won.iter_mut().enumerate() {
                    let others: f64 = (0..laws.len()).filter(|b| *b != a).map(|b| survivals[b]).product();
                    *won += QUADRATURE.weights[i] * densities[a][i] * others;
                }
            }
            for (below, f) in below.iter_mut().zip(&densities) {
                *below += weighted(&QUADRATURE.weights, f);
            }
            x += length;
        }
        won
    }

    /// The largest error of all probabilities.
    fn error(carried: &Carried, laws: &[Law]) -> f64 {
        let off = |(arm, p): (usize, f64)| (carried.lowest(arm).unwrap() - p).abs();
        fine(laws).into_iter().enumerate().map(off).fold(0.0, f64::max)
    }

    /// Numbers whose laws change at random, as those of arms do that are played by Thompson sampling: mostly the best.
    struct World {
        rng: Pcg64Dxsm,
        laws: Vec<Law>,
        /// The means of the arms are 0.3 to 0.3 + gap.
        gap: f64,
        /// How many changes are not whole.
        parts: f64,
    }

    impl World {
        fn new(laws: Vec<Law>, gap: f64, parts: f64) -> Self {
            Self { rng: Pcg64Dxsm::seed_from_u64(laws.len() as u64), laws, gap, parts }
        }

        fn betas(arms: usize, gap: f64, parts: f64) -> Self {
            Self::new(vec![Law::Beta { a: 1.0, b: 1.0 }; arms], gap, parts)
        }

        fn carried(&self) -> Carried {
            Carried::new(self.laws.len(), |arm| Some(self.laws[arm])).unwrap()
        }

        /// Changes the law of one number; which, and how.
        fn change(&mut self, round: usize) -> (usize, Option<bool>) {
            let arms = self.laws.len() as f64;
            let any = uniform(&mut self.rng) < 20.0 * arms / (20.0 * arms + round as f64);
            let arm = if any { (uniform(&mut self.rng) * arms) as usize } else { 0 };
            let loss = uniform(&mut self.rng) < 0.3 + self.gap * arm as f64 / arms;
            let part = uniform(&mut self.rng) < self.parts;
            let cost = if part { uniform(&mut self.rng) } else { f64::from(loss) };
            match &mut self.laws[arm] {
                Law::Beta { a, b } => (*a, *b) = (*a + cost, *b + (1.0 - cost)),
                Law::Normal { mean, deviation } => {
                    let precision = 1.0 / (*deviation * *deviation);
                    *mean = (precision * *mean + 4.0 * cost) / (precision + 4.0);
                    *deviation = (1.0 / (precision + 4.0)).sqrt();
                    return (arm, None);
                }
            }
            (arm, (!part).then_some(loss))
        }

        fn play(&mut self, carried: &mut Carried, round: usize) {
            let (arm, whole) = self.change(round);
            carried.changed(arm, whole, |arm| Some(self.laws[arm]));
        }
    }

    /// The largest error at many moments of a run, and how often panels were laid.
    fn run(mut world: World, rounds: usize) -> (f64, usize) {
        let mut carried = world.carried();
        let (mut worst, mut laid) = (0.0, 0);
        for round in 0..rounds {
            let before = carried.edges.clone();
            world.play(&mut carried, round);
            laid += usize::from(carried.edges != before);
            if round < 20 || round % (rounds / 20) == 0 {
                worst = error(&carried, &world.laws).max(worst);
            }
        }
        (worst, laid)
    }

    #[test]
    fn what_is_carried_agrees_with_a_fine_quadrature() {
        let long = if std::env::var_os("CORRAL_SLOW").is_some() { 50 } else { 1 };
        for (arms, rounds) in [(1, 300), (2, 20_000), (5, 20_000), (20, 5_000), (100, 1_500)] {
            for gap in [0.0, 0.1, 0.6] {
                let (worst, laid) = run(World::betas(arms, gap, 0.0), long * rounds);
                assert!(worst < 1e-10, "{arms} arms, gap {gap}: {worst:e}");
                assert!(laid < 40, "{arms} arms, gap {gap}: laid {laid} times");
            }
        }
    }

    #[test]
    fn losses_in_parts_other_priors_and_normal_numbers_are_carried_too() {
        for (gap, parts) in [(0.1, 0.2), (0.6, 1.0)] {
            let (worst, _) = run(World::betas(4, gap, parts), 2_000);
            assert!(worst < 1e-10, "parts {parts}: {worst:e}");
            let odd = [(0.3, 2.0), (5.5, 0.2), (700.0, 900.0), (1.0, 1e4)].map(|(a, b)| Law::Beta { a, b });
            let (worst, _) = run(World::new(odd.to_vec(), gap, parts), 2_000);
            assert!(worst < 1e-10, "odd priors, parts {parts}: {worst:e}");
            let normal = [(0.5, 0.2), (0.4, 0.01), (-3.0, 2.0), (0.45, 1.0)];
            let laws = normal.map(|(mean, deviation)| Law::Normal { mean, deviation }).to_vec();
            let (worst, _) = run(World::new(laws, gap, parts), 2_000);
            assert!(worst < 1e-10, "normal numbers: {worst:e}");
        }
    }

    #[test]
    fn the_answer_depends_on_the_changes_alone() {
        // One is asked in every round, one rarely, one is saved and read back now and then: the same bits.
        let bits = |carried: &Carried, arm| carried.lowest(arm).unwrap().to_bits();
        let mut world = World::betas(4, 0.2, 0.02);
        let (mut often, mut rarely, mut saved) = (world.carried(), world.carried(), world.carried());
        for round in 0..6_000 {
            let (arm, whole) = world.change(round);
            for carried in [&mut often, &mut rarely, &mut saved] {
                carried.changed(arm, whole, |arm| Some(world.laws[arm]));
            }
            let asked = round % 4;
            let p = bits(&often, asked);
            if round % 97 == 0 {
                assert_eq!(bits(&rarely, asked), p, "round {round}");
                assert_eq!(seal("", &(), &rarely), seal("", &(), &often));
            }
            if round % 31 == 0 {
                saved = reopen("", &(), &seal("", &(), &saved)).unwrap();
                saved.restore(4, |arm| Some(world.laws[arm])).unwrap();
            }
            if round % 7 == 0 {
                assert_eq!(bits(&saved, asked), p, "round {round}");
            }
        }
    }

    #[test]
    fn what_no_changes_can_lead_to_is_refused() {
        let mut world = World::betas(3, 0.2, 0.0);
        let mut carried = world.carried();
        (0..50).for_each(|round| world.play(&mut carried, round));
        let law = |arm: usize| Some(world.laws[arm]);
        assert!(carried.clone().restore(3, law).is_ok());
        let spoilers: [fn(&mut Carried); 6] = [
            |c| c.tracks[1].path ^= 1,
            |c| c.tracks[1].path = 0,
            |c| c.edges[2] = f64::NAN,
            |c| c.edges.swap(1, 2),
            |c| c.edges.truncate(1),
            |c| c.tracks.truncate(2),
        ];
        for (at, spoil) in spoilers.iter().enumerate() {
            let mut spoilt = carried.clone();
            spoil(&mut spoilt);
            assert!(spoilt.restore(3, law).is_err(), "{at}");
        }
    }

    #[test]
    fn laws_that_need_too_many_panels_are_not_carried() {
        let laws = [Law::Beta { a: 1e-6, b: 1e-6 }, Law::Beta { a: 3.0, b: 4.0 }];
        let mut carried = Carried::new(2, |arm| Some(laws[arm])).unwrap();
        assert_eq!(carried.lowest(0), None);
        let later = [Law::Beta { a: 1.0, b: 2.0 }, laws[1]];
        carried.changed(0, None, |arm| Some(later[arm]));
        assert!(error(&carried, &later) < 1e-10);
    }
}
