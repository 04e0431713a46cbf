//! A base that does nothing wrong is never benched, and no run fails: any built-in bases under any master, two levels deep, in any
//! environment that they fit.

use corral_bases::band::{Assembler, Recipe};
use corral_core::{Arm, Context, Decision, Point, Setup, masters};
use corral_envs::{AnyEnvironment, Environment};
use corral_lab::run::{CellSpec, Plugins, run_cell};
use corral_lab::spec::Spec;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Dxsm;

/// Environments of files, with keys for some that are there.
const FILES: [(&str, &str); 3] = [
    ("dataset", "file = 'small.csv'"),
    (
        "logged",
        "file = 'logged.csv'\naction = 'action'\nreward = 'reward'\npropensity = 'propensity'\nrepeat = true",
    ),
    ("learning-curves", "file = 'curves.csv'\nset = '32'"),
];

/// The keys of an environment.
fn keys(name: &str) -> toml::Table {
    let folder = concat!("file = '", env!("CARGO_MANIFEST_DIR"), "/../corral-envs/tests/data/");
    let of_file = FILES.iter().find(|(of, _)| *of == name).map(|(_, keys)| keys.replace("file = '", folder));
    of_file.unwrap_or_else(|| corral_envs::example(name).unwrap_or_default().to_owned()).parse().unwrap()
}

fn pick<'a>(rng: &mut Pcg64Dxsm, among: &'a [String]) -> &'a str {
    &among[rng.random_range(0..among.len())]
}

/// A learner in TOML: a base, or down to `depth` a master over some.
fn learner(rng: &mut Pcg64Dxsm, bases: &[String], depth: u32) -> String {
    // No environment of a spec has costs, which `pacer` asks for.
    let names = masters::REGISTRY.entries().map(|e| e.name).filter(|name| *name != "pacer");
    let masters: Vec<String> = names.map(str::to_owned).collect();
    let credit = ["chosen", "same-decision", "likelihood"][rng.random_range(0..3)];
    let feed = ["weighted", "raw", "everyone"][rng.random_range(0..3)];
    let master = pick(rng, &masters);
    let how = match rng.random_range(0..4) {
        0 => String::new(),
        _ => format!(", credit = \"{credit}\", feed = \"{feed}\""),
    };
    let count = rng.random_range(1..5);
    let members: Vec<String> = (0..count)
        .map(|_| match depth {
            0 => format!("\"{}\"", pick(rng, bases)),
            _ if rng.random_range(0..2) == 0 => format!("{{ {} }}", learner(rng, bases, depth - 1)),
            _ => format!("\"{}\"", pick(rng, bases)),
        })
        .collect();
    let end = if depth == 2 { "\n" } else { ", " };
    format!("master = {{ name = \"{master}\"{how} }}{end}bases = [{}]", members.join(", "))
}

/// The bases that can be built for an environment.
fn fitting<D: Decision>(env: &dyn Environment<Context, D>) -> Vec<String> {
    let setup = Setup { horizon: Some(80), ..env.setup() };
    let fits = |name: &&str| Assembler::new(&setup).learner::<D>(&Recipe::from(*name)).is_ok();
    corral_bases::entries().map(|e| e.name).filter(fits).map(str::to_owned).collect()
}

#[test]
fn no_healthy_base_is_benched_in_two_thousand_runs() {
    let wanted = if std::env::var_os("CORRAL_SLOW").is_some() { 50_000 } else { 2_000 };
    let mut worlds = Vec::new();
    for entry in corral_envs::entries() {
        let keys = keys(entry.name);
        let mut rng = Pcg64Dxsm::seed_from_u64(0);
        let bases = match corral_envs::build(entry.name, &keys, 80, &mut rng) {
            Ok(AnyEnvironment::Arms(env)) => fitting::<Arm>(&*env),
            Ok(AnyEnvironment::Points(env)) => fitting::<Point>(&*env),
            Err(error) => panic!("{}: {error}", entry.name),
        };
        worlds.push((entry.name, keys, bases));
    }
    let (plugins, mut runs, mut seed) = (Plugins::default(), 0u64, 0u64);
    while runs < wanted {
        seed += 1;
        let mut rng = Pcg64Dxsm::seed_from_u64(seed);
        let (name, keys, bases) = &worlds[rng.random_range(0..worlds.len())];
        let mut environment = keys.clone();
        environment.insert("name".to_owned(), (*name).into());
        let environment = toml::Value::Table(environment);
        let learner = learner(&mut rng, bases, 2);
        let text = format!("rounds = 80\nseeds = 1\nenvironment = {environment}\n[[learner]]\n{learner}\n");
        let spec = Spec::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        // A master or a band that cannot be built here says so before the run.
        if corral_lab::run::check(&spec, &plugins, 8 << 30).is_err() {
            continue;
        }
        runs += 1;
        let record = run_cell(&spec, &CellSpec::of(&spec, 0), &plugins, &|| false, &|_| {}).unwrap();
        assert_eq!(record.failed, None, "{text}");
        let benched = record.band.map(|band| band.benched).unwrap_or_default();
        assert!(benched.is_empty(), "{benched:?}\n{text}");
    }
    // What is refused says nothing of health: most of what is drawn is run.
    println!("{runs} runs, {} refused", seed - runs);
    assert!(runs * 2 > seed, "{} of {seed} specs were refused before they ran", seed - runs);
}
