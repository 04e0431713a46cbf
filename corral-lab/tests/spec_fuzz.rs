//! Specs that no one would write: every registered name with every parameter at the values where readers of numbers go
//! wrong. Checking one answers, without a panic, and within the memory that it may take.

#[path = "../../corral-core/tests/counting/mod.rs"]
mod counting;

use corral_core::params::describe::Field;
use corral_core::registry::{Kind, Registry, RegistryRow};
use corral_lab::run::{Plugins, check};
use corral_lab::spec::Spec;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Dxsm;
use toml::{Table, Value};

const SPECS: u64 = 2_000;
/// What a pair of a world and a learner may claim.
const ALLOWED: u64 = 100_000_000;
/// What the whole process may hold: claims are estimates from below, and tests run side by side.
const HELD: u64 = 1_500_000_000;

/// Values at which readers of numbers and texts go wrong.
fn nasty(rng: &mut Pcg64Dxsm) -> Value {
    let integers = [0, 1, 2, 3, 7, 100, 65_536, 100_000, 1 << 31, 1 << 32, 1 << 53, i64::MAX, -1, i64::MIN];
    let floats = [
        0.0,
        -0.0,
        1.0,
        0.5,
        1e-3,
        5e-324,
        1e-300,
        1e-16,
        1e18,
        1e300,
        f64::MAX,
        -1.0,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
    ];
    let texts = ["", "x", "restart", "keep", "uniform", "\u{1b}[2J", "linear", "trees", "/dev/zero", "none"];
    match rng.random_range(0..10) {
        0..4 => Value::Integer(integers[rng.random_range(0..integers.len())]),
        4..8 => Value::Float(floats[rng.random_range(0..floats.len())]),
        8 => Value::String(texts[rng.random_range(0..texts.len())].into()),
        _ => match rng.random_range(0..4) {
            0 => Value::Boolean(rng.random()),
            1 => Value::Array(Vec::new()),
            2 => Value::Array((0..rng.random_range(1..4)).map(|_| nasty(rng)).collect()),
            _ => Value::Table(Table::new()),
        },
    }
}

/// A value for a field: one of its words, or a nasty one, mostly of the type that it has.
fn value(field: &Field, rng: &mut Pcg64Dxsm) -> Value {
    if !field.choices.is_empty() && rng.random_range(0..4) > 0 {
        return Value::String(field.choices[rng.random_range(0..field.choices.len())].clone());
    }
    let fits = |value: &Value| match &field.default {
        Some(serde_json::Value::Number(number)) if number.is_f64() => {
            matches!(value, Value::Float(_) | Value::Integer(_))
        }
        Some(serde_json::Value::Number(_)) => matches!(value, Value::Integer(_)),
        Some(serde_json::Value::Array(_)) => matches!(value, Value::Array(_)),
        Some(serde_json::Value::Bool(_)) => matches!(value, Value::Boolean(_)),
        _ => true,
    };
    let strict = rng.random_range(0..5) > 0;
    (0..50).map(|_| nasty(rng)).find(|value| !strict || fits(value)).unwrap_or(Value::Integer(1))
}

/// A thing of a registry, mostly one for `kind`; half of the time some of its parameters are set.
fn thing<B>(
    registry: &Registry<B>,
    key: &str,
    kind: Kind,
    start: impl Fn(&RegistryRow<B>) -> Table,
    rng: &mut Pcg64Dxsm,
) -> (Table, Kind) {
    let strict = rng.random_range(0..8) > 0;
    let suits = |found: Kind| match (kind, found) {
        (Kind::Any, _) | (_, Kind::Any) => true,
        (Kind::Points, other) | (other, Kind::Points) => kind == other,
        (kind, found) => kind == Kind::Contextual || found == Kind::Arms,
    };
    let rows: Vec<_> = registry.rows().filter(|row| !strict || suits(row.entry.kind)).collect();
    let row = rows[rng.random_range(0..rows.len())];
    let mut table = start(row);
    let fields = row.fields();
    let calm: bool = rng.random();
    for field in &fields {
        let due = field.default.is_none() && !table.contains_key(&field.name);
        if due || !calm && rng.random_range(0..fields.len() * 2) == 0 {
            table.insert(field.name.clone(), value(field, rng));
        }
    }
    table.insert(key.into(), row.entry.name.into());
    (table, row.entry.kind)
}

fn nothing<B>(_: &RegistryRow<B>) -> Table {
    Table::new()
}

fn base(kind: Kind, rng: &mut Pcg64Dxsm) -> Value {
    thing(&corral_bases::REGISTRY, "name", kind, nothing, rng).0.into()
}

fn spec(rng: &mut Pcg64Dxsm) -> Table {
    let example = |row: &RegistryRow<corral_envs::Build>| {
        corral_envs::example(row.entry.name).unwrap().parse().unwrap()
    };
    let (mut world, kind) = thing(&corral_envs::REGISTRY, "name", Kind::Any, example, rng);
    if rng.random_range(0..8) == 0 {
        world.insert("delay".into(), thing(&corral_envs::DELAYS, "name", kind, nothing, rng).0.into());
    }
    if rng.random_range(0..8) == 0 {
        let around = thing(&corral_envs::induced::SCHEDULES, "schedule", kind, nothing, rng).0;
        world.insert("induced".into(), around.into());
    }
    if rng.random_range(0..20) == 0 {
        world.insert("rescale".into(), nasty(rng));
    }
    let mut learner = Table::new();
    if rng.random() {
        let (mut master, _) = thing(&corral_core::masters::REGISTRY, "name", kind, nothing, rng);
        for (key, words) in [("credit", ["chosen", "likelihood"]), ("feed", ["raw", "everyone"])] {
            if rng.random_range(0..3) == 0 {
                master.insert(key.into(), words[rng.random_range(0..2)].into());
            }
        }
        learner.insert("master".into(), master.into());
        let bases: Vec<Value> = (0..rng.random_range(1..4)).map(|_| base(kind, rng)).collect();
        learner.insert("bases".into(), bases.into());
    } else {
        learner.insert("base".into(), base(kind, rng));
    }
    let rounds = [2, 10, 1_000, 1_000_000_000, i64::MAX, 0];
    let mut spec = Table::new();
    spec.insert("rounds".into(), rounds[rng.random_range(0..rounds.len())].into());
    spec.insert("seeds".into(), [1i64, 3, 1 << 62][rng.random_range(0..3)].into());
    spec.insert("environment".into(), world.into());
    spec.insert("learner".into(), Value::Array(vec![learner.into()]));
    spec
}

#[test]
fn two_thousand_generated_specs_are_answered() {
    // Examples name files of the environments' own tests.
    std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../corral-envs")).unwrap();
    let (mut good, mut refused) = (0, 0);
    for seed in 0..SPECS {
        let text = toml::to_string(&spec(&mut Pcg64Dxsm::seed_from_u64(seed))).unwrap();
        counting::most();
        let answer = std::panic::catch_unwind(|| {
            Spec::parse(&text)
                .and_then(|spec| check(&spec, &Plugins::default(), ALLOWED))
                .map_err(|e| e.to_string())
        });
        let held = counting::most();
        assert!(held < HELD, "spec {seed} took {held} bytes:\n{text}");
        match answer {
            Ok(Ok(())) => good += 1,
            Ok(Err(why)) => {
                refused += 1;
                assert!(!why.is_empty(), "spec {seed} is refused without a reason:\n{text}");
            }
            Err(_) => panic!("spec {seed} panics:\n{text}"),
        }
    }
    // The fuzz is about what is built, not only about what is read.
    assert!(good >= 200 && refused >= 500, "{good} good, {refused} refused");
}
