//! What the bases of a band have in common, kept once.

use std::any::Any;

/// What bases that learn alike keep once: handed from base to base by [`BaseExtra::share`](crate::BaseExtra::share).
#[derive(Default)]
pub struct Commons {
    kept: Vec<Box<dyn Any>>,
}

impl Commons {
    /// The first thing of type `T` that is the `same`, where there is one.
    pub fn find<T: 'static>(&self, same: impl Fn(&T) -> bool) -> Option<&T> {
        self.kept.iter().filter_map(|thing| thing.downcast_ref()).find(|thing| same(thing))
    }

    /// Adds a thing that later bases may find.
    pub fn keep<T: 'static>(&mut self, thing: T) {
        self.kept.push(Box::new(thing));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_are_found_by_type_and_likeness() {
        let mut commons = Commons::default();
        commons.keep(3u32);
        commons.keep("three");
        commons.keep(4u32);
        assert_eq!(commons.find(|n: &u32| *n > 3), Some(&4));
        assert_eq!(commons.find(|_: &&str| true), Some(&"three"));
        assert_eq!(commons.find(|_: &u64| true), None);
    }
}
