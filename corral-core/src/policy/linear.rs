//! Linear argmax policies.

use std::hash::{Hash, Hasher};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{ParamError, require};

/// theta(x) = argmax_a b_a + <W_a, x>, ties to the lowest action. Equal when all weights are equal to the last bit,
/// where -0 counts as 0.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct Linear {
    features: usize,
    intercepts: Vec<f64>,
    weights: Vec<f64>,
}

impl Linear {
    /// One intercept and one row of `features` weights per action, rows one after the other.
    ///
    /// # Errors
    /// No action, more than 2^16, rows of another length, or a weight that is not finite.
    pub fn new(features: usize, mut intercepts: Vec<f64>, mut weights: Vec<f64>) -> Result<Self, ParamError> {
        let (actions, numbers) = (intercepts.len(), weights.len());
        require((1..=1 << 16).contains(&actions), "intercepts", actions, "between 1 and 65536 numbers")?;
        let rows = Some(numbers) == actions.checked_mul(features);
        require(rows, "weights", numbers, "one row of features per action")?;
        for w in intercepts.iter_mut().chain(&mut weights) {
            require(w.is_finite(), "weights", *w, "finite")?;
            *w += 0.0; // -0 becomes 0
        }
        Ok(Self { features, intercepts, weights })
    }

    /// How many features a context must have.
    pub fn features(&self) -> usize {
        self.features
    }

    /// How many actions there are.
    pub fn actions(&self) -> usize {
        self.intercepts.len()
    }

    /// The weights of one action.
    pub fn row(&self, action: usize) -> Option<&[f64]> {
        self.weights.get(action * self.features..(action + 1) * self.features)
    }

    /// The intercepts, one per action.
    pub fn intercepts(&self) -> &[f64] {
        &self.intercepts
    }

    /// The action at these features; `None` when there are not as many as weights, or a score is not a number.
    #[inline]
    pub fn act(&self, features: &[f64]) -> Option<usize> {
        if features.len() != self.features {
            return None;
        }
        let mut best = (f64::NEG_INFINITY, None);
        for (a, b) in self.intercepts.iter().enumerate() {
            let row = &self.weights[a * self.features..(a + 1) * self.features];
            let score = row.iter().zip(features).fold(*b, |s, (w, x)| s + w * x);
            if score.is_nan() {
                return None;
            }
            if score > best.0 || best.1.is_none() {
                best = (score, Some(a));
            }
        }
        best.1
    }

    fn bits(&self) -> impl Iterator<Item = u64> {
        self.intercepts.iter().chain(&self.weights).map(|w| w.to_bits())
    }
}

impl PartialEq for Linear {
    fn eq(&self, other: &Self) -> bool {
        self.features == other.features && self.bits().eq(other.bits())
    }
}

impl Eq for Linear {}

impl Hash for Linear {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.features.hash(state);
        self.bits().for_each(|b| b.hash(state));
    }
}

impl Serialize for Linear {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, to)
    }
}

impl<'de> Deserialize<'de> for Linear {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let Self { features, intercepts, weights } = Self::deserialize(from)?;
        Self::new(features, intercepts, weights).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_score_wins_and_ties_go_low() {
        let p = Linear::new(1, vec![0.0, 1.0, 1.0], vec![2.0, 0.0, 0.0]).unwrap();
        assert_eq!(p.act(&[1.0]), Some(0));
        assert_eq!(p.act(&[0.0]), Some(1));
        assert_eq!(p.act(&[0.5]), Some(0));
        assert_eq!(p.act(&[f64::NAN]), None);
        assert_eq!(p.act(&[]), None);
    }

    #[test]
    fn scores_of_minus_infinity_still_choose() {
        let p = Linear::new(1, vec![0.0, 0.0], vec![1.0, 1.0]).unwrap();
        assert_eq!(p.act(&[f64::NEG_INFINITY]), Some(0));
    }

    #[test]
    fn equality_is_by_bits_with_one_zero() {
        let a = Linear::new(1, vec![0.0], vec![-0.0]).unwrap();
        let b = Linear::new(1, vec![-0.0], vec![0.0]).unwrap();
        assert_eq!(a, b);
        assert_ne!(a, Linear::new(1, vec![0.0], vec![f64::MIN_POSITIVE]).unwrap());
    }

    #[test]
    fn what_cannot_be_a_policy_is_refused() {
        assert!(Linear::new(2, vec![0.0], vec![0.0]).is_err());
        assert!(Linear::new(1, vec![], vec![]).is_err());
        assert!(Linear::new(1, vec![0.0], vec![f64::NAN]).is_err());
        assert!(Linear::new(usize::MAX, vec![0.0; 3], vec![0.0; 3]).is_err());
        let raw = Linear { features: 1, intercepts: vec![0.0], weights: vec![f64::INFINITY] };
        let bytes = postcard::to_stdvec(&raw).unwrap();
        assert!(postcard::from_bytes::<Linear>(&bytes).is_err());
    }
}
