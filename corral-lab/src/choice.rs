//! Values that are said by a word: on a command line, as a keyword argument.

/// One of a few values, each with its word and its meaning.
pub trait Choice: Clone + Sized + 'static {
    /// Value, word, meaning.
    const ALL: &'static [(Self, &'static str, &'static str)];

    /// The value of a word.
    fn named(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, name, _)| *name == word).map(|(value, ..)| value.clone())
    }
}
