//! The level at which the charges sum to what they should.

use super::FlatBarrier;
use super::clusters::Seat;
use super::moments::Sums;
use crate::omd::{OmdError, OmdInfo};

/// Newton's step ends the search where no distance moves by more than this part of itself: the error is of its square, and
/// of a few hundredths of that.
const NEAR: f64 = 5e-8;
/// Where a loss is so much larger than the distance it leads to, the sum is restored once more.
const FAR: f64 = 1e3;

/// A charge outside all clusters: that of the base whose loss this is.
#[derive(Clone, Copy)]
struct Loose {
    mass: f64,
    distance: f64,
}

/// A root: the level is at `lambda + rest`, the last evaluation was at `lambda`.
struct Root {
    lambda: f64,
    rest: f64,
    sums: Sums,
    iterations: usize,
}

impl FlatBarrier {
    /// One step with a loss in one place.
    pub(crate) fn step_one(&mut self, index: usize, loss: f64) -> Result<OmdInfo, OmdError> {
        let expected = self.len();
        if index >= expected {
            return Err(OmdError::Index { index, expected });
        }
        if !((self.rate(index) * loss).abs() <= 1e300) {
            return Err(OmdError::Loss { index, value: loss });
        }
        if loss == 0.0 || self.active == 1 || !self.charges.is_there(index) {
            return Ok(OmdInfo::default());
        }
        let push = loss / self.goal;
        let seat = self.charges.seat(index);
        let distance = self.charges.distance(index);
        let mass = self.charges.charge(index);
        self.charges.leave(index);
        let (start, low, high) = self.start(mass, distance, push);
        let loose = Loose { mass, distance: distance + push };
        let root = match self.solve(loose, start, (low, high)) {
            Ok(root) => root,
            Err(e) => {
                self.charges.resettle(index, seat, distance);
                self.weigh();
                return Err(e);
            }
        };
        let lambda = root.lambda + root.rest;
        let end = (loose.distance - root.lambda) - root.rest;
        let mut info = OmdInfo { lambda: self.goal * lambda, residual: 0.0, iterations: root.iterations };
        self.land(index, seat.pushed(push), Loose { mass, distance: end }, &root);
        if push.abs() > FAR * end {
            info.iterations += self.restore(index)?;
        }
        let (sums, rest) = (root.sums, root.rest);
        info.residual = (sums.total + (sums.slope + sums.curve * rest) * rest) / self.goal - 1.0;
        Ok(info)
    }

    /// A good start, and bounds of the root.
    fn start(&self, mass: f64, distance: f64, push: f64) -> (f64, f64, f64) {
        // No probability exceeds 1.
        let slack = distance + push - mass / self.goal;
        let (low, high) = (push.min(0.0), push.max(0.0).min(slack));
        if push > -0.5 * distance {
            // At lambda = 0 only this term differs from the last step's: Halley's step is known without an evaluation.
            let (old, new) = (1.0 / distance, 1.0 / (distance + push));
            let missing = mass * push * old * new;
            let slope = self.slope + mass * (new * new - old * old);
            let curve = self.curve + mass * (new * new * new - old * old * old);
            let lambda = missing * slope / (slope * slope + curve * missing);
            if lambda >= low && lambda <= high && lambda * lambda * (self.largest * self.slope) <= 0.25 {
                return (lambda, low, high);
            }
        }
        (if push > 0.0 { 0.0 } else { low }, low, high)
    }

    /// The root of F = goal between `low` and `high`, by Newton's method on goal/F - 1.
    fn solve(&mut self, loose: Loose, start: f64, (mut low, mut high): (f64, f64)) -> Result<Root, OmdError> {
        let mut lambda = start;
        let mut residual = f64::INFINITY;
        for iterations in 1..=self.params.iterations {
            while let Some(c) = self.charges.unseen(lambda) {
                high = high.min(self.charges.slack(c, 1.0 / self.goal));
                if lambda > high && high > low {
                    lambda = low + 0.5 * (high - low);
                } else {
                    self.charges.trim(c, lambda);
                }
            }
            let sums = self.charges.evaluate(lambda).with(loose.mass, loose.distance - lambda);
            let missing = self.goal - sums.total;
            residual = (missing / self.goal).abs();
            let rest = missing * sums.slope / (sums.slope * sums.slope + sums.curve * missing);
            if rest * rest * (self.largest * sums.slope) <= NEAR * NEAR {
                return Ok(Root { lambda, rest, sums, iterations });
            }
            if missing < 0.0 {
                high = lambda;
            } else {
                low = lambda;
            }
            let newton = lambda + missing * sums.total / (self.goal * sums.slope);
            let next = if newton > low && newton < high { newton } else { low + 0.5 * (high - low) };
            if !(next > low && next < high) {
                // The last place of lambda decides; what is left is restored from here.
                if residual <= 1e-3 {
                    return Ok(Root { lambda, rest: 0.0, sums, iterations });
                }
                break;
            }
            lambda = next;
        }
        Err(OmdError::Residual { residual, iterations: self.params.iterations })
    }

    /// Moves the level to the root, and puts `index` back: to `seat`, if that holds it.
    fn land(&mut self, index: usize, seat: Seat, loose: Loose, root: &Root) {
        let wide = self.charges.advance(root.lambda, root.rest);
        self.charges.resettle(index, seat, loose.distance);
        self.slope = root.sums.slope + 2.0 * root.sums.curve * root.rest;
        self.curve = root.sums.curve;
        if wide {
            self.charges.trim_all();
        } else {
            self.charges.gain(index, loose.mass / loose.distance);
        }
    }

    /// Restores the sum after the place of `index` was rounded coarsely.
    #[cold]
    fn restore(&mut self, index: usize) -> Result<usize, OmdError> {
        let mut spent = 0;
        for _ in 0..4 {
            let distance = self.charges.distance(index);
            let loose = Loose { mass: self.charges.charge(index), distance };
            let seat = self.charges.seat(index);
            self.charges.leave(index);
            let slack = distance - loose.mass / self.goal;
            let sums = self.charges.evaluate(0.0).with(loose.mass, distance);
            let missing = self.goal - sums.total;
            let bounds = if missing > 0.0 { (0.0, slack.max(0.0)) } else { (-distance, 0.0) };
            let root = match self.solve(loose, 0.0, bounds) {
                Ok(root) => root,
                Err(e) => {
                    self.charges.resettle(index, seat, distance);
                    self.weigh();
                    return Err(e);
                }
            };
            spent += root.iterations + 1;
            let end = (distance - root.lambda) - root.rest;
            self.land(index, seat, Loose { mass: loose.mass, distance: end }, &root);
            if (missing / self.goal).abs() <= 1e-14 {
                break;
            }
        }
        Ok(spent)
    }
}
