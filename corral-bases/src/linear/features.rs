//! A base's own representation of the context.

use std::cell::RefCell;
use std::f64::consts::TAU;

use corral_core::{box_muller, forward};

use crate::prelude::*;
use crate::regression::dot;
use crate::seeded::Seeded;

/// How a base sees the context. What is said of x holds for the shared features, and for the features of each action
/// where actions have some.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "describe", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Features {
    /// x as it is.
    #[default]
    Raw,
    /// x and a constant 1.
    Bias,
    /// x, and a 1 at the place of the finite context.
    OneHot,
    /// A constant 1, x, and all products of two features.
    Polynomial,
    /// The features `from` to `to` - 1 of x: one of several representations that a context carries side by side.
    Block {
        /// The first one, counted from 0.
        from: usize,
        /// The one after the last.
        to: usize,
    },
    /// x, and products of two different features, clipped to [-5, 5], added with random signs into `dims` buckets.
    HashedPairs {
        /// Number of buckets.
        dims: usize,
        /// Which hash.
        seed: u64,
    },
    /// Features added with random signs into `dims` buckets.
    Hashed {
        /// Number of buckets.
        dims: usize,
        /// Which hash.
        seed: u64,
    },
    /// sqrt(2/dims) cos(w x + b) with w ~ N(0, 1/bandwidth^2), b uniform: the Gaussian kernel (Rahimi and Recht 2007).
    Fourier {
        /// Number of features.
        dims: usize,
        /// Width of the kernel.
        bandwidth: f64,
        /// Which w and b.
        seed: u64,
    },
}

/// More features than this are refused.
const MOST: usize = 1 << 20;
/// Products of features are clipped to this.
const CLIP: f64 = 5.0;

/// A representation of vectors of one length.
#[derive(Debug, Clone)]
struct Map {
    kind: Features,
    input: usize,
    output: usize,
    /// Fourier: the rows w, then the phases b.
    table: Vec<f64>,
}

impl Map {
    fn new(kind: &Features, input: usize) -> Result<Self, ParamError> {
        let output = match kind {
            Features::Raw | Features::OneHot => input,
            Features::Bias => input + 1,
            Features::Polynomial => input.saturating_mul(input).saturating_add(3 * input) / 2 + 1,
            Features::Block { from, to } => {
                let found = format_args!("{from} to {to} of {input} features");
                let must = "a part of them: from < to <= their number";
                require(from < to && *to <= input, "features.block", found, must)?;
                to - from
            }
            Features::HashedPairs { dims, .. } => input.saturating_add(*dims),
            Features::Hashed { dims, .. } | Features::Fourier { dims, .. } => *dims,
        };
        let fits = output <= MOST && input.saturating_mul(output) <= 1 << 26;
        require(fits, "the number of features", output, "at most 2^20")?;
        let mut table = Vec::new();
        match kind {
            Features::Fourier { dims, bandwidth, seed } => {
                SIZE.check("features.fourier.bandwidth", bandwidth)?;
                at_least_one("features.fourier.dims", *dims)?;
                // The seed's first number is not used.
                let mut draws = Seeded(*seed);
                draws.next_u64();
                let mut normal = || box_muller(uniform(&mut draws), uniform(&mut draws));
                table.extend((0..dims * input).map(|_| normal() / bandwidth));
                table.extend((0..*dims).map(|_| uniform(&mut draws) * TAU));
            }
            Features::Hashed { dims, .. } => at_least_one("features.hashed.dims", *dims)?,
            Features::HashedPairs { dims, .. } => at_least_one("features.hashed-pairs.dims", *dims)?,
            _ => {}
        }
        Ok(Self { kind: kind.clone(), input, output, table })
    }

    /// Writes the representation of `x` at the end of `out`.
    fn push(&self, x: &[f64], out: &mut Vec<f64>) {
        match &self.kind {
            Features::Raw | Features::OneHot => out.extend_from_slice(x),
            Features::Block { from, to } => out.extend_from_slice(&x[*from..*to]),
            Features::Bias => {
                out.extend_from_slice(x);
                out.push(1.0);
            }
            Features::Polynomial => {
                out.push(1.0);
                out.extend_from_slice(x);
                for (i, a) in x.iter().enumerate() {
                    out.extend(x[..=i].iter().map(|b| a * b));
                }
            }
            Features::Hashed { dims, seed } => {
                let start = out.len();
                out.resize(start + dims, 0.0);
                for (i, value) in x.iter().enumerate() {
                    let hash = mix(seed ^ (i as u64));
                    out[start + (hash >> 1) as usize % dims] += signed(hash, *value);
                }
            }
            Features::HashedPairs { dims, seed } => {
                out.extend_from_slice(x);
                let start = out.len();
                out.resize(start + dims, 0.0);
                let pairs = (x.len() * x.len().saturating_sub(1) / 2) as f64;
                // scaled by 1/sqrt(pairs/buckets), docs/data.md#features
                let scale = 1.0 / (pairs / *dims as f64).max(1.0).sqrt();
                for i in 0..x.len() {
                    for j in 0..i {
                        let hash = mix(seed ^ mix((i * x.len() + j) as u64));
                        // NaN stays NaN, so that it is found.
                        let product = (x[i] * x[j]).clamp(-CLIP, CLIP);
                        out[start + (hash >> 1) as usize % dims] += scale * signed(hash, product);
                    }
                }
            }
            Features::Fourier { dims, .. } => {
                let (rows, phases) = self.table.split_at(dims * self.input);
                let scale = (2.0 / *dims as f64).sqrt();
                for (k, phase) in phases.iter().enumerate() {
                    let row = &rows[k * self.input..(k + 1) * self.input];
                    out.push(scale * (dot(row, x) + phase).cos());
                }
            }
        }
    }
}

/// Appends x, and the products of its features with those of the row that begins at `from`.
fn cross(x: &[f64], from: usize, out: &mut Vec<f64>) {
    let row = from..out.len();
    out.extend_from_slice(x);
    for value in x {
        for at in row.clone() {
            let product = value * out[at];
            out.push(product);
        }
    }
}

fn at_least_one(name: &'static str, value: usize) -> Result<(), ParamError> {
    if value >= 1 { Ok(()) } else { Err(ParamError::new(name, value, "at least 1")) }
}

fn signed(hash: u64, value: f64) -> f64 {
    if hash & 1 == 0 { value } else { -value }
}

/// The hash of a number.
fn mix(value: u64) -> u64 {
    Seeded(value).next_u64()
}

/// A base that sees contexts through its own representation.
#[derive(Debug, Clone)]
pub struct Featurize<B> {
    base: B,
    shared: Map,
    rows: Map,
    cells: usize,
    /// Whether rows carry the shared features, and their products with their own.
    crossed: bool,
    scratch: RefCell<Context>,
}

impl<B> Featurize<B> {
    /// Builds a base that sees the contexts of `setup` as `features`: `build` gets the world as the base will see it. `crossed`:
    /// the row z of an action becomes (z, x, all products of a feature of z and one of the shared features x).
    ///
    /// # Errors
    /// The representation cannot be built for this world, or what `build` says.
    pub fn new(
        features: &Features,
        setup: &Setup,
        crossed: bool,
        build: impl FnOnce(&Setup) -> Result<B>,
    ) -> Result<Self> {
        let shape = setup.context;
        let cells = match (features, shape.cells) {
            (Features::OneHot, Some(cells)) => cells,
            (Features::OneHot, None) => {
                let must = "for worlds with finitely many contexts";
                return Err(ParamError::new("features", "one-hot", must).into());
            }
            _ => 0,
        };
        // Actions without features stay without, and so does a world without shared features, but for the constant.
        let kind = |has: bool| if has { features } else { &Features::Raw };
        let constant = matches!(features, Features::Bias | Features::Polynomial) && shape.row_features == 0;
        let shared = Map::new(kind(shape.features > 0 || constant), shape.features)?;
        let rows = Map::new(kind(shape.row_features > 0), shape.row_features)?;
        let mut seen = setup.clone();
        seen.context.features = shared.output + cells;
        seen.context.row_features = rows.output;
        if crossed {
            let (x, z) = (seen.context.features, rows.output);
            let width = z.saturating_add(x).saturating_add(x.saturating_mul(z));
            require(width <= MOST, "the number of crossed features", width, "at most 2^20")?;
            (seen.context.features, seen.context.row_features) = (0, width);
        }
        let base = build(&seen)?;
        Ok(Self { base, shared, rows, cells, crossed, scratch: RefCell::new(Context::default()) })
    }

    fn see(&self, x: &Context, seen: &mut Context) -> Result {
        BaseError::check_count("features", x.features().len(), self.shared.input)?;
        BaseError::check_count("features per action", x.row_dim(), self.rows.input)?;
        seen.copy_from(x);
        let features = seen.features_mut();
        features.clear();
        self.shared.push(x.features(), features);
        if self.cells > 0 {
            let cell = x.cell().filter(|c| *c < self.cells).ok_or(BaseError::Context {
                what: "finite contexts",
                found: x.cell().map_or(0, |c| c + 1),
                expected: self.cells,
            })?;
            let start = features.len();
            features.resize(start + self.cells, 0.0);
            features[start + cell] = 1.0;
        }
        if self.rows.input > 0 {
            let shared = if self.crossed { std::mem::take(seen.features_mut()) } else { Vec::new() };
            let width = self.rows.output + shared.len() * (1 + self.rows.output);
            seen.refill_rows(width, |out| {
                for row in x.rows().chunks_exact(self.rows.input) {
                    let from = out.len();
                    self.rows.push(row, out);
                    cross(&shared, from, out);
                }
            });
            if self.crossed {
                // The buffer is used again.
                *seen.features_mut() = shared;
                seen.features_mut().clear();
            }
        }
        Ok(())
    }
}

impl<B: Base<Context, Arm>> Base<Context, Arm> for Featurize<B> {
    fn propose(&mut self, x: &Context, rng: &mut dyn Rng) -> Result<Proposal<Arm>> {
        self.see(x, &mut self.scratch.borrow_mut())?;
        self.base.propose(self.scratch.get_mut(), rng)
    }
    fn learn(&mut self, x: &Context, made: &Proposal<Arm>, feedback: Feedback) -> Result {
        self.see(x, &mut self.scratch.borrow_mut())?;
        self.base.learn(self.scratch.get_mut(), made, feedback)
    }
    fn likelihood(&self, x: &Context, decision: &Arm) -> Option<(f64, Memo)> {
        let mut seen = self.scratch.try_borrow_mut().ok()?;
        self.see(x, &mut seen).ok()?;
        self.base.likelihood(&seen, decision)
    }
    forward!(Base<Context, Arm>: self => self.base, except propose, learn, likelihood, extra);

    fn extra(&mut self) -> Option<&mut dyn BaseExtra<Context, Arm>> {
        Some(self)
    }
}

impl<B: Base<Context, Arm>> BaseExtra<Context, Arm> for Featurize<B> {
    fn propose_into(&mut self, x: &Context, rng: &mut dyn Rng, made: &mut Proposal<Arm>) -> Result {
        self.see(x, &mut self.scratch.borrow_mut())?;
        made.refill(&mut self.base, self.scratch.get_mut(), rng)
    }
    fn pass(&mut self, x: &Context) -> Result {
        self.see(x, &mut self.scratch.borrow_mut())?;
        self.base.extra().map_or(Ok(()), |extra| extra.pass(self.scratch.get_mut()))
    }
    forward!(BaseExtra<Context, Arm>: self => self.base, except propose_into, pass);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(kind: Features, x: &[f64]) -> Vec<f64> {
        let map = Map::new(&kind, x.len()).unwrap();
        let mut out = Vec::new();
        map.push(x, &mut out);
        assert_eq!(out.len(), map.output, "{kind:?}");
        out
    }

    #[test]
    fn representations_are_what_they_say() {
        let x = [2.0, -3.0];
        assert_eq!(map(Features::Raw, &x), x);
        assert_eq!(map(Features::Bias, &x), [2.0, -3.0, 1.0]);
        assert_eq!(map(Features::Polynomial, &x), [1.0, 2.0, -3.0, 4.0, -6.0, 9.0]);
        let hashed = map(Features::Hashed { dims: 8, seed: 1 }, &x);
        assert!((hashed.iter().map(|v| v.abs()).sum::<f64>() - 5.0).abs() < 1e-12, "{hashed:?}");
        // One product, 2 * -3, clipped to -5 in size.
        let pairs = map(Features::HashedPairs { dims: 4, seed: 1 }, &x);
        assert_eq!(&pairs[..2], &x);
        assert_eq!(pairs[2..].iter().map(|v| v.abs()).sum::<f64>(), 5.0);
    }

    #[test]
    fn a_block_is_a_part_of_the_features() {
        let x = [2.0, -3.0, 5.0];
        assert_eq!(map(Features::Block { from: 1, to: 3 }, &x), [-3.0, 5.0]);
        assert_eq!(map(Features::Block { from: 0, to: 1 }, &x), [2.0]);
        for (from, to) in [(1, 1), (2, 1), (0, 4), (3, 4)] {
            let refused = Map::new(&Features::Block { from, to }, 3).unwrap_err();
            assert!(refused.to_string().contains("of 3 features"), "{refused}");
        }
    }

    #[test]
    fn fourier_features_make_the_gaussian_kernel() {
        // <f(x), f(y)> is the mean of 20,000 bounded terms: five standard errors are 5 * sqrt(2/20,000)/sqrt(2).
        let f = |x: &[f64]| map(Features::Fourier { dims: 20_000, bandwidth: 1.5, seed: 7 }, x);
        let (x, y) = ([0.3, -0.2, 0.9], [0.1, 0.5, -0.4]);
        let square: f64 = x.iter().zip(&y).map(|(a, b): (&f64, &f64)| (a - b) * (a - b)).sum();
        let kernel = (-square / (2.0 * 1.5 * 1.5)).exp();
        let found = dot(&f(&x), &f(&y));
        assert!((found - kernel).abs() < 5.0 * (1.0f64 / 20_000.0).sqrt(), "{found} and {kernel}");
    }

    #[test]
    fn one_hot_needs_finite_contexts() {
        let refused = Featurize::new(&Features::OneHot, &Setup::arms(2, None), false, |_| Ok(()));
        assert!(refused.is_err());
    }
}
