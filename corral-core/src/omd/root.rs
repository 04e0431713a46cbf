//! The one equation behind every step with the log barrier and one rate for all.

use super::{OmdError, OmdParams};

/// Finds the number s, left of every place a_i, with sum_i 1/(a_i - s) = 1, and writes the distances a_i - s in their place:
/// the inverse probabilities of the next round. An infinite place counts for nothing.
///
/// With M finite places the root lies in [min a - M, min a - 1]: at the right end the nearest place alone gives 1, at the
/// left end none gives more than 1/M. Newton's method on 1/F - 1, which is nearly linear, kept inside by bisection
/// (docs/step.md).
///
/// # Errors
/// There is no finite place, one is NaN, or the sum did not come to 1; the places are as they were.
pub fn settle(places: &mut [f64], params: &OmdParams) -> Result<(), OmdError> {
    let (mut least, mut count) = (f64::INFINITY, 0.0);
    for &place in &*places {
        if place.is_nan() || place == f64::NEG_INFINITY {
            return Err(OmdError::Sum(f64::NAN));
        }
        if place < f64::INFINITY {
            least = least.min(place);
            count += 1.0;
        }
    }
    if count == 0.0 {
        return Err(OmdError::Empty);
    }
    // Places are taken relative to the nearest one: what is added to all of them costs no digits.
    let (mut low, mut high) = (-count, -1.0);
    let mut at = high;
    let mut residual = f64::INFINITY;
    for _ in 0..params.iterations {
        let (sum, slope) = places.iter().fold((0.0, 0.0), |(sum, slope), place| {
            let q = 1.0 / ((place - least) - at);
            (sum + q, slope + q * q)
        });
        residual = sum - 1.0;
        if residual.abs() <= params.tolerance {
            places.iter_mut().for_each(|place| *place = (*place - least) - at);
            return Ok(());
        }
        if residual > 0.0 {
            high = at
        } else {
            low = at
        }
        let next = at - residual * sum / slope;
        at = if next > low && next < high { next } else { 0.5 * (low + high) };
        if high - low <= f64::EPSILON * count {
            break;
        }
    }
    Err(OmdError::Residual { residual: residual.abs(), iterations: params.iterations })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_one_left_of_every_place() {
        let far = f64::INFINITY;
        for places in [
            vec![7.0],
            vec![2.0, 2.0],
            vec![-3.0, 5.0, 1e6, far],
            vec![1e12, 1e12 + 700.0, 2e15],
            vec![1e9 + 0.5, 1e9, 1e9 + 3.0],
            (0..1000).map(|i| f64::from(i) * 0.01).collect(),
        ] {
            let mut found = places.clone();
            settle(&mut found, &OmdParams::default()).unwrap();
            let sum: f64 = found.iter().map(|w| 1.0 / w).sum();
            assert!(
                (sum - 1.0).abs() <= 1e-12 && found.iter().all(|w| *w >= 1.0),
                "{places:?}: {found:?}, {sum}"
            );
        }
        let mut one = [3.0, far];
        assert_eq!((settle(&mut one, &OmdParams::default()), one), (Ok(()), [1.0, far]));
        assert!(settle(&mut [f64::NAN, 1.0], &OmdParams::default()).is_err());
        assert_eq!(settle(&mut [far], &OmdParams::default()), Err(OmdError::Empty));
    }
}
