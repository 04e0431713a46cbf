//! The corpora of the fuzz targets, played without a fuzzer: every target answers every file of its folder.

#[path = "../../../fuzz/targets.rs"]
mod targets;

use std::fs;
use std::path::{Path, PathBuf};

use corral_core::Learner;
use corral_lab::spec::Spec;
use corral_lab::store::{Manifest, Shard, Store};
use rand::SeedableRng;

/// The corpora of the repository.
fn kept() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus")
}

fn corpus(target: &str) -> PathBuf {
    kept().join(target)
}

#[track_caller]
fn play(target: &str, at_least: usize) {
    play_all(target, &corpus(target), at_least);
}

#[track_caller]
fn play_all(target: &str, folder: &Path, at_least: usize) {
    let (_, answer) = targets::ALL.iter().find(|(name, _)| *name == target).expect("a target");
    let files: Vec<_> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(files.len() >= at_least, "{} files for {target}", files.len());
    for file in files {
        let bytes = fs::read(&file).unwrap();
        if std::panic::catch_unwind(|| answer(&bytes)).is_err() {
            panic!("{}: the target {target} panicked", file.display());
        }
    }
}

#[test]
fn snapshots() {
    play("snapshot", 50);
}

#[test]
fn tickets() {
    play("ticket", 5);
}

#[test]
fn specs() {
    play("spec", 30);
}

#[test]
fn data_files() {
    play("data", 10);
}

#[test]
fn libraries() {
    play("preflight", 30);
}

#[test]
fn records() {
    play("results", 5);
}

#[test]
fn logs() {
    play("log", 8);
}

/// A corpus is worth something only while its good files are good: these are taken, not refused.
#[test]
fn good_files_are_good() {
    let (mut band, _) = targets::band();
    let ticket = serde_json::from_slice(&fs::read(corpus("ticket").join("good")).unwrap()).unwrap();
    assert!(band.learn(&corral_core::Context::plain(3), ticket, 0.5).is_ok());
    let (learner, _) = targets::base("exp3").unwrap();
    let mut base = learner.into_arms().unwrap();
    let file = fs::read(corpus("snapshot").join("exp3")).unwrap();
    let payload = file.strip_prefix(b"exp3\n").unwrap();
    assert!(base.load(&targets::reframed(&base.save(), payload)).is_ok());
    let spec = fs::read_to_string(corpus("spec").join("bernoulli")).unwrap();
    let spec = Spec::parse(&spec).unwrap();
    corral_lab::run::check(&spec, &corral_lab::run::Plugins::default(), 1 << 30).unwrap();
}

/// Good files as they are written today are answered too. After a layout changed,
/// `CORRAL_WRITE_CORPUS=1 cargo test -p corral-lab --test it corpora` writes them to the repository.
#[test]
fn good_files_written_today() {
    let dir = tempfile::tempdir().unwrap();
    let to = if std::env::var_os("CORRAL_WRITE_CORPUS").is_some() { kept() } else { dir.path().to_owned() };
    write_good_files(&to);
    for (target, at_least) in [("snapshot", 50), ("ticket", 5), ("spec", 30), ("results", 2)] {
        play_all(target, &to.join(target), at_least);
    }
}

fn write_good_files(to: &Path) {
    let write = |target: &str, name: &str, bytes: &[u8]| {
        fs::create_dir_all(to.join(target)).unwrap();
        fs::write(to.join(target).join(name), bytes).unwrap();
    };
    for entry in corral_bases::entries() {
        let Some((learner, _)) = targets::base(entry.name) else { continue };
        let state = match learner {
            Learner::Arms(base) => base.save(),
            Learner::Points(base) => base.save(),
        };
        if state.len() < 4096 {
            write("snapshot", entry.name, &[entry.name.as_bytes(), b"\n", targets::payload(&state)].concat());
            if entry.name == "exp3" {
                write("snapshot", "whole-exp3", &[b"whole exp3\n", &state[..]].concat());
            }
        }
    }
    for entry in corral_core::masters::REGISTRY.entries() {
        let setup = corral_core::masters::MasterSetup::new(3, Some(100));
        let master = corral_core::masters::build(entry.name, toml::Table::new(), &setup).unwrap();
        let head = format!("master {}\n", entry.name);
        let name = format!("master-{}", entry.name);
        write("snapshot", &name, &[head.as_bytes(), targets::payload(&master.save())].concat());
    }
    let (mut band, ticket) = targets::band();
    let good = serde_json::to_string(&ticket).unwrap();
    write("ticket", "good", good.as_bytes());
    for place in (1..good.len() - 1).step_by(9) {
        let other = if &good[place..=place] == "A" { "B" } else { "A" };
        let changed = [&good[..place], other, &good[place + 1..]].concat();
        write("ticket", &format!("bad-digit-{place}"), changed.as_bytes());
    }
    let x = corral_core::Context::plain(3);
    let mut rng = rand_pcg::Pcg64Dxsm::seed_from_u64(1);
    let made = corral_core::Base::propose(&mut band, &x, &mut rng).unwrap();
    let numbers: Vec<u8> = made.memo.numbers().iter().flat_map(|number| number.to_le_bytes()).collect();
    write("ticket", "memo-good", &[b"memo\n", &numbers[..]].concat());
    for entry in corral_envs::entries() {
        let base = match entry.kind {
            corral_core::registry::Kind::Points => "bgd",
            _ => "exp3",
        };
        let example = corral_envs::example(entry.name).unwrap();
        let text = format!(
            "rounds = 50\nseeds = 2\n\n[[learner]]\nbase = {{ name = \"{base}\" }}\n\n[[environment]]\nname = \"{}\"\n{example}\n",
            entry.name
        );
        write("spec", entry.name, text.as_bytes());
    }
    let spec = Spec::parse(targets::RECORDED).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let manifest = Manifest::new(&spec, Shard::WHOLE, Vec::new());
    write("results", "manifest", &[b"manifest\n", &serde_json::to_vec(&manifest).unwrap()[..]].concat());
    let mut store = Store::open(dir.path(), manifest, &spec).unwrap();
    for cell in 0..spec.cells() {
        let cell = corral_lab::run::CellSpec::of(&spec, cell);
        let record =
            corral_lab::run::run_cell(&spec, &cell, &corral_lab::run::Plugins::default(), &|| false, &|_| ());
        store.append(&record.unwrap()).unwrap();
    }
    store.finish().unwrap();
    write("results", "good", &fs::read(dir.path().join("cells.jsonl")).unwrap());
}
