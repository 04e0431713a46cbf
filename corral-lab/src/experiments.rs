//! The built-in experiments: specs that come with the program.

use corral_core::registry::Unknown;

macro_rules! built_in {
    ($name:literal) => {
        ($name, include_str!(concat!("../experiments/", $name, ".toml")))
    };
}

/// Name and text of each.
pub const ALL: &[(&str, &str)] = &[
    built_in!("quickstart"),
    built_in!("paper/contextual-classes"),
    built_in!("paper/contextual-hybrid"),
    built_in!("paper/convex"),
    built_in!("paper/doubling"),
    built_in!("paper/hardness"),
    built_in!("paper/links"),
    built_in!("paper/links-exponential"),
    built_in!("paper/priors"),
    built_in!("paper/remark"),
    built_in!("paper/representations"),
    built_in!("paper/sparsity"),
    built_in!("paper/sparsity-groups"),
    built_in!("paper/starvation"),
    built_in!("paper/table-1"),
    built_in!("paper/table-1-bistro"),
    built_in!("paper/theorem-constants"),
    built_in!("paper/theorem-general"),
    built_in!("paper/theorem-main"),
    built_in!("published/experiment-1"),
    built_in!("published/experiment-2"),
    built_in!("published/experiment-4"),
    built_in!("published/experiment-6"),
    built_in!("published/experiment-7"),
    built_in!("published/experiment-8"),
    built_in!("published/experiment-10"),
    built_in!("published/experiment-12"),
    built_in!("published/experiment-14"),
    built_in!("published/experiment-16"),
    built_in!("compare/masters"),
    built_in!("compare/large-bands"),
    built_in!("compare/large-bands-features"),
    built_in!("compare/small-gaps"),
    built_in!("compare/best-of-both"),
    built_in!("compare/horizon"),
    built_in!("compare/copies"),
    built_in!("compare/worlds"),
    built_in!("compare/routing"),
    built_in!("data/contextual"),
    built_in!("data/iltcb"),
    built_in!("data/experience"),
    built_in!("data/learners-that-learn"),
];

/// The text of the experiment `name`.
pub fn text(name: &str) -> Option<&'static str> {
    ALL.iter().find(|(n, _)| *n == name).map(|(_, text)| *text)
}

/// The error that `name` is none of them.
pub fn unknown(name: &str) -> Unknown {
    Unknown::new("experiment", name, ALL.iter().map(|(known, _)| *known))
}

/// The question that an experiment asks.
pub fn asks(text: &str) -> String {
    let table: Option<toml::Table> = toml::from_str(text).ok();
    table.and_then(|t| t.get("asks")?.as_str().map(str::to_owned)).unwrap_or_default()
}
