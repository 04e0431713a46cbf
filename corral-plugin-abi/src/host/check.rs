//! A plugin under examination: one verdict per law.

use std::path::Path;

use corral_core::contract::{self, OnRange, Subject, Violation};
use corral_core::registry::Kind;
use corral_core::set::Set;
use corral_core::{Arm, BaseError, Context, Learner, Setup, Space};
use serde::{Deserialize, Serialize};

use super::error::LoadError;
use super::loader::{Door, Library, load_file};
use super::policy::LoadPolicy;
use super::preflight::preflight;

/// Rounds of the longest law.
const ROUNDS: u64 = 20_000;

/// What was found of one base.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The base.
    pub base: String,
    /// The world in which it was examined.
    pub world: String,
    /// The laws, by name: kept (with what the base turned out to be, where a law leaves it the choice), or how it was
    /// broken.
    pub laws: Vec<(String, Result<String, String>)>,
}

/// What to do about a base that ends its process.
pub const ISOLATE: &str =
    "in a run, isolate = true in its table gives it a process of its own, so that it ends no other";

impl Verdict {
    /// Whether the base ended the process that a law ran in.
    pub fn ends_processes(&self) -> bool {
        self.laws.iter().any(|(_, law)| law.as_ref().is_err_and(|why| why.contains("its process ")))
    }

    /// Whether every law is kept.
    pub fn holds(&self) -> bool {
        self.laws.iter().all(|(_, law)| law.is_ok())
    }
}

/// The names of the laws, in their order.
pub(super) fn names() -> Vec<&'static str> {
    contract::every::<Context, Arm>().into_iter().map(|(name, _)| name).collect()
}

/// Examines a base: builds it by `build` in the first world that it can be built in, and runs the laws, or one of them.
pub(super) fn examine(
    base: &str,
    kind: Kind,
    only: Option<usize>,
    build: &dyn Fn(&Setup) -> Result<Learner, BaseError>,
) -> Verdict {
    let mut refused = String::new();
    for (world, setup) in worlds(kind) {
        let other = || BaseError::Failed("it decides on something else now".into());
        let laws = match build(&setup) {
            Ok(Learner::Arms(_)) => laws(only, || {
                let fresh = || build(&setup)?.into_arms().ok_or_else(other);
                Subject::arms(base, &setup, fresh).rounds(ROUNDS)
            }),
            Ok(Learner::Points(_)) => laws(only, || {
                let fresh = || build(&setup)?.into_points().ok_or_else(other);
                Subject::points(base, &setup, fresh).rounds(ROUNDS)
            }),
            Err(why) => {
                refused = why.to_string();
                continue;
            }
        };
        return Verdict { base: base.to_owned(), world: world.to_owned(), laws };
    }
    Verdict {
        base: base.to_owned(),
        world: "none".to_owned(),
        laws: vec![("it can be built".to_owned(), Err(refused))],
    }
}

/// Worlds to try, by kind: the first in which a base can be built is where it is examined.
fn worlds(kind: Kind) -> Vec<(&'static str, Setup)> {
    let horizon = Some(ROUNDS);
    let set = |name, set| (name, Setup::new(Space::Points(set), horizon));
    if kind == Kind::Points {
        return vec![
            set("the box of 2 dimensions", Set::Box { dim: 2 }),
            set("the interval", Set::Box { dim: 1 }),
            set("the ball of 3 dimensions", Set::Ball { dim: 3 }),
            set("the simplex of 3 vertices", Set::Simplex { vertices: 3 }),
        ];
    }
    let plain = Setup::arms(4, horizon);
    if kind == Kind::Arms {
        return vec![("4 arms", plain)];
    }
    let (mut shared, mut rows, mut cells) = (plain.clone(), plain.clone(), plain.clone());
    shared.context.features = 3;
    rows.context.row_features = 3;
    cells.context.cells = Some(5);
    vec![
        ("4 arms, 3 shared features", shared),
        ("4 arms with 3 features each", rows),
        ("4 arms, 5 contexts", cells),
        ("4 arms", plain),
    ]
}

type Laws = Vec<(String, Result<String, String>)>;

/// Runs the laws. A plugin's table does not say what the base declares about itself, so where a law depends on that
/// the strictest declaration under which it is kept is found out and named.
fn laws<'a, D: Clone + PartialEq + std::fmt::Debug>(
    only: Option<usize>,
    subject: impl Fn() -> Subject<'a, Context, D>,
) -> Laws {
    let again = |law: &str, broken: Violation| {
        let kept = |verdict: Result<(), Violation>, note: &str| verdict.ok().map(|()| note.to_owned());
        let choice = match law {
            "pass" => kept(contract::pass(&subject().counts_rounds()), "counts rounds"),
            "unseen" => kept(contract::unseen(&subject().counts_rounds()), "counts rounds"),
            "likelihoods" => kept(contract::likelihoods(&subject().own_memos()), "memos of their own"),
            "widen" => {
                let to = |on_range, note| kept(contract::widen(&subject().on_range(on_range)), note);
                to(OnRange::Keep, "keeps what it learned")
                    .or_else(|| to(OnRange::Retune, "tunes itself again"))
            }
            _ => None,
        };
        choice.ok_or(broken.text)
    };
    let chosen =
        contract::every().into_iter().enumerate().filter(|(i, _)| only.is_none_or(|only| only == *i));
    let verdict = |(law, check): (&str, contract::Law<Context, D>)| {
        (law.to_owned(), check(&subject()).map_or_else(|broken| again(law, broken), |()| Ok(String::new())))
    };
    chosen.map(|(_, law)| verdict(law)).collect()
}

/// What can be said of a file without examining its bases.
#[derive(Debug)]
pub struct Inspection {
    /// The steps, in their order, with what was found; the last is the one that failed, if any.
    pub steps: Vec<(&'static str, Result<String, LoadError>)>,
    /// The plugin, when every step went well.
    pub loaded: Option<Library>,
}

/// Goes through the steps of loading one by one: pre-flight, then version and layout, where the policy
/// says ([`RunIn`](super::RunIn)).
pub fn inspect(path: &Path, policy: &LoadPolicy) -> Inspection {
    let seen = match preflight(path) {
        Ok(seen) => seen,
        Err(why) => return Inspection { steps: vec![("pre-flight", Err(why))], loaded: None },
    };
    let door = match seen.door {
        Door::Rust => "Rust",
        Door::C => "C",
        Door::Wasm => "WebAssembly",
    };
    let mut steps =
        vec![("pre-flight", Ok(format!("{} bytes, {door} door, sha256 {}", seen.bytes, seen.sha256)))];
    let loaded = match load_file(path, policy) {
        Ok(loaded) => {
            let interface = loaded.about().ok().and_then(|about| about.interface.as_ref());
            let version = interface.map_or("table version 1".into(), |v| format!("corral-plugin-abi {v}"));
            steps.push(("version", Ok(version)));
            let names: Vec<&str> = loaded.bases().iter().map(|b| &*b.name).collect();
            steps.push(("layout", Ok(format!("bases: {}", names.join(", ")))));
            Some(loaded)
        }
        Err(refused) => {
            let step = match &refused.why {
                LoadError::Version { .. } | LoadError::AbiStable(..) => "version",
                LoadError::Layout(_)
                | LoadError::Unchecked
                | LoadError::Table { .. }
                | LoadError::Wasm(_) => "layout",
                _ => "loading",
            };
            steps.push((step, Err(refused.why)));
            None
        }
    };
    Inspection { steps, loaded }
}
