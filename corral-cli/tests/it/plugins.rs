//! Plugins as a user of the program meets them. The libraries are C, which a compiler makes in no time; where there is
//! none, the tests say so and pass.
#![cfg(target_os = "linux")]

#[path = "../../../corral-plugin-abi/tests/common/mod.rs"]
mod common;

use std::fs;
use std::process::{Command, Output};

use crate::launch::{corral, refused};
use common::{SHARED, c, compile, folder, workspace};
use tempfile::TempDir;

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A folder with the C example and the faulty fixture in `plugins/`.
fn user() -> Option<TempDir> {
    let dir = folder();
    let plugins = dir.path().join("plugins");
    fs::create_dir(&plugins).unwrap();
    let source = workspace().join("examples/plugins/c-epsilon-greedy/epsilon_greedy.c");
    compile("cc", &workspace().join("corral-plugin-abi"), &source, &plugins.join("greedy.so"), SHARED)?;
    c("faulty.c", &plugins.join("faulty.so"), SHARED)?;
    fs::write(plugins.join("text.so"), "hello").unwrap();
    Some(dir)
}

fn spec(bases: &str) -> String {
    format!(
        "rounds = 400\nseeds = 2\nenvironment = {{ name = \"bernoulli\", means = [0.9, 0.5, 0.2] }}\n\
         [[learner]]\nlabel = \"band\"\nmaster = \"corral\"\nbases = [ \"ucb1\", {bases} ]\n"
    )
}

#[test]
fn plugins_are_found_listed_and_examined() {
    let Some(dir) = user() else { return };
    let listed = corral(dir.path(), &["list", "plugins"]);
    assert!(listed.status.success(), "{}", err(&listed));
    for key in ["faulty/faulty", "faulty/points", "greedy/epsilon-greedy"] {
        assert!(out(&listed).contains(key), "{}", out(&listed));
    }
    assert!(err(&listed).contains("plugin refused: plugins/text.so: not a library"), "{}", err(&listed));

    let elsewhere = folder();
    let plugins = dir.path().join("plugins");
    let plugins = plugins.to_str().unwrap();
    assert!(out(&corral(elsewhere.path(), &["list", "plugins"])).contains("no plugins"));
    assert!(out(&corral(elsewhere.path(), &["list", "plugins", "--plugins", plugins])).contains("greedy/"));
    let by_variable = Command::new(env!("CARGO_BIN_EXE_corral"))
        .args(["list", "plugins"])
        .current_dir(elsewhere.path())
        .env("CORRAL_PLUGINS", plugins)
        .output()
        .unwrap();
    assert!(out(&by_variable).contains("greedy/"));

    let fine = corral(dir.path(), &["plugin", "check", "plugins/greedy.so"]);
    assert!(fine.status.success() && !out(&fine).contains("FAILED"), "{}{}", out(&fine), err(&fine));
    assert!(out(&fine).contains("ok      continuation"), "{}", out(&fine));
    let text = corral(dir.path(), &["plugin", "check", "plugins/text.so"]);
    assert_eq!((text.status.code(), &*out(&text)), (Some(2), "FAILED  pre-flight\n"));

    // A base that ends its process is told how not to end a run.
    for (fault, hint) in [("\"abort\"", true), ("\"nan\"", false)] {
        let broken = corral(
            dir.path(),
            &["plugin", "check", "plugins/faulty.so", "--params", &format!("fault = {fault}")],
        );
        assert_eq!(broken.status.code(), Some(1));
        assert_eq!(out(&broken).contains("isolate = true in its table"), hint, "{}", out(&broken));
    }
}

#[test]
fn a_base_in_its_own_process_gives_the_same_run() {
    let Some(dir) = user() else { return };
    let cells = |base: &str| {
        fs::write(dir.path().join("spec.toml"), spec(base)).unwrap();
        let ran = corral(dir.path(), &["run", "spec.toml", "--quiet", "--format", "csv"]);
        assert!(ran.status.success(), "{}", err(&ran));
        out(&ran)
    };
    let here = cells("{ name = \"greedy/epsilon-greedy\", epsilon = 0.2 }");
    assert_eq!(here, cells("{ name = \"greedy/epsilon-greedy\", epsilon = 0.2, isolate = true }"));
    assert_ne!(here, cells("{ name = \"greedy/epsilon-greedy\", epsilon = 0.9 }"));
}

#[test]
fn a_base_that_dies_is_benched_and_the_run_goes_on_and_says_so() {
    let Some(dir) = user() else { return };
    for (fault, nested, why) in [
        ("null-write", false, "ended by signal 11 (segmentation fault)"),
        ("abort", false, "ended by signal 6 (abort)"),
        ("exit", false, "ended with exit code 42"),
        ("nan", false, "number 0 of the memo is NaN"),
        // Inside of a band that is a base it is the same, by the names of both.
        ("own-text", true, "1/1: propose: faulty: propose: no reason was given"),
    ] {
        let mut base = format!("{{ name = \"faulty/faulty\", fault = {fault:?}, isolate = true }}");
        if nested {
            base = format!("{{ master = \"corral\", bases = [\"exp3\", {base}] }}");
        }
        fs::write(dir.path().join("spec.toml"), spec(&base)).unwrap();
        let ran = corral(dir.path(), &["run", "spec.toml", "--quiet", "--out", fault]);
        assert!(ran.status.success(), "{}", err(&ran));
        let said = "band: 2 times a base was benched and the run continued with the others; seed 0, round ";
        assert!(out(&ran).contains(said) && out(&ran).contains(why), "{}", out(&ran));
        let again = corral(dir.path(), &["run", "spec.toml", "--quiet", "--out", fault, "--format", "json"]);
        let answer: serde_json::Value = serde_json::from_str(&out(&again)).unwrap();
        let benched = answer["learners"][0]["benched"].as_array().unwrap();
        assert!(benched.len() == 2 && benched[1].as_str().unwrap().contains(why), "{benched:?}");
        assert!(fs::read_to_string(dir.path().join(fault).join("report.html")).unwrap().contains(why));
    }
}

#[test]
fn a_plugin_that_ends_the_run_is_named_with_what_to_do() {
    let Some(dir) = user() else { return };
    let here = |fault: &str| format!("{{ name = \"faulty/faulty\", fault = {fault:?} }}");
    for (fault, how) in [
        ("null-write", "signal: 11"),
        ("abort", "signal: 6"),
        ("exit", "42"),
        ("exit-zero", "exit status: 0"),
    ] {
        let nested = format!("{{ master = \"corral\", bases = [\"exp3\", {}] }}", here(fault));
        for base in [here(fault), nested] {
            fs::write(dir.path().join("spec.toml"), spec(&base)).unwrap();
            let ran = corral(dir.path(), &["run", "spec.toml", "--quiet"]);
            refused(&ran, 1, &["ended without a word", how, "faulty/faulty runs in it", "isolate = true"]);
        }
    }
    // Where nothing ends it, all is as it is without a parent: what is printed, and the exit codes.
    fs::write(dir.path().join("spec.toml"), spec(&here("none"))).unwrap();
    let fine = corral(dir.path(), &["run", "spec.toml", "--format", "csv", "--quiet"]);
    assert_eq!((fine.status.code(), err(&fine)), (Some(0), String::new()));
    assert_eq!(out(&fine).lines().count(), 1 + 2);
    let wrong = corral(dir.path(), &["run", "spec.toml", "--set", "learner.0.bases.1.name=\"faulty/other\""]);
    refused(&wrong, 2, &["unknown plugin base \"faulty/other\""]);
    assert_eq!(err(&wrong).matches("error:").count(), 1, "{}", err(&wrong));
}

#[test]
fn a_run_with_plugins_ends_when_it_is_told_to() {
    let Some(dir) = user() else { return };
    let text = spec("{ name = \"greedy/epsilon-greedy\", epsilon = 0.2 }")
        .replace("rounds = 400", "rounds = 1000000000");
    fs::write(dir.path().join("spec.toml"), text).unwrap();
    for signal in ["TERM", "INT"] {
        let mut run = Command::new(env!("CARGO_BIN_EXE_corral"))
            .args(["run", "spec.toml", "--quiet", "--out", signal])
            .current_dir(dir.path())
            .env_remove("CORRAL_PLUGINS")
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        while !dir.path().join(signal).join("cells.partial.jsonl").exists() {
            assert!(run.try_wait().unwrap().is_none());
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        // To the parent alone: the child is told by it.
        assert!(
            Command::new("kill")
                .args([&format!("-{signal}"), &run.id().to_string()])
                .status()
                .unwrap()
                .success()
        );
        assert_eq!(run.wait().unwrap().code(), Some(130), "{signal}");
    }
}

/// A folder with the hostile fixture, copies of which do what `CORRAL_HOSTILE` says.
fn hostile(spec: &str) -> Option<TempDir> {
    let dir = folder();
    fs::create_dir(dir.path().join("plugins")).unwrap();
    let flags = [SHARED, &["-pthread"]].concat();
    c("hostile.c", &dir.path().join("plugins/hostile.so"), &flags)?;
    fs::write(dir.path().join("spec.toml"), spec).unwrap();
    Some(dir)
}

/// Runs the program while the fixture does `deed`.
fn during(deed: &str, dir: &TempDir, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corral"));
    command.args(args).current_dir(dir.path()).env("CORRAL_HOSTILE", deed).env_remove("CORRAL_PLUGINS");
    command.output().unwrap()
}

const OPENING: [&str; 6] = [
    "constructor:segv",
    "constructor:exit0",
    "constructor:round",
    "constructor:flush",
    "entry:segv",
    "entry:exit0",
];

#[test]
fn a_plugin_that_no_spec_names_changes_nothing_by_lying_there() {
    let Some(dir) = hostile(&spec("\"exp3\"")) else { return };
    let args = ["run", "spec.toml", "--quiet", "--format", "csv", "--jobs", "1"];
    let alone = during("", &dir, &[&args[..], &["--plugins", "."]].concat());
    assert!(alone.status.success(), "{}", err(&alone));
    for (i, deed) in OPENING.iter().enumerate() {
        let beside = during(deed, &dir, &[&args[..], &["--out", &format!("out{i}")]].concat());
        assert!(beside.status.success(), "{deed}: {}", err(&beside));
        assert_eq!(out(&beside), out(&alone), "{deed}");
    }
}

#[test]
fn isolation_covers_opening() {
    let isolated = spec("{ name = \"hostile/hostile\", isolate = true }");
    let Some(dir) = hostile(&isolated) else { return };
    let args = ["run", "spec.toml", "--quiet", "--format", "csv", "--jobs", "1"];
    let good = during("", &dir, &args);
    assert!(good.status.success(), "{}", err(&good));
    for (i, deed) in OPENING.iter().enumerate() {
        let ran = during(deed, &dir, &[&args[..], &["--out", &format!("out{i}")]].concat());
        if deed.ends_with("round") || deed.ends_with("flush") {
            assert_eq!(out(&ran), out(&good), "{deed}: {}", err(&ran));
            continue;
        }
        assert_eq!((ran.status.code(), &*out(&ran)), (Some(2), ""), "{deed}: {}", err(&ran));
        let said = "spec.toml: line 7: base \"hostile/hostile\": plugin refused: plugins/hostile.so: a child process was to open it: its process ";
        assert!(err(&ran).contains(said), "{deed}: {}", err(&ran));
        let listed = during(deed, &dir, &["list", "plugins"]);
        assert!(listed.status.success() && out(&listed).contains("no plugins"), "{}", out(&listed));
        assert!(err(&listed).contains("plugins/hostile.so: a child process"), "{}", err(&listed));
    }
}

#[test]
fn a_plugin_that_ends_its_process_passes_no_examination() {
    let Some(dir) = hostile("") else { return };
    let check = ["plugin", "check", "plugins/hostile.so"];
    for place in
        ["constructor", "entry", "create", "propose", "learn", "pass", "save", "load", "rerange", "destroy"]
    {
        let checked = during(&format!("{place}:exit0"), &dir, &check);
        let code = if matches!(place, "constructor" | "entry") { 2 } else { 1 };
        assert_eq!(checked.status.code(), Some(code), "{place}: {}{}", out(&checked), err(&checked));
        let said = format!("{}{}", out(&checked), err(&checked));
        assert!(said.contains("its process ended with exit code 0"), "{place}: {said}");
    }
}

#[test]
fn a_run_remembers_the_plugins_that_it_used_and_no_others() {
    let Some(dir) = user() else { return };
    let run = || {
        let ran = corral(dir.path(), &["run", "spec.toml", "--quiet", "--out", "out", "--format", "csv"]);
        (ran.status.code(), out(&ran), err(&ran))
    };
    fs::write(dir.path().join("spec.toml"), spec("\"exp3\"")).unwrap();
    let first = run();
    assert_eq!(first.0, Some(0), "{}", first.2);
    let more = dir.path().join("plugins/more.so");
    fs::copy(dir.path().join("plugins/faulty.so"), &more).unwrap();
    assert_eq!(run(), first, "a plugin more");
    fs::remove_file(&more).unwrap();
    assert_eq!(run(), first, "a plugin less");

    fs::remove_dir_all(dir.path().join("out")).unwrap();
    fs::write(dir.path().join("spec.toml"), spec("\"greedy/epsilon-greedy\"")).unwrap();
    assert_eq!(run().0, Some(0));
    let greedy = dir.path().join("plugins/greedy.so");
    fs::write(&greedy, [fs::read(&greedy).unwrap(), vec![0]].concat()).unwrap();
    let (code, _, why) = run();
    assert!(code == Some(2) && why.contains("the same spec with other plugins"), "{code:?} {why}");
}

#[test]
fn a_folder_of_somebody_else_is_not_searched_for_plugins() {
    let Some(dir) = user() else { return };
    if std::os::unix::fs::chown(dir.path(), Some(12345), None).is_err() {
        println!("skipped: only root gives files away");
        return;
    }
    let listed = corral(dir.path(), &["list", "plugins"]);
    assert!(out(&listed).contains("no plugins"), "{}", out(&listed));
    assert!(err(&listed).contains("plugin refused: .: its folder belongs to user 12345"), "{}", err(&listed));
    for more in [&["--plugins", "plugins"][..], &["--allow-other-owners"]] {
        let listed = corral(dir.path(), &[&["list", "plugins"], more].concat());
        assert!(out(&listed).contains("greedy/epsilon-greedy"), "{}", err(&listed));
    }
}

/// A plugin is told losses in [0, 1] whatever the world's units are: in a world of losses in [0, 8] it plays as in the same
/// world divided by 8, and where larger is better it finds the largest reward.
#[test]
fn a_plugin_in_a_rescaled_world_is_told_losses_of_one_unit() {
    let Some(dir) = user() else { return };
    let plugin = "{ name = \"greedy/epsilon-greedy\", epsilon = 0.1 }";
    let rows = |world: &str| -> Vec<(String, f64, String)> {
        let spec = format!(
            "rounds = 2000\nseeds = 3\nenvironment = {{ name = \"gaussian\", label = \"w\", {world} }}\n\
             [[learner]]\nlabel = \"band\"\nmaster = \"practical\"\nbases = [ \"random\", {plugin} ]\n\
             [[learner]]\nlabel = \"plugin\"\nbase = {plugin}\n[[learner]]\nbase = \"random\"\n"
        );
        fs::write(dir.path().join("spec.toml"), spec).unwrap();
        let ran = corral(dir.path(), &["run", "spec.toml", "--quiet", "--format", "json"]);
        assert!(ran.status.success(), "{}", err(&ran));
        let answer: serde_json::Value = serde_json::from_str(&out(&ran)).unwrap();
        let of = |row: &serde_json::Value| {
            let name = row["label"].as_str().unwrap().to_owned();
            (name, row["loss"]["mean"].as_f64().unwrap(), row["benched"].to_string())
        };
        answer["learners"].as_array().unwrap().iter().map(of).collect()
    };
    let unit = rows("means = [0.875, 0.5, 0.25], sd = 0.0625");
    assert_eq!(unit, rows("means = [7.0, 4.0, 2.0], sd = 0.5, clip = false, rescale = [0.0, 8.0]"));
    let rewards = rows(
        "means = [1.0, 4.0, 6.0], sd = 0.5, clip = false, rescale = { low = 0.0, high = 8.0, clip = true, rewards = true }",
    );
    for found in [unit, rewards] {
        let [(_, band, benched), (_, plugin, _), (_, random, _)] = &found[..] else { panic!("{found:?}") };
        assert!(*plugin < 0.7 * random && *band < 0.7 * random && benched == "[]", "{found:?}");
    }
}

/// The practical preset tells its bases no horizon; a plugin that says that it cannot do without is given it.
#[test]
fn a_plugin_that_needs_a_horizon_is_given_it() {
    let dir = folder();
    let plugins = dir.path().join("plugins");
    fs::create_dir(&plugins).unwrap();
    let needs = [SHARED, &["-DNEEDS_HORIZON"]].concat();
    if c("faulty.c", &plugins.join("planner.so"), &needs).is_none() {
        return;
    }
    for isolate in ["false", "true"] {
        let plugin = format!("{{ name = \"planner/faulty\", isolate = {isolate} }}");
        let spec = spec(&plugin).replace("\"corral\"", "\"practical\"");
        fs::write(dir.path().join("spec.toml"), spec).unwrap();
        let ran = corral(dir.path(), &["run", "spec.toml", "--quiet", "--format", "json"]);
        assert!(ran.status.success(), "isolate = {isolate}: {}", err(&ran));
    }
}

#[test]
fn nothing_that_the_program_prints_acts_on_the_terminal() {
    let text = "rounds = 100\nseeds = 2\nenvironment = { name = \"bernoulli\", means = [0.9, 0.2] }\n\
                [[learner]]\nlabel = \"\\u001b[2Jred\"\nbase = \"exp3\"\n\
                [[learner]]\nlabel = \"band\"\nmaster = \"corral\"\nbases = [ \"ucb1\", \
                { name = \"hostile/hostile\", isolate = true } ]\n";
    let Some(dir) = hostile(text) else { return };
    fs::write(dir.path().join("plugins/\u{1b}[31m.so"), "hello").unwrap();
    fs::copy(dir.path().join("spec.toml"), dir.path().join("\u{1b}[2J.toml")).unwrap();
    let harmless = |said: &[u8]| !said.iter().any(|b| b.is_ascii_control() && !matches!(b, b'\n' | b'\t'));
    let commands: [&[&str]; 6] = [
        &["run", "spec.toml", "--format", "table"],
        &["run", "spec.toml", "--format", "csv"],
        &["run", "\u{1b}[2J.toml", "--check"],
        &["run", "\u{1b}[2Jnowhere.toml"],
        &["list", "plugins"],
        &["plugin", "check", "plugins/hostile.so"],
    ];
    for (i, command) in commands.iter().enumerate() {
        for deed in ["", "propose:control", "create:control", "entry:control"] {
            let more: &[&str] = if i < 2 { &["--out", &format!("out-{i}-{deed}")] } else { &[] };
            let ran = during(deed, &dir, &[command, more].concat());
            assert!(
                harmless(&ran.stdout) && harmless(&ran.stderr),
                "{command:?} {deed}: {:?} {:?}",
                out(&ran),
                err(&ran)
            );
        }
    }
}

#[cfg(feature = "wasm")]
#[test]
fn a_module_is_written_built_examined_and_run() {
    let dir = folder();
    assert!(
        out(&corral(dir.path(), &["plugin", "new", "mine", "--wasm"]))
            .contains("corral plugin check mine.wasm")
    );
    let mut made = std::process::Command::new("make");
    made.args(["-C", "mine", "install", "PLUGINS=../plugins"]);
    if !made.current_dir(dir.path()).output().is_ok_and(|made| made.status.success()) {
        println!("SKIPPED: no clang, wasm-ld or make (on Debian: apt install clang lld make)");
        return;
    }
    let checked = corral(dir.path(), &["plugin", "check", "plugins/mine.wasm", "--params", "epsilon = 0.2"]);
    assert!(checked.status.success(), "{}{}", out(&checked), err(&checked));
    let run = |key: &str| {
        fs::write(dir.path().join("spec.toml"), spec(&format!("{{ name = \"mine/mine\", {key} }}"))).unwrap();
        let ran = corral(dir.path(), &["run", "spec.toml"]);
        (ran.status.success(), out(&ran) + &err(&ran))
    };
    let (ran, said) = run("epsilon = 0.05");
    assert!(ran && !said.contains("benched"), "{said}");
    assert!(run("fuel = 100").1.contains("took more than 100 steps"));
    assert!(run("isolate = true").1.contains("leave out isolate and time-limit"));
}

#[test]
fn a_new_plugin_is_written_with_the_commands_that_build_it() {
    let dir = folder();
    let wrote = corral(dir.path(), &["plugin", "new", "my-base"]);
    assert!(wrote.status.success(), "{}", err(&wrote));
    assert!(out(&wrote).contains("corral plugin check target/release/libmy_base.so"), "{}", out(&wrote));
    assert!(out(&wrote).contains("--corral DIR"), "{}", out(&wrote));
    assert!(dir.path().join("my-base/src/lib.rs").exists());
    let read_me = std::fs::read_to_string(dir.path().join("my-base/README.md")).unwrap();
    assert!(read_me.contains("--corral DIR"), "{read_me}");
    let manifest = |name: &str| std::fs::read_to_string(dir.path().join(name).join("Cargo.toml")).unwrap();
    assert!(manifest("my-base").contains("corral-plugin-abi = \"0."), "{}", manifest("my-base"));
    // A checkout is named as it is seen from the plugin's folder.
    std::fs::create_dir_all(dir.path().join("house/corral-plugin-abi")).unwrap();
    std::fs::write(dir.path().join("house/corral-plugin-abi/Cargo.toml"), "").unwrap();
    let other = corral(dir.path(), &["plugin", "new", "other", "--corral", "house"]);
    assert!(other.status.success() && !out(&other).contains("registry"), "{}", out(&other));
    assert!(manifest("other").contains("{ version = \"0."), "{}", manifest("other"));
    assert!(manifest("other").contains("path = \"../house/corral-plugin-abi\" }"), "{}", manifest("other"));
    assert!(corral(dir.path(), &["plugin", "new", "inside", "--dir", "house"]).status.success());
    assert!(
        manifest("house/inside").contains("path = \"../corral-plugin-abi\" }"),
        "{}",
        manifest("house/inside")
    );
    assert_eq!(corral(dir.path(), &["plugin", "new", "none", "--corral", "."]).status.code(), Some(2));
    assert_eq!(corral(dir.path(), &["plugin", "new", "my-base"]).status.code(), Some(2));
    assert_eq!(corral(dir.path(), &["plugin", "new", "My Base"]).status.code(), Some(2));
}
