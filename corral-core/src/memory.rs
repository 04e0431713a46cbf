//! How much memory a learner or a world may ask for when it is built.
//!
//! A spec can name sizes that no machine has. Whoever allocates by a size from outside claims the room first; a claim
//! that goes beyond the limit is an error that names the parameter, what it would take and the limit. Claims are
//! estimates from below: what grows fastest counts.

use std::cell::Cell;
use std::fmt::Display;

use crate::ParamError;

/// The limit of one claim where nobody says otherwise.
pub const DEFAULT: u64 = 8 << 30;

thread_local! {
    /// What is left of the limit of the innermost [`within`] on this thread.
    static LEFT: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Runs `build` so that all claims in it, together, may take `bytes` (and no more than is left outside).
pub fn within<T>(bytes: u64, build: impl FnOnce() -> T) -> T {
    /// Puts the outer limit back, also when `build` panics.
    struct Outer(Option<u64>);
    impl Drop for Outer {
        fn drop(&mut self) {
            LEFT.set(self.0);
        }
    }
    let outer = Outer(LEFT.get());
    LEFT.set(Some(outer.0.map_or(bytes, |left| left.min(bytes))));
    build()
}

/// Claims room for `numbers` numbers of 8 bytes, which the parameter `name` of this `value` asks for.
///
/// # Errors
/// It is more than is left.
pub fn claim(name: &'static str, value: impl Display, numbers: u128) -> Result<(), ParamError> {
    let (left, bytes) = (LEFT.get(), numbers.saturating_mul(8));
    let limit = left.unwrap_or(DEFAULT);
    match u64::try_from(bytes) {
        Ok(bytes) if bytes <= limit => {
            LEFT.set(left.map(|left| left - bytes));
            Ok(())
        }
        _ => {
            let why = format!(
                "{value}, which takes {} where {} may be used",
                in_words(bytes),
                in_words(limit.into())
            );
            Err(ParamError::new(name, why, "smaller"))
        }
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
        let claimed = |numbers| claim("dims", 7, numbers).is_ok();
        assert!((0..3).all(|_| claimed(u128::from(DEFAULT / 8))));
        within(80, || {
            assert!(claimed(6) && !claimed(5));
            within(1000, || assert!(claimed(4) && !claimed(1)));
            assert!(claimed(4), "what was claimed inside is free again");
        });
        assert!(claimed(1000));
        assert!(!claimed(u128::MAX));
    }

    #[test]
    fn the_error_names_the_parameter_what_it_takes_and_the_limit() {
        let error = within(1 << 30, || claim("dims", 100_000, 10_000_000_000)).unwrap_err().to_string();
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
