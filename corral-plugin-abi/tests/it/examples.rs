//! What a stranger does: build an example, or begin a plugin, load it, examine it.

use std::fs;
use std::path::Path;

use crate::common::{cargo, compile, folder, in_this_process, rust, target, workspace};
use corral_plugin_abi::Kind;
use corral_plugin_abi::host::{Verdict, inspect, load_file, scaffold};

/// What the laws say of every base.
fn check(path: &Path) -> Vec<Verdict> {
    let loaded = load_file(path, &in_this_process()).unwrap();
    loaded.bases().iter().map(|base| loaded.examine(&base.name, "").unwrap()).collect()
}

/// Every law of every base is kept.
fn keeps_the_contract(path: &Path) -> Vec<(String, Vec<String>)> {
    let verdicts = check(path);
    for verdict in &verdicts {
        for (law, outcome) in &verdict.laws {
            assert!(outcome.is_ok(), "{} in {}: {law}: {outcome:?}", verdict.base, verdict.world);
        }
        assert!(verdict.holds() && verdict.laws.len() >= 10);
    }
    let noted = |v: &Verdict| {
        let notes = v
            .laws
            .iter()
            .filter_map(|(law, note)| note.clone().ok().filter(|n| !n.is_empty()).map(|n| (law, n)));
        notes.map(|(law, note)| format!("{law}: {note}")).collect()
    };
    verdicts.iter().map(|v| (v.base.clone(), noted(v))).collect()
}

/// A copy of an example, as a stranger would make one; the path of the dependency is changed as its readme says.
fn copy_out(name: &str) -> std::path::PathBuf {
    let from = workspace().join("examples/plugins").join(name);
    let to = target().join("copies").join(name);
    fs::create_dir_all(to.join("src")).unwrap();
    let abi = workspace().join("corral-plugin-abi");
    let manifest = fs::read_to_string(from.join("Cargo.toml")).unwrap();
    assert!(manifest.contains("../../../corral-plugin-abi"));
    fs::write(to.join("Cargo.toml"), manifest.replace("../../../corral-plugin-abi", abi.to_str().unwrap()))
        .unwrap();
    fs::write(to.join("src/lib.rs"), fs::read_to_string(from.join("src/lib.rs")).unwrap()).unwrap();
    fs::copy(workspace().join("Cargo.lock"), to.join("Cargo.lock")).unwrap();
    to
}

#[test]
fn the_rust_example_is_copied_out_built_and_keeps_the_contract() {
    rust("draws"); // builds the dependencies, once
    let made = cargo(&copy_out("zooming"), &["build", "--offline"]);
    let path = &made["zooming"];
    let loaded = load_file(path, &in_this_process()).unwrap();
    assert_eq!((loaded.bases()[0].name.as_str(), loaded.bases()[0].kind), ("zooming", Kind::Points));
    assert_eq!(keeps_the_contract(path), [("zooming".to_owned(), vec![])]);
}

#[test]
fn the_c_example_keeps_the_contract() {
    let dir = folder();
    let source = workspace().join("examples/plugins/c-epsilon-greedy/epsilon_greedy.c");
    let abi = workspace().join("corral-plugin-abi");
    let flags = ["-std=c11", "-pedantic", "-Werror", "-shared", "-fPIC", "-fvisibility=hidden"];
    let out = dir.path().join("c-epsilon-greedy.so");
    let Some(path) = compile("cc", &abi, &source, &out, &flags) else { return };
    assert_eq!(keeps_the_contract(&path), [("epsilon-greedy".to_owned(), vec![])]);
    let steps = inspect(&path, &in_this_process()).steps;
    assert_eq!(steps[1].1.as_ref().unwrap(), "table version 1");
    assert_eq!(steps[2].1.as_ref().unwrap(), "bases: epsilon-greedy");
}

#[test]
fn a_plugin_that_is_begun_builds_loads_and_keeps_the_contract() {
    rust("draws");
    let (home, checkout) = (target().join("begun"), workspace());
    let _ = fs::remove_dir_all(home.join("my-base"));
    let folder = scaffold("my-base", &home, Some(&checkout)).unwrap();
    assert!(scaffold("my-base", &home, Some(&checkout)).unwrap_err().to_string().ends_with("exists already"));
    for name in ["", "My", "../up", "a b", "9lives", "ends-"] {
        assert!(scaffold(name, &home, None).is_err(), "{name:?}");
    }
    fs::copy(workspace().join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    let made = cargo(&folder, &["build", "--offline"]);
    assert_eq!(keeps_the_contract(&made["my_base"]), [("my-base".to_owned(), vec![])]);
}

#[test]
fn the_examination_names_what_a_base_is_and_what_it_breaks() {
    // The fixture counts rounds in `pass` and with weight 0: the laws leave it that choice, and the verdict says so.
    let path = rust("draws");
    let notes = keeps_the_contract(&path).remove(0).1;
    assert_eq!(notes, ["pass: counts rounds", "unseen: counts rounds"]);
    let verdicts = check(&rust("faults"));
    let outside = verdicts.iter().find(|v| v.base == "outside").unwrap();
    assert!(!outside.holds());
    let (_, broken) = outside.laws.iter().find(|(law, _)| *law == "proposals").unwrap();
    assert!(broken.as_ref().unwrap_err().contains("lies outside the set"), "{broken:?}");
    let steps = inspect(&rust("no_layout"), &in_this_process()).steps;
    assert!(matches!(&steps[..], [("pre-flight", Ok(_)), ("layout", Err(_))]), "{steps:?}");
}
