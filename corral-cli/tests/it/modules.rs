//! What the sources of every crate keep. No crate has a cycle among its modules (the files and folders of its `src`, by the
//! `crate::` paths in them), no error prints its source and returns it too, and the traits of authors are short.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What a module names of its own crate.
type Graph = BTreeMap<String, BTreeSet<String>>;

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.extension() {
            None => files(&path, found),
            Some(kind) if kind == "rs" => found.push(path),
            Some(_) => {}
        }
    }
}

/// The code of a file, without comments and without its tests.
fn code(text: &str) -> String {
    let text = text.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// The names at the beginning of what `use crate::{...}` or a path `crate::name` holds.
fn names(code: &str) -> Vec<String> {
    let word = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let mut found = Vec::new();
    // What a macro names is named where it is used.
    for (at, _) in code.match_indices("crate::").filter(|(at, _)| !code[..*at].ends_with('$')) {
        let rest = &code[at + "crate::".len()..];
        let Some(list) = rest.strip_prefix('{') else {
            found.push(word(rest));
            continue;
        };
        let mut depth = 0;
        let mut part = String::new();
        for c in list.chars() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => found.push(word(std::mem::take(&mut part).trim())),
                _ if depth == 0 => part.push(c),
                _ => {}
            }
        }
        found.push(word(part.trim()));
    }
    found
}

/// Who names whom in a crate. What `lib.rs` exports stands for the module that it is from.
fn graph(source: &Path) -> Graph {
    let lib = ["lib.rs", "main.rs"].iter().find_map(|name| std::fs::read_to_string(source.join(name)).ok());
    let lib = code(&lib.unwrap());
    let mut home = BTreeMap::new();
    for export in lib.split("pub use ").skip(1).filter_map(|e| e.split(';').next()) {
        let Some((module, items)) = export.split_once("::") else { continue };
        for item in items.split(|c: char| !(c.is_alphanumeric() || c == '_')) {
            home.insert(item.to_owned(), module.to_owned());
        }
    }
    let (mut found, mut graph) = (Vec::new(), Graph::new());
    files(source, &mut found);
    let module = |path: &Path| {
        let first = path.strip_prefix(source).unwrap().components().next().unwrap();
        Path::new(&first).file_stem().unwrap().to_string_lossy().into_owned()
    };
    for path in found.iter().filter(|p| !p.file_stem().unwrap().to_string_lossy().ends_with("tests")) {
        let own = module(path);
        if own == "lib" || own == "main" {
            continue;
        }
        let mut text = code(&std::fs::read_to_string(path).unwrap());
        if path.parent() == Some(source) {
            text = text.replace("super::", "crate::");
        }
        let named = names(&text);
        let named = named.into_iter().map(|name| home.get(&name).cloned().unwrap_or(name));
        graph.entry(own.clone()).or_default().extend(named.filter(|name| *name != own));
    }
    graph
}

/// A way from a module back to it.
fn cycle(graph: &Graph) -> Option<Vec<String>> {
    fn walk(graph: &Graph, path: &mut Vec<String>, done: &mut BTreeSet<String>) -> Option<Vec<String>> {
        let last = path.last()?.clone();
        for next in graph.get(&last).into_iter().flatten().filter(|next| graph.contains_key(*next)) {
            if let Some(from) = path.iter().position(|module| module == next) {
                return Some(path[from..].to_vec());
            }
            if !done.contains(next) {
                path.push(next.clone());
                let found = walk(graph, path, done);
                if found.is_some() {
                    return found;
                }
                path.pop();
            }
        }
        done.insert(last);
        None
    }
    let mut done = BTreeSet::new();
    graph.keys().find_map(|start| walk(graph, &mut vec![start.clone()], &mut done))
}

#[test]
fn modules_have_no_cycles() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for name in [
        "corral-core",
        "corral-bases",
        "corral-envs",
        "corral-plugin-abi",
        "corral-plugin-wasm",
        "corral-log",
        "corral-lab",
        "corral-serve",
        "corral-cli",
        "corral-py",
    ] {
        let graph = graph(&root.join(name).join("src"));
        assert!(graph.len() > 3, "{name}: {graph:?}");
        assert_eq!(cycle(&graph), None, "{name}");
    }
}

/// Whoever prints a chain of errors would print such a source twice.
#[test]
fn no_error_prints_its_source_and_returns_it_too() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = Vec::new();
    for name in [
        "corral-core",
        "corral-bases",
        "corral-envs",
        "corral-plugin-abi",
        "corral-plugin-wasm",
        "corral-log",
        "corral-lab",
        "corral-serve",
        "corral-cli",
        "corral-py",
    ] {
        files(&root.join(name).join("src"), &mut found);
    }
    let mut errors = 0;
    for path in found {
        let text = std::fs::read_to_string(&path).unwrap();
        for (at, _) in text.match_indices("#[error(\"") {
            errors += 1;
            let (message, rest) = text[at..].split_once(")]\n").unwrap();
            let variant = rest.lines().find(|line| !line.trim_start().starts_with("///")).unwrap();
            let given = variant.contains("#[from]") || variant.contains("#[source]");
            assert!(!(message.contains("{source") || given && message.contains("{0")), "{path:?}: {message}");
        }
    }
    assert!(errors > 50, "{errors} errors were looked at");
}

/// The Python package is the laboratory without a command line.
#[test]
fn python_has_no_command_line() {
    let tree = ["tree", "--offline", "--locked", "-e", "normal", "--prefix", "none", "-p", "corral-py"];
    let output = std::process::Command::new(env!("CARGO")).args(tree).output().expect("cargo starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("corral-lab v"), "{said}");
    let line = said
        .lines()
        .find(|line| ["clap", "indicatif", "ctrlc", "corral-cli"].iter().any(|c| line.starts_with(c)));
    assert_eq!(line, None);
}

#[test]
fn a_cycle_is_found() {
    let edges = [("a", "b"), ("b", "c"), ("c", "b")];
    let mut graph = Graph::new();
    for (from, to) in edges {
        graph.entry(from.to_owned()).or_default().insert(to.to_owned());
    }
    assert_eq!(cycle(&graph), Some(vec!["b".to_owned(), "c".to_owned()]));
    assert_eq!(names("use crate::{A, b::{c, d}, e};\ncrate::f::g()"), ["A", "b", "e", "f"]);
}

/// Whoever writes a base, a master or an environment reads at most eight methods; what few need is behind the last of them.
#[test]
fn an_author_reads_at_most_eight_methods() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let traits = [
        ("corral-core/src/base.rs", "pub trait Base<"),
        ("corral-core/src/master.rs", "pub trait Master:"),
        ("corral-envs/src/environment.rs", "pub trait Environment<"),
    ];
    for (file, head) in traits {
        let text = code(&std::fs::read_to_string(root.join(file)).unwrap());
        let body = text.split(head).nth(1).unwrap().split("\n}\n").next().unwrap();
        let methods = body.lines().filter(|line| line.starts_with("    fn ")).count();
        assert!((5..=8).contains(&methods), "{file}: {head} has {methods} methods");
    }
}
