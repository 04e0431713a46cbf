//! Plugins built with another version of this crate: older, newer, changed. Each is built against a copy of the crate
//! with a few lines of its sources edited.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{cargo, in_this_process, target, workspace};
use corral_plugin_abi::host::{Library, LoadError, load_file};
use corral_plugin_abi::prelude::*;
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

/// Writes a file, unless it holds just that: cargo goes by the time of change.
fn write(path: &Path, content: &str) {
    if fs::read_to_string(path).ok().as_deref() != Some(content) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

/// The crate's manifest as one that stands alone, with another version.
fn manifest(version: &str) -> String {
    let read = |path: PathBuf| -> toml::Table { toml::from_str(&fs::read_to_string(path).unwrap()).unwrap() };
    let root = read(workspace().join("Cargo.toml"));
    let own = read(workspace().join("corral-plugin-abi/Cargo.toml"));
    let mut dependencies = toml::Table::new();
    for (name, asked) in own["dependencies"].as_table().unwrap() {
        if asked.get("optional").is_some() {
            continue;
        }
        let mut spec = match &root["workspace"]["dependencies"][name] {
            toml::Value::Table(spec) => spec.clone(),
            version => toml::Table::from_iter([("version".to_owned(), version.clone())]),
        };
        if let Some(path) = spec.get("path").and_then(|p| p.as_str()) {
            let path = workspace().join(path).to_str().unwrap().to_owned();
            spec.insert("path".into(), path.into());
        }
        dependencies.insert(name.clone(), spec.into());
    }
    let dependencies =
        toml::to_string(&toml::Table::from_iter([("dependencies".to_owned(), dependencies.into())]));
    format!(
        "[package]\nname = \"corral-plugin-abi\"\nversion = \"{version}\"\nedition = \"2024\"\n\
         [features]\nhost = []\n{}",
        dependencies.unwrap()
    )
}

/// Builds a plugin against this crate with `edits` made: file, what is there, what is there instead.
fn plugin(name: &str, version: &str, edits: &[(&str, &str, &str)]) -> PathBuf {
    let here = target().join("versions").join(name);
    // Cargo knows a package by its path within the workspace: those of several workspaces must not be the same.
    let (abi, plugin) = (format!("abi-{name}"), format!("{name}-plugin"));
    let sources = workspace().join("corral-plugin-abi/src");
    for file in [
        "abi.rs",
        "author.rs",
        "author/export.rs",
        "author/panic.rs",
        "author/plugin.rs",
        "author/view.rs",
        "export_macro.rs",
        "lib.rs",
    ] {
        let mut text = fs::read_to_string(sources.join(file)).unwrap();
        for (_, from, to) in edits.iter().filter(|(edited, ..)| *edited == file) {
            assert!(text.contains(from), "{file} has no {from:?}");
            text = text.replace(from, to);
        }
        write(&here.join(&abi).join("src").join(file), &text);
    }
    write(&here.join(&abi).join("Cargo.toml"), &manifest(version));
    write(
        &here.join("Cargo.toml"),
        &format!("[workspace]\nresolver = \"3\"\nmembers = [{abi:?}, {plugin:?}]\n"),
    );
    // Cargo prunes its copy of the lock file; begin again only when the workspace's has changed.
    let (lock, kept) =
        (fs::read_to_string(workspace().join("Cargo.lock")).unwrap(), here.join("Cargo.lock.from"));
    if fs::read_to_string(&kept).ok().as_ref() != Some(&lock) {
        fs::write(here.join("Cargo.lock"), &lock).unwrap();
        fs::write(kept, lock).unwrap();
    }
    write(
        &here.join(&plugin).join("Cargo.toml"),
        &format!(
            "[package]\nname = \"{plugin}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[lib]\n\
             crate-type = [\"cdylib\"]\n[dependencies]\ncorral-plugin-abi = {{ path = \"../{abi}\" }}\n"
        ),
    );
    let base = workspace().join("corral-plugin-abi/tests/fixtures/bases/draws.rs");
    write(
        &here.join(&plugin).join("src/lib.rs"),
        &format!(
            "#[path = {:?}]\nmod draws;\ncorral_plugin_abi::corral_plugin! {{ \"draws\" => draws::Draws }}\n",
            base.to_str().unwrap()
        ),
    );
    let made = cargo(&here, &["build", "--offline", "-p", &plugin]);
    made.into_values().next().expect("a library")
}

fn runs(loaded: &Library) -> Box<dyn Base<Context, Arm>> {
    let mut setup = Setup::arms(3, None);
    setup.context.features = 1;
    let mut base = loaded.build("draws", "", &setup).unwrap().into_arms().expect("arms");
    let (x, mut rng) = (Context::shared(vec![1.0], 3), Pcg64Dxsm::seed_from_u64(1));
    let made = base.propose(&x, &mut rng).unwrap();
    base.learn(&x, &made, Feedback::plain(0.5)).unwrap();
    base.pass(&x).unwrap();
    base
}

fn refuse(path: &Path) -> LoadError {
    load_file(path, &in_this_process()).expect_err("a refusal").why
}

const LAST: &str = "    pub extension: Option<unsafe extern \"C\" fn(id: u64) -> *const c_void>,\n";

#[test]
fn a_newer_plugin_with_an_entry_more_loads() {
    let more = format!("{LAST}    pub flavour: Option<unsafe extern \"C\" fn() -> u32>,\n");
    let newer = plugin(
        "newer",
        "0.1.1",
        &[
            ("abi.rs", LAST, &more),
            (
                "author/export.rs",
                "extension: Some(extension::<B>),",
                "extension: Some(extension::<B>), flavour: None,",
            ),
        ],
    );
    let loaded = load_file(&newer, &in_this_process()).unwrap();
    assert_eq!(loaded.about().unwrap().interface.as_deref(), Some("0.1.1"));
    assert!(runs(&loaded).abilities().learns_from_others);
}

#[test]
fn an_older_plugin_loads_and_what_it_lacks_has_defaults() {
    let learns =
        "    pub learns_from_others: Option<unsafe extern \"C\" fn(instance: *mut c_void) -> u32>,\n";
    let older = plugin(
        "older",
        "0.1.0",
        &[
            ("abi.rs", LAST, ""),
            ("abi.rs", learns, ""),
            (
                "abi.rs",
                "    /// Whether it can learn from decisions of others: 0 or 1. Null: it cannot.\n",
                "",
            ),
            (
                "abi.rs",
                "    /// What a later version may ask for by number; null for numbers that are not known. Null: nothing.\n",
                "",
            ),
            ("author/export.rs", "learns_from_others: Some(learns_from_others::<B>),", ""),
            (
                "abi.rs",
                "    pub heeds_passes: Option<unsafe extern \"C\" fn(instance: *mut c_void) -> u32>,\n",
                "",
            ),
            (
                "abi.rs",
                "    /// Whether `pass` does anything: 0 or 1. Null: it does, where there is one.\n",
                "",
            ),
            ("author/export.rs", "heeds_passes: Some(heeds_passes::<B>),", ""),
            ("author/export.rs", "extension: Some(extension::<B>),", ""),
        ],
    );
    let loaded = load_file(&older, &in_this_process()).unwrap();
    let base = runs(&loaded);
    assert!(!base.abilities().learns_from_others, "the base would, but its table cannot say so");
    assert!(base.likelihood(&Context::shared(vec![1.0], 3), &Arm(0)).is_some());
}

#[test]
fn a_changed_table_is_refused_in_a_few_lines() {
    let changed = plugin(
        "changed",
        "0.1.0",
        &[
            ("abi.rs", "pub alpha: f64,", "pub alpha: f32,"),
            ("author/export.rs", "Some(alpha) => alpha,", "Some(alpha) => alpha as f32,"),
            ("author/export.rs", "None => f64::NAN,", "None => f32::NAN,"),
            ("abi.rs", "pub description: CorralStr,", "pub summary: CorralStr,"),
            ("author/export.rs", "description: borrowed(", "summary: borrowed("),
        ],
    );
    let why = refuse(&changed);
    assert!(matches!(why, LoadError::Layout(_)), "{why}");
    let text = why.to_string();
    assert_eq!(
        text,
        "its table differs from this host's:\n  \
         `CorralBaseV1`: expected the field `description`, found `summary`\n  \
         field `alpha` of `CorralBaseV1`: expected type f64, found f32"
    );
}

#[test]
fn another_version_of_the_interface_is_named() {
    let other = plugin("other", "0.2.0", &[]);
    assert_eq!(refuse(&other).to_string(), "built with corral-plugin-abi 0.2.0; this host has 0.1.0");
}
