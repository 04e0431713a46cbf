//! Estimators that are functions of a few sums: IPS, SNIPS, clipped, Cressie-Read.

use crate::fixed_time::{Estimate, Likelihood, Ratio};

/// Sums over the rows that a policy is valued by. c = 1/keep counts the decisions that a row stands for.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sums {
    rows: u64,
    plain: Moments,
    clipped: Moments,
    cw2: f64,
    cr: f64,
    cw2r: f64,
    w_max: f64,
    cw_max: f64,
}

/// Sums of weights w and of weighted rewards; those with c^2 are for variances.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Moments {
    c: f64,
    cw: f64,
    cwr: f64,
    c2: f64,
    c2w: f64,
    c2wr: f64,
    c2w2: f64,
    c2w2r: f64,
    c2w2r2: f64,
}

impl Moments {
    fn add(&mut self, w: f64, r: f64, c: f64) {
        let (c2, wr) = (c * c, w * r);
        self.c += c;
        self.cw += c * w;
        self.cwr += c * wr;
        self.c2 += c2;
        self.c2w += c2 * w;
        self.c2wr += c2 * wr;
        self.c2w2 += c2 * w * w;
        self.c2w2r += c2 * w * wr;
        self.c2w2r2 += c2 * wr * wr;
    }

    /// The mean of w r.
    fn earned(&self) -> Estimate {
        let v = self.cwr / self.c;
        let squares = self.c2w2r2 - 2.0 * v * self.c2wr + v * v * self.c2;
        Estimate { value: v, error: root(squares) / self.c }
    }

    /// The mean of w (1 - r).
    fn lost(&self) -> Estimate {
        let v = (self.cw - self.cwr) / self.c;
        let squares = self.c2w2 - 2.0 * self.c2w2r + self.c2w2r2;
        let squares = squares - 2.0 * v * (self.c2w - self.c2wr) + v * v * self.c2;
        Estimate { value: v, error: root(squares) / self.c }
    }
}

impl Sums {
    /// Adds a row: weight pi/p, reward in [0, 1], how many decisions it stands for, and where weights are clipped.
    pub fn add(&mut self, w: f64, r: f64, c: f64, clip: f64) {
        self.rows += 1;
        self.plain.add(w, r, c);
        self.clipped.add(w.min(clip), r, c);
        self.cw2 += c * w * w;
        self.cr += c * r;
        self.cw2r += c * w * w * r;
        self.w_max = self.w_max.max(w);
        self.cw_max = self.cw_max.max(c * w);
    }

    /// How many rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The mean weight: 1 in the mean, where the logger plays all that the policy plays.
    pub fn mean_weight(&self) -> f64 {
        self.plain.cw / self.plain.c
    }

    /// The largest weight.
    pub fn largest_weight(&self) -> f64 {
        self.w_max
    }

    /// How many rows of the policy's own the log is worth: (sum w)^2/sum w^2 (Kish 1965).
    pub fn effective(&self) -> f64 {
        let cw = self.plain.cw;
        if cw > 0.0 { cw * cw / self.cw2 } else { 0.0 }
    }

    /// sum w r/n: unbiased.
    pub fn ips(&self) -> Estimate {
        self.plain.earned()
    }

    /// sum w (1 - r)/n: an unbiased estimate of 1 - V.
    pub(crate) fn ips_lost(&self) -> Estimate {
        self.plain.lost()
    }

    /// sum w r/sum w: biased by O(1/n), less variance.
    pub fn snips(&self) -> f64 {
        self.plain.cwr / self.plain.cw
    }

    /// What the interval of SNIPS is made of.
    pub(crate) fn ratio(&self) -> Ratio {
        let Moments { cw, cwr, c2w2, c2w2r, c2w2r2, .. } = self.plain;
        Ratio { above: cwr, below: cw, squares: [c2w2r2, c2w2r, c2w2], heaviest: self.cw_max }
    }

    /// What the interval of Cressie-Read is made of.
    pub(crate) fn likelihood(&self) -> Likelihood {
        let Moments { c: n, cw, cwr, c2w2, c2w2r, c2w2r2, .. } = self.plain;
        Likelihood { n, w: cw, wr: cwr, w2: c2w2, w2r: c2w2r, w2r2: c2w2r2 }
    }

    /// sum min(w, clip) r/n: too small where weights were clipped.
    pub fn clipped(&self) -> Estimate {
        self.clipped.earned()
    }

    /// sum min(w, clip) (1 - r)/n: too small an estimate of 1 - V.
    pub(crate) fn clipped_lost(&self) -> Estimate {
        self.clipped.lost()
    }

    /// The Cressie-Read estimate of power -2 for weights in [0, infinity) (Karampatziakis, Langford, Mineiro 2020): rows
    /// are reweighted as little as possible so that the mean weight is 1; mass that is missing has the mean reward of the
    /// log.
    pub fn cressie_read(&self) -> f64 {
        let Moments { c: n, cw, cwr, .. } = self.plain;
        // The weight of a row that was not seen: infinity where weights are missing, else 0.
        let (gamma, beta) = if cw < n {
            (-(1.0 + n) / n, 0.0)
        } else {
            let (a, b) = (cw / (1.0 + n), self.cw2 / (1.0 + n));
            let below = a * a - b;
            // All weights are alike, and there is nothing to reweight.
            if below < 0.0 { ((b - a) / below, (1.0 - a) / below) } else { (-(1.0 + n) / n, 0.0) }
        };
        let mass = |sum: f64, square: f64| (-gamma * sum - beta * square) / (1.0 + n);
        let missing = (1.0 - mass(cw, self.cw2)).max(0.0);
        mass(cwr, self.cw2r) + missing * self.cr / n
    }
}

fn root(squares: f64) -> f64 {
    squares.max(0.0).sqrt()
}
