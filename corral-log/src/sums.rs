//! Estimators that are functions of a few sums: IPS, SNIPS, clipped, Cressie-Read, and their intervals for one look.

/// Sums over the rows that a policy is valued by. c = 1/keep counts the decisions that a row stands for.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sums {
    rows: u64,
    c: f64,
    cw: f64,
    cw2: f64,
    cr: f64,
    cwr: f64,
    cw2r: f64,
    clipped: f64,
    w_max: f64,
    // For variances: sums with c^2.
    c2: f64,
    c2w: f64,
    c2wr: f64,
    c2w2: f64,
    c2w2r: f64,
    c2w2r2: f64,
    c2_clipped: f64,
    c2_clipped2: f64,
}

/// An estimate with its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// Its standard error; NaN where it is not known.
    pub error: f64,
}

impl Sums {
    /// Adds a row: weight pi/p, reward in [0, 1], how many decisions it stands for, and where weights are clipped.
    pub fn add(&mut self, w: f64, r: f64, c: f64, clip: f64) {
        self.rows += 1;
        let (wr, clipped) = (w * r, w.min(clip) * r);
        self.c += c;
        self.cw += c * w;
        self.cw2 += c * w * w;
        self.cr += c * r;
        self.cwr += c * wr;
        self.cw2r += c * w * wr;
        self.clipped += c * clipped;
        self.w_max = self.w_max.max(w);
        let c2 = c * c;
        self.c2 += c2;
        self.c2w += c2 * w;
        self.c2wr += c2 * wr;
        self.c2w2 += c2 * w * w;
        self.c2w2r += c2 * w * wr;
        self.c2w2r2 += c2 * wr * wr;
        self.c2_clipped += c2 * clipped;
        self.c2_clipped2 += c2 * clipped * clipped;
    }

    /// How many rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The mean weight: 1 in the mean, where the logger plays all that the policy plays.
    pub fn mean_weight(&self) -> f64 {
        self.cw / self.c
    }

    /// The largest weight.
    pub fn largest_weight(&self) -> f64 {
        self.w_max
    }

    /// How many rows of the policy's own the log is worth: (sum w)^2/sum w^2 (Kish 1965).
    pub fn effective(&self) -> f64 {
        if self.cw > 0.0 { self.cw * self.cw / self.cw2 } else { 0.0 }
    }

    /// sum w r/n: unbiased.
    pub fn ips(&self) -> Estimate {
        let v = self.cwr / self.c;
        let squares = self.c2w2r2 - 2.0 * v * self.c2wr + v * v * self.c2;
        Estimate { value: v, error: root(squares) / self.c }
    }

    /// sum w r/sum w: biased by O(1/n), less variance.
    pub fn snips(&self) -> Estimate {
        let v = self.cwr / self.cw;
        let squares = self.c2w2r2 - 2.0 * v * self.c2w2r + v * v * self.c2w2;
        Estimate { value: v, error: root(squares) / self.cw }
    }

    /// sum min(w, clip) r/n: too small where weights were clipped.
    pub fn clipped(&self) -> Estimate {
        let v = self.clipped / self.c;
        let squares = self.c2_clipped2 - 2.0 * v * self.c2_clipped + v * v * self.c2;
        Estimate { value: v, error: root(squares) / self.c }
    }

    /// The Cressie-Read estimate of power -2 for weights in [0, infinity) (Karampatziakis, Langford, Mineiro 2020): rows
    /// are reweighted as little as possible so that the mean weight is 1; mass that is missing has the mean reward of the
    /// log.
    pub fn cressie_read(&self) -> Estimate {
        let n = self.c;
        // The weight of a row that was not seen: infinity where weights are missing, else 0.
        let (gamma, beta) = if self.cw < n {
            (-(1.0 + n) / n, 0.0)
        } else {
            let (a, b) = (self.cw / (1.0 + n), self.cw2 / (1.0 + n));
            let below = a * a - b;
            // All weights are alike, and there is nothing to reweight.
            if below < 0.0 { ((b - a) / below, (1.0 - a) / below) } else { (-(1.0 + n) / n, 0.0) }
        };
        let mass = |sum: f64, square: f64| (-gamma * sum - beta * square) / (1.0 + n);
        let missing = (1.0 - mass(self.cw, self.cw2)).max(0.0);
        let value = mass(self.cwr, self.cw2r) + missing * self.cr / n;
        // To first order it is the mean of w r - b (w - 1), with b the slope of w r against w.
        let mean = self.c2w / self.c2;
        let spread = self.c2w2 / self.c2 - mean * mean;
        let shared = self.c2w2r / self.c2 - mean * self.c2wr / self.c2;
        let ips = self.c2w2r2 / self.c2 - (self.c2wr / self.c2) * (self.c2wr / self.c2);
        let left = if spread > 1e-12 { ips - shared * shared / spread } else { ips };
        Estimate { value, error: root(left * self.c2) / n }
    }
}

fn root(squares: f64) -> f64 {
    squares.max(0.0).sqrt()
}

/// The z with P(|N(0, 1)| > z) = alpha.
pub(crate) fn quantile(alpha: f64) -> f64 {
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if libm::erfc(middle * std::f64::consts::FRAC_1_SQRT_2) > alpha {
            low = middle
        } else {
            high = middle
        }
    }
    0.5 * (low + high)
}
