//! A lower bound for a mean that stands still, valid at any time, by betting.

/// Bets: of each 1/12 of the money. Small ones are for long logs and heavy weights, large ones for short logs.
const BETS: usize = 12;
const LARGEST: f64 = 0.8;
/// Guesses of the mean in [0, 1]: multiples of 1/64. Between two of them the logarithm of the money is concave, so a
/// straight line between them is below it.
const GUESSES: usize = 65;
/// After how many factors the logarithm of a product is taken: 0.2^64 and 1e6^32 are far from the ends of f64.
const FOLD: u32 = 32;

/// A lower bound for the mean of X_1, X_2, ... >= 0 that all have the same mean V in [0, 1] given the past: the money of a
/// gambler who bets against the guess m, prod (1 + l (X_i - m)), is a martingale for m = V, so it reaches 1/alpha with
/// probability at most alpha, ever (Ville). Guesses at which it did are refuted (Waudby-Smith, Ramdas 2024).
///
/// ```
/// let mut bound = corral_log::Betting::default();
/// (0..1_000).for_each(|i| bound.add(f64::from(i % 2)));
/// assert!((0.4..0.5).contains(&bound.lower(0.025)));
/// ```
#[derive(Debug, Clone)]
pub struct Betting {
    /// The logarithm of the money by bet and guess, but for the last factors and for zeros.
    logs: Vec<f64>,
    /// The product of the last factors.
    products: Vec<f64>,
    factors: u32,
    zeros: u64,
}

impl Default for Betting {
    fn default() -> Self {
        Self { logs: vec![0.0; BETS * GUESSES], products: vec![1.0; BETS * GUESSES], factors: 0, zeros: 0 }
    }
}

fn bet(j: usize) -> f64 {
    LARGEST / (1u64 << j) as f64
}

fn guess(i: usize) -> f64 {
    i as f64 / (GUESSES - 1) as f64
}

impl Betting {
    /// Adds an observation, which is not negative.
    pub fn add(&mut self, x: f64) {
        if x == 0.0 {
            self.zeros += 1;
            return;
        }
        for (j, products) in self.products.chunks_exact_mut(GUESSES).enumerate() {
            // 1 + l (x - m) for m = 0, 1/64, ..., 1.
            let (first, step) = (1.0 + bet(j) * x, bet(j) / (GUESSES - 1) as f64);
            products.iter_mut().enumerate().for_each(|(i, p)| *p *= first - step * i as f64);
        }
        self.factors += 1;
        if self.factors >= FOLD || x > 1e6 {
            self.fold();
        }
    }

    fn fold(&mut self) {
        self.factors = 0;
        for (log, product) in self.logs.iter_mut().zip(&mut self.products) {
            *log += std::mem::replace(product, 1.0).ln();
        }
    }

    /// The logarithm of the money of bet `j` at guess `i`.
    fn log(&self, j: usize, i: usize) -> f64 {
        let at = j * GUESSES + i;
        self.logs[at] + self.products[at].ln() + self.zeros as f64 * (-bet(j) * guess(i)).ln_1p()
    }

    /// The largest m below which all guesses are refuted at level `alpha`; 0 where none is.
    pub fn lower(&self, alpha: f64) -> f64 {
        let needed = (1.0 / alpha).ln();
        let wealth = |logs: &mut dyn Iterator<Item = f64>| {
            let logs: [f64; BETS] = std::array::from_fn(|_| logs.next().unwrap_or(f64::NEG_INFINITY));
            log_sum_exp(&logs) - (BETS as f64).ln()
        };
        let at = |i: usize| wealth(&mut (0..BETS).map(|j| self.log(j, i)));
        // The money falls in m.
        let refuted = (0..GUESSES).take_while(|i| at(*i) >= needed).count();
        if refuted == 0 || refuted == GUESSES {
            return if refuted == 0 { 0.0 } else { 1.0 };
        }
        let between = |part: f64| {
            let line = |j| (1.0 - part) * self.log(j, refuted - 1) + part * self.log(j, refuted);
            wealth(&mut (0..BETS).map(line))
        };
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..30 {
            let middle = 0.5 * (low + high);
            if between(middle) >= needed { low = middle } else { high = middle }
        }
        guess(refuted - 1) + low / (GUESSES - 1) as f64
    }
}

/// ln(sum exp(v)).
pub(crate) fn log_sum_exp(values: &[f64]) -> f64 {
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if most == f64::NEG_INFINITY {
        return most;
    }
    most + values.iter().map(|v| (v - most).exp()).sum::<f64>().ln()
}
