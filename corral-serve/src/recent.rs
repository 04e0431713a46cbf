//! Answers that are given again: to a request with the same key, or for the same unit.

use std::collections::{HashMap, VecDeque};

/// The last answers, at most so many, each for a limited time.
#[derive(Debug)]
pub(crate) struct Recent<T> {
    most: usize,
    answers: HashMap<String, (u64, T)>,
    /// In the order in which they were given.
    order: VecDeque<(u64, String)>,
}

impl<T: Clone> Recent<T> {
    pub fn new(most: usize) -> Self {
        Self { most, answers: HashMap::new(), order: VecDeque::new() }
    }

    /// The answer under a key that was given at `since` or later.
    pub fn get(&self, key: &str, since: u64) -> Option<T> {
        self.answers.get(key).filter(|(at, _)| *at >= since).map(|(_, answer)| answer.clone())
    }

    /// Keeps an answer; the oldest goes where there are too many.
    pub fn put(&mut self, key: String, at: u64, answer: T) {
        self.order.push_back((at, key.clone()));
        self.answers.insert(key, (at, answer));
        while self.order.len() > self.most {
            let Some((at, key)) = self.order.pop_front() else { break };
            // Unless it was given anew.
            if self.answers.get(&key).is_some_and(|(last, _)| *last == at) {
                self.answers.remove(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_bounded_and_expire() {
        let mut recent = Recent::new(2);
        recent.put("a".into(), 10, 1);
        assert_eq!((recent.get("a", 5), recent.get("a", 11), recent.get("b", 0)), (Some(1), None, None));
        recent.put("b".into(), 11, 2);
        recent.put("a".into(), 12, 3);
        assert_eq!((recent.get("a", 0), recent.get("b", 0)), (Some(3), Some(2)), "the first of a has gone");
        recent.put("c".into(), 13, 4);
        assert_eq!((recent.get("a", 0), recent.get("b", 0)), (Some(3), None));
    }
}
