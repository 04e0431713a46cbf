//! How much memory a learner or a world may ask for when it is built.
//!
//! A spec can name sizes that no machine has. Whoever allocates by a size from outside claims it of its [`Budget`] first; a claim
//! that goes beyond the limit is an error that names the parameter, what it would take and the limit. Claims are
//! estimates from below: what grows fastest counts.

use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::ParamError;

/// The limit of one claim where no other is given.
pub const DEFAULT: u64 = 8 << 30;

/// What may be claimed. Clones share what is left; by default every claim may take [`DEFAULT`] bytes by itself. Budgets are all
/// equal: what is built within one is the same as within another.
#[derive(Debug, Clone, Default)]
pub struct Budget {
    left: Option<Arc<AtomicU64>>,
}

impl PartialEq for Budget {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Budget {
    /// All claims together may take `bytes`.
    pub fn of(bytes: u64) -> Self {
        Self { left: Some(Arc::new(AtomicU64::new(bytes))) }
    }

    /// A budget of `bytes`, and no more than is left of this one, from which nothing is taken.
    #[must_use]
    pub fn part(&self, bytes: u64) -> Self {
        Self::of(self.left.as_ref().map_or(bytes, |left| left.load(Ordering::Relaxed).min(bytes)))
    }

    /// Claims memory for `numbers` numbers of 8 bytes, which the parameter `name` of this `value` asks for.
    ///
    /// # Errors
    /// It is more than is left.
    pub fn claim(&self, name: &'static str, value: impl Display, numbers: u128) -> Result<(), ParamError> {
        let bytes = numbers.saturating_mul(8);
        let less = |left: u64| u64::try_from(bytes).ok().and_then(|bytes| left.checked_sub(bytes));
        let limit = match &self.left {
            None if less(DEFAULT).is_some() => return Ok(()),
            None => DEFAULT,
            Some(left) => match left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less) {
                Ok(_) => return Ok(()),
                Err(left) => left,
            },
        };
        let why =
            format!("{value}, which takes {} where {} may be used", in_words(bytes), in_words(limit.into()));
        Err(ParamError::new(name, why, "smaller"))
    }
}

/// Bytes as people write them: 40.0 GB.
pub fn in_words(bytes: u128) -> String {
    const UNITS: [&str; 7] = ["bytes", "kB", "MB", "GB", "TB", "PB", "EB"];
    let unit = (bytes.max(1).ilog10() as usize / 3).min(UNITS.len() - 1);
    match unit {
        0 => format!("{bytes} bytes"),
        _ => format!("{:.1} {}", bytes as f64 / 1000f64.powi(unit as i32), UNITS[unit]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_add_up_inside_a_limit_and_stand_alone_outside() {
        let claimed = |budget: &Budget, numbers| budget.claim("dims", 7, numbers).is_ok();
        let free = Budget::default();
        assert!((0..3).all(|_| claimed(&free, u128::from(DEFAULT / 8))));
        let tight = free.part(80);
        assert!(claimed(&tight, 6) && !claimed(&tight.clone(), 5));
        let inner = tight.part(1000);
        assert!(claimed(&inner, 4) && !claimed(&inner, 1));
        assert!(claimed(&tight, 4), "what was claimed of a part is free");
        assert!(claimed(&free, 1000));
        assert!(!claimed(&free, u128::MAX));
    }

    #[test]
    fn the_error_names_the_parameter_what_it_takes_and_the_limit() {
        let error = Budget::of(1 << 30).claim("dims", 100_000, 10_000_000_000).unwrap_err().to_string();
        assert_eq!(
            error,
            "dims must be smaller, but is 100000, which takes 80.0 GB where 1.1 GB may be used"
        );
        assert_eq!(
            (in_words(0), in_words(999), in_words(1_500)),
            ("0 bytes".into(), "999 bytes".into(), "1.5 kB".into())
        );
    }
}
