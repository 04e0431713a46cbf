//! A fixture and a test for every row of the table of faults that a process can survive by itself.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::common::{SHARED, c, folder, in_this_process, rust};
use corral_plugin_abi::host::{
    Door, Library, LoadError, LoadPolicy, Plugins, Refused, inspect, load_dir, load_file,
};
use corral_plugin_abi::prelude::*;
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

fn world(actions: usize, features: usize) -> Setup {
    let mut setup = Setup::arms(actions, Some(1000));
    setup.context.features = features;
    setup
}

fn refuse(path: &Path) -> LoadError {
    load_file(path, &in_this_process()).expect_err("a refusal").why
}

fn arms(loaded: &Library, base: &str, params: &str, setup: &Setup) -> Box<dyn Base<Context, Arm>> {
    loaded.build(base, params, setup).unwrap().into_arms().expect("arms were asked for")
}

fn points(loaded: &Library, base: &str, params: &str, setup: &Setup) -> Box<dyn Base<Context, Point>> {
    loaded.build(base, params, setup).unwrap().into_points().expect("points were asked for")
}

#[test]
fn the_same_base_linked_and_loaded_gives_the_same_run() {
    let loaded = load_file(&rust("draws"), &in_this_process()).unwrap();
    assert_eq!((loaded.door, loaded.bases().len(), loaded.stem()), (Door::Rust, 2, "draws".into()));
    assert_eq!(loaded.about().unwrap().interface.as_deref(), Some("0.1.0"));
    let setup = world(5, 20);
    let mut linked: Box<dyn Base<Context, Arm>> = Box::new(
        crate::draws::Draws::build(crate::draws::DrawsParams { epsilon: 0.5, step: 0.1 }, &setup).unwrap(),
    );
    let mut other = arms(&loaded, "draws", "epsilon = 0.5", &setup);
    let mut worldly = Pcg64Dxsm::seed_from_u64(1);
    let (mut a, mut b) = (Pcg64Dxsm::seed_from_u64(2), Pcg64Dxsm::seed_from_u64(2));
    for round in 0..2000 {
        let x = Context::shared((0..20).map(|_| uniform(&mut worldly) - 0.5).collect(), 5);
        let (mine, theirs) = (linked.propose(&x, &mut a).unwrap(), other.propose(&x, &mut b).unwrap());
        assert_eq!((&mine, &a), (&theirs, &b), "round {round}");
        assert_eq!(linked.likelihood(&x, &Arm(3)), other.likelihood(&x, &Arm(3)));
        let feedback = Feedback::new(uniform(&mut worldly), f64::from(round % 3 != 0));
        linked.learn(&x, &mine, feedback).unwrap();
        other.learn(&x, &theirs, feedback).unwrap();
    }
    // The plugin's own snapshot, within the host's frame, is that of the linked base to the last bit.
    let framed: Vec<u8> = snapshot::open("plugin base draws version 0.1.0", 1, &other.save()).unwrap();
    assert_eq!(framed, linked.save());

    let setup = Setup::new(Space::Points(Set::Box { dim: 6 }), None);
    let mut linked = crate::walk::Walk::build(crate::walk::WalkParams {}, &setup).unwrap();
    let mut other = points(&loaded, "walk", "", &setup);
    let x = Context::plain(0);
    for _ in 0..200 {
        let (mine, theirs) = (linked.propose(&x, &mut a).unwrap(), other.propose(&x, &mut b).unwrap());
        assert_eq!(mine, theirs);
        let feedback = Feedback::plain(uniform(&mut worldly));
        Base::<Context, Point>::learn(&mut linked, &x, &mine, feedback).unwrap();
        other.learn(&x, &theirs, feedback).unwrap();
    }
}

#[test]
fn every_plugin_of_a_folder_loads_and_one_bad_file_stops_none() {
    let dir = folder();
    fs::copy(rust("draws"), dir.path().join("libone.so")).unwrap();
    fs::copy(rust("draws"), dir.path().join("libtwo.so")).unwrap();
    fs::copy(rust("faults"), dir.path().join("faults.so")).unwrap();
    fs::write(dir.path().join("bad.so"), "hello").unwrap();
    fs::write(dir.path().join("readme.txt"), "not looked at").unwrap();
    fs::write(dir.path().join("libmac.dylib"), "of another system").unwrap();
    fs::write(dir.path().join("windows.dll"), "of another system").unwrap();

    let mut registry = Plugins::new(in_this_process());
    registry.add_dir(dir.path());
    let keys: Vec<String> = registry.list().into_iter().map(|l| l.key).collect();
    assert_eq!(keys, ["faults/faulty", "faults/outside", "one/draws", "one/walk", "two/draws", "two/walk"]);
    let refused: Vec<String> = registry.refused().iter().map(ToString::to_string).collect();
    assert_eq!(refused.len(), 3);
    assert!(refused[0].ends_with("bad.so: not a library: 5 bytes that begin with 68656c6c"));
    for (refused, system) in refused[1..].iter().zip(["macOS", "Windows"]) {
        assert!(
            refused.contains(&format!("a library for {system}, and plugins are loaded on Linux only: build")),
            "{refused}"
        );
        assert!(refused.contains("WebAssembly"), "{refused}");
    }
    // The same where one file is looked at, by its name or by its bytes.
    let mac: Vec<u8> =
        [0xfeed_facf_u32, 0x0100_000c, 0, 6].iter().flat_map(|word| word.to_le_bytes()).collect();
    for (file, bytes, system) in
        [("x.dylib", &b"any"[..], "macOS"), ("x.dll", b"any", "Windows"), ("renamed.so", &mac, "macOS")]
    {
        let path = dir.path().join(file);
        fs::write(&path, bytes).unwrap();
        let found = inspect(&path, &in_this_process());
        assert!(found.loaded.is_none() && found.steps.len() == 1);
        let why = found.steps[0].1.as_ref().unwrap_err().to_string();
        assert!(
            why.contains(&format!("a library for {system}")) && why.contains("WebAssembly"),
            "{file}: {why}"
        );
    }

    // Independent: a fault of one is not the other's.
    let params: toml::Table = toml::from_str("epsilon = 1.0").unwrap();
    assert!(registry.build("libtwo/draws", &params, false, &world(2, 1)).is_ok());
    let unknown = registry.build("one/drawz", &params, false, &world(2, 1)).unwrap_err();
    assert!(
        unknown.to_string().starts_with(r#"unknown plugin base "one/drawz"; the nearest are one/draws"#),
        "{unknown}"
    );
    let far = registry.build("elsewhere/zigzag", &params, false, &world(2, 1)).unwrap_err().to_string();
    assert!(
        far.contains(&*dir.path().to_string_lossy()) && far.contains("has faults/faulty, faults/outside"),
        "{far}"
    );
    let nowhere = Plugins::default().build("elsewhere/zigzag", &params, false, &world(2, 1)).unwrap_err();
    assert!(nowhere.to_string().contains("no folder of plugins was named (--plugins"), "{nowhere}");
    // A folder that was refused is no answer where another one has a name that is near.
    let many = folder();
    fs::set_permissions(many.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    registry.add_dir(many.path());
    fs::set_permissions(many.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let near = registry.build("one/drawz", &params, false, &world(2, 1)).unwrap_err();
    assert_eq!(near.to_string(), unknown.to_string());
    let far = registry.build("elsewhere/zigzag", &params, false, &world(2, 1)).unwrap_err().to_string();
    assert!(far.contains("plugin refused") && far.contains(&*many.path().to_string_lossy()), "{far}");

    // A base of the program takes no key that another base has, by either name of its file, and is found by its own.
    let own = |_: &Setup| Err(corral_core::registry::BuildError::refused("base", "own", "it is called"));
    for (key, by) in [("one/draws", "libone.so"), ("libone/draws", "libone.so")] {
        let taken = registry.offer(key, own).unwrap_err().to_string();
        assert!(taken.contains("the name is taken by") && taken.contains(by), "{taken}");
    }
    assert!(registry.build("one/draws", &params, false, &world(2, 1)).is_ok());
    registry.offer("python/own", own).unwrap();
    let twice = registry.offer("python/own", own).unwrap_err().to_string();
    assert!(twice.contains("the name is taken by another base of this program"), "{twice}");
    let called = registry.build("python/own", &params, false, &world(2, 1)).err().unwrap().to_string();
    assert!(called.contains("it is called"), "{called}");
    let near = registry.build("python/owm", &params, false, &world(2, 1)).err().unwrap().to_string();
    assert!(near.contains("python/own"), "{near}");

    let wrong = registry
        .build("one/draws", &toml::from_str("epsilon = 2.0").unwrap(), false, &world(2, 1))
        .unwrap_err();
    assert_eq!(wrong.to_string(), r#"base "one/draws": draws: create: epsilon must be in [0, 1], but is 2"#);

    // A file of the same name elsewhere cannot take the key.
    let other = folder();
    fs::copy(rust("faults"), other.path().join("one.so")).unwrap();
    assert!(matches!(
        registry.add_file(&other.path().join("one.so")).unwrap_err().why,
        LoadError::NameTaken { .. }
    ));
    assert!(load_dir(&dir.path().join("nowhere"), &in_this_process())[0].is_err());
}

#[test]
fn two_c_plugins_do_not_share_their_globals() {
    let dir = folder();
    let (one, two) = (dir.path().join("one.so"), dir.path().join("two.so"));
    let Some(one) = c("faulty.c", &one, SHARED) else { return };
    c("faulty.c", &two, SHARED).unwrap();
    let loaded: Vec<Library> =
        load_dir(dir.path(), &in_this_process()).into_iter().map(Result::unwrap).collect();
    assert_eq!((loaded[0].path.clone(), loaded[0].door), (one, Door::C));
    let (x, mut rng) = (Context::plain(9), Pcg64Dxsm::seed_from_u64(1));
    let mut next = |l: &Library| {
        arms(l, "faulty", "fault = \"count\"", &world(9, 0)).propose(&x, &mut rng).unwrap().decision.0
    };
    assert_eq!([next(&loaded[0]), next(&loaded[0]), next(&loaded[1]), next(&loaded[0])], [0, 1, 0, 2]);
}

#[test]
fn files_that_are_no_libraries_are_refused_with_their_reason() {
    let dir = folder();
    let say = |name: &str, data: &[u8]| {
        let path = dir.path().join(name);
        fs::write(&path, data).unwrap();
        refuse(&path).to_string()
    };
    assert_eq!(say("empty.so", b""), "not a library: it is empty");
    assert_eq!(say("text.so", b"some text"), "not a library: 9 bytes that begin with 736f6d65");
    let whole = fs::read(rust("draws")).unwrap();
    assert_eq!(say("forty.so", &whole[..40]), "cut short: 40 bytes, but its headers end at byte 64");
    assert!(
        say("page.so", &whole[..4096])
            .starts_with("cut short: 4096 bytes, but its section headers end at byte ")
    );
    // A library cut in the middle of its segments, and one cut after the last of them: the section headers are last.
    assert!(say("half.so", &whole[..whole.len() / 2]).starts_with("cut short: "));
    assert!(say("end.so", &whole[..whole.len() - 1]).starts_with("cut short: "));

    // A damaged header: no segments, which the system's loader would look for at the file's beginning.
    let mut none = whole.clone();
    none[32..40].fill(0);
    assert_eq!(say("none.so", &none), "not a library: damaged: it has no segments to load");

    let mut arm = whole.clone();
    arm[18..20].copy_from_slice(&183u16.to_le_bytes());
    assert_eq!(say("arm.so", &arm), format!("built for Aarch64, this host is {}", std::env::consts::ARCH));
    let mut small = whole.clone();
    small[4] = 1;
    assert_eq!(
        say("32.so", &small),
        format!("built for a 32-bit machine, this host is {}", std::env::consts::ARCH)
    );
}

#[test]
fn a_library_that_is_no_plugin_is_refused_before_its_initialiser_runs() {
    let dir = folder();
    let mark = dir.path().join("initialised");
    let mark_flag = format!("-DMARK={:?}", mark.to_str().unwrap());
    let compile = |name: &str, flags: &[&str]| {
        c("not_a_plugin.c", &dir.path().join(name), &[flags, &[mark_flag.as_str()]].concat())
    };
    let Some(library) = compile("library.so", SHARED) else { return };
    assert!(matches!(refuse(&library), LoadError::NotAPlugin));
    let program = compile("program.so", &[]).unwrap();
    assert!(matches!(refuse(&program), LoadError::NotAPlugin));
    let fixed = compile("fixed.so", &["-no-pie", "-fno-pie"]).unwrap();
    assert_eq!(refuse(&fixed).to_string(), "not a library: an executable");
    assert!(!mark.exists(), "an initialiser ran");
}

#[test]
fn an_undefined_symbol_is_named_when_the_library_is_opened() {
    let dir = folder();
    let flags = [SHARED, &["-DUNDEFINED_SYMBOL"]].concat();
    let Some(path) = c("faulty.c", &dir.path().join("undefined.so"), &flags) else { return };
    let why = refuse(&path).to_string();
    assert!(why.starts_with("cannot be opened: ") && why.contains("nobody_defines_this"), "{why}");
}

#[test]
fn spoilt_c_tables_are_refused() {
    let dir = folder();
    let say = |name: &str, flag: &str| {
        let path = c("faulty.c", &dir.path().join(name), &[SHARED, &[flag]].concat())?;
        Some(refuse(&path).to_string())
    };
    let Some(magic) = say("magic.so", "-DTABLE_MAGIC=7") else { return };
    assert_eq!(magic, "base 0: the table begins with 0x0000000000000007 instead of the magic number");
    assert!(say("size.so", "-DTABLE_SIZE=24").unwrap().starts_with("base 0: the table says it has 24 bytes"));
    assert_eq!(
        say("null.so", "-DTABLE_PROPOSE=NULL").unwrap(),
        "base 0: the table has no function `propose`"
    );
    assert_eq!(say("same.so", "-DNAME_2=\"faulty\"").unwrap(), r#"two of its bases are called "faulty""#);
    assert_eq!(say("none.so", "-DNO_BASES").unwrap(), "it has no bases");
}

#[test]
fn another_abi_stable_is_named() {
    let dir = folder();
    let Some(path) = c("old_abi_stable.c", &dir.path().join("old.so"), SHARED) else { return };
    assert_eq!(refuse(&path).to_string(), "built with abi_stable 0.10; this host needs 0.11");
}

#[test]
fn a_plugin_that_switched_its_layout_check_off_is_refused() {
    assert!(matches!(refuse(&rust("no_layout")), LoadError::Unchecked));
}

#[test]
fn a_panic_in_a_plugin_is_an_error_with_text_and_place() {
    let loaded = load_file(&rust("faults"), &in_this_process()).unwrap();
    let (x, mut rng) = (Context::plain(3), Pcg64Dxsm::seed_from_u64(1));
    let build = |fault: &str| arms(&loaded, "faulty", &format!("fault = {fault:?}"), &world(3, 0));
    let made = Proposal::with_memo(Arm(0), Memo::one(1.0));
    let told = |e: BaseError, entry: &str| {
        let text = e.to_string();
        assert!(text.starts_with(&format!("faulty: {entry}: panicked: fault in {entry} at ")), "{text}");
        assert!(text.contains("faults.rs:"), "{text}");
    };
    told(loaded.build("faulty", "fault = 'create'", &world(3, 0)).unwrap_err(), "create");
    told(build("propose").propose(&x, &mut rng).unwrap_err(), "propose");
    told(build("learn").learn(&x, &made, Feedback::plain(0.5)).unwrap_err(), "learn");
    told(build("pass").pass(&x).unwrap_err(), "pass");
    told(build("load").load(&build("").save()).unwrap_err(), "load");
    drop(build("drop"));
    let mut base = build("save");
    assert!(base.save().is_empty());
    told(base.propose(&x, &mut rng).unwrap_err(), "save");
    let bomb = build("bomb").propose(&x, &mut rng).unwrap_err().to_string();
    assert!(bomb.contains("a panic whose payload is not text at "), "{bomb}");

    let mut base = build("third");
    base.propose(&x, &mut rng).unwrap();
    base.propose(&x, &mut rng).unwrap();
    base.propose(&x, &mut rng).unwrap_err();
    assert!(base.propose(&x, &mut rng).unwrap_err().to_string().contains("unusable since it panicked"));
    base.apply_order(Order::Widen { range: 2.0, remaining: None }).unwrap();
    base.propose(&x, &mut rng).unwrap();
}

#[test]
fn what_a_c_plugin_returns_is_checked() {
    let dir = folder();
    let Some(path) = c("faulty.c", &dir.path().join("faulty.so"), SHARED) else { return };
    let loaded = load_file(&path, &in_this_process()).unwrap();
    let (x, mut rng) = (Context::plain(3), Pcg64Dxsm::seed_from_u64(1));
    let build = |fault: &str| arms(&loaded, "faulty", &format!("fault = {fault:?}"), &world(3, 0));
    let mut say = |fault: &str| build(fault).propose(&x, &mut rng).unwrap_err().to_string();
    assert_eq!(say("arm"), "not a proposal of this base: arm 3 of 3");
    assert_eq!(say("nan"), "not a proposal of this base: number 0 of the memo is NaN");
    assert_eq!(say("memo"), "not a proposal of this base: a memo of 1099511627776 numbers where 1027 fit");
    assert_eq!(say("status"), "faulty: propose returned the unknown status 77");
    assert_eq!(say("silent-error"), "faulty: propose: no reason was given");
    assert_eq!(say("long-error"), "faulty: propose: cut");
    assert_eq!(say("own-text"), "faulty: propose: no reason was given");
    assert_eq!(say("not-utf8"), "faulty: propose: caf\u{fffd}");
    let absent = loaded.build("faulty", "fault = \"no-instance\"", &world(3, 0)).unwrap_err();
    assert_eq!(absent.to_string(), "faulty: create gave no instance");

    let mut base = build("probability");
    assert_eq!(base.likelihood(&x, &Arm(0)), None);
    assert_eq!(base.pass(&x).unwrap_err().to_string(), "not a proposal of this base: a probability of NaN");
    for (fault, why) in [
        ("long-snapshot", "faulty: a snapshot of 4000 bytes where 4 were announced"),
        ("huge-snapshot", "faulty: a snapshot of 1125899906842624 bytes was announced"),
    ] {
        let mut base = build(fault);
        assert!(base.save().is_empty());
        assert_eq!(base.pass(&x).unwrap_err().to_string(), why);
    }
    let base = build("");
    let mut other = build("");
    other.load(&base.save()).unwrap();
    assert!(!other.abilities().learns_from_others);

    let box_ = Setup::new(Space::Points(Set::Box { dim: 2 }), None);
    let plain = Context::plain(0);
    let mut say = |fault: &str| {
        points(&loaded, "points", &format!("fault = {fault:?}"), &box_).propose(&plain, &mut rng)
    };
    assert_eq!(say("").unwrap().decision, Point(vec![0.25; 2]));
    let outside = say("outside").unwrap_err().to_string();
    assert_eq!(outside, "not a proposal of this base: the point [1.5, 1.5] lies outside the set");
    assert!(say("half-point").unwrap_err().to_string().contains("[0.25, NaN] lies outside the set"));
}

#[test]
fn a_snapshot_of_another_plugin_version_is_a_named_error() {
    let loaded = load_file(&rust("draws"), &in_this_process()).unwrap();
    let mut base = arms(&loaded, "draws", "", &world(2, 1));
    let inner: Vec<u8> = snapshot::open("plugin base draws version 0.1.0", 1, &base.save()).unwrap();
    let foreign = snapshot::seal("plugin base draws version 0.0.9", 1, &inner);
    let refused = base.load(&foreign).unwrap_err();
    assert!(matches!(refused, BaseError::Snapshot(SnapshotError::Algorithm { .. })), "{refused}");
    assert_eq!(
        refused.to_string(),
        r#"a snapshot of "plugin base draws version 0.0.9", not of "plugin base draws version 0.1.0""#
    );
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::process::Command;

    fn chmod(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_link_to_a_loaded_plugin_is_recognised() {
        let dir = folder();
        fs::copy(rust("draws"), dir.path().join("a.so")).unwrap();
        symlink("a.so", dir.path().join("b.so")).unwrap();
        fs::hard_link(dir.path().join("a.so"), dir.path().join("c.so")).unwrap();
        let outcome = load_dir(dir.path(), &in_this_process());
        assert!(outcome[0].is_ok());
        for refused in &outcome[1..] {
            let Err(Refused { why: LoadError::Duplicate(of), .. }) = refused else { panic!("{refused:?}") };
            assert_eq!(*of, dir.path().join("a.so"));
        }
        // A link from elsewhere loads.
        let other = folder();
        symlink(dir.path().join("a.so"), other.path().join("d.so")).unwrap();
        assert!(load_dir(other.path(), &in_this_process())[0].is_ok());
    }

    #[test]
    fn what_is_no_regular_file_is_refused_before_it_is_read() {
        let dir = folder();
        let at = |name: &str| dir.path().join(name);
        symlink("nowhere", at("dangling.so")).unwrap();
        symlink("loop.so", at("loop.so")).unwrap();
        fs::create_dir(at("folder.so")).unwrap();
        assert!(Command::new("mkfifo").arg(at("fifo.so")).status().unwrap().success());
        let _socket = std::os::unix::net::UnixListener::bind(at("socket.so")).unwrap();
        for link in ["dangling.so", "loop.so"] {
            assert_eq!(refuse(&at(link)).to_string(), "not a regular file, but a link that leads to none");
        }
        assert!(matches!(refuse(&at("nothing.so")), LoadError::Read(_)));
        assert_eq!(refuse(&at("folder.so")).to_string(), "not a regular file, but a folder");
        assert_eq!(refuse(&at("fifo.so")).to_string(), "not a regular file, but a FIFO");
        assert_eq!(refuse(&at("socket.so")).to_string(), "not a regular file, but a socket");
        assert_eq!(load_dir(dir.path(), &in_this_process()).len(), 5);
    }

    #[test]
    fn names_that_are_no_text_or_have_spaces_load() {
        let dir = folder();
        let names: [&[u8]; 4] = [b"a b.so", b"$(touch x);'q'.so", b"caf\xe9.so", b"\x1b[2J.so"];
        for name in names {
            fs::copy(rust("draws"), dir.path().join(OsStr::from_bytes(name))).unwrap();
        }
        let mut registry = Plugins::new(in_this_process());
        registry.add_dir(dir.path());
        assert!(registry.refused().is_empty(), "{:?}", registry.refused());
        let keys: Vec<String> =
            registry.list().into_iter().map(|l| l.key).filter(|k| k.ends_with("draws")).collect();
        assert_eq!(keys, ["\\u{1b}[2J/draws", "$(touch x);'q'/draws", "a b/draws", "caf\u{fffd}/draws"]);
        for key in keys {
            registry.build(&key, &toml::Table::new(), false, &world(2, 1)).unwrap();
        }
    }

    #[test]
    fn what_belongs_to_somebody_else_is_refused_unless_allowed() {
        use std::os::unix::fs::chown;
        let dir = folder();
        let path = dir.path().join("a.so");
        fs::copy(rust("draws"), &path).unwrap();
        if chown(&path, Some(12345), None).is_err() {
            println!("skipped: only root gives files away");
            return;
        }
        let allowing = LoadPolicy { allow_other_owners: true, ..in_this_process() };
        let told = refuse(&path).to_string();
        assert!(told.starts_with("the file belongs to user 12345, who is neither you nor root"), "{told}");
        assert!(load_file(&path, &allowing).is_ok());
        chown(&path, Some(0), None).unwrap();
        chown(dir.path(), Some(12345), None).unwrap();
        let told = refuse(&path).to_string();
        assert!(told.starts_with("its folder belongs to user 12345"), "{told}");
        let whole = load_dir(dir.path(), &in_this_process());
        assert!(matches!(whole[..], [Err(Refused { why: LoadError::Owner(_, 12345), .. })]), "{whole:?}");
        assert!(load_dir(dir.path(), &allowing)[0].is_ok());

        // A folder that was found and not named is as good as the one around it.
        let inner = dir.path().join("plugins");
        fs::create_dir(&inner).unwrap();
        fs::copy(rust("draws"), inner.join("b.so")).unwrap();
        let mut registry = Plugins::new(in_this_process());
        registry.add_found_dir(&inner);
        assert!(registry.plugins().is_empty() && registry.refused().len() == 1, "{:?}", registry.refused());
        let unknown =
            registry.build("b/draws", &toml::Table::new(), false, &world(2, 1)).unwrap_err().to_string();
        assert!(unknown.contains("its folder belongs to user 12345"), "{unknown}");
        registry.add_dir(&inner);
        assert_eq!(registry.plugins().len(), 1, "whoever names it vouches for the way to it");
    }

    #[test]
    fn what_everybody_may_write_is_refused_unless_allowed() {
        let dir = folder();
        let path = dir.path().join("a.so");
        fs::copy(rust("draws"), &path).unwrap();
        let allowing = LoadPolicy { allow_world_writable: true, ..in_this_process() };
        chmod(&path, 0o666);
        assert!(refuse(&path).to_string().starts_with("the file can be written by everybody (mode 666)"));
        assert!(load_file(&path, &allowing).is_ok());
        chmod(&path, 0o644);
        chmod(dir.path(), 0o777);
        assert!(refuse(&path).to_string().starts_with("its folder can be written by everybody (mode 777)"));
        let outcome = load_dir(dir.path(), &in_this_process());
        assert!(matches!(outcome[..], [Err(Refused { why: LoadError::Writable(_, 0o777), .. })]));
        assert!(load_dir(dir.path(), &allowing)[0].is_ok());
        // The sticky bit keeps others from replacing the file.
        chmod(dir.path(), 0o1777);
        assert!(load_file(&path, &in_this_process()).is_ok());
        chmod(dir.path(), 0o755);
    }
}

/// Between the look at a file and the use of it, the file is replaced, overwritten, and cut.
#[test]
fn what_was_judged_is_what_runs() {
    let dir = folder();
    let path = dir.path().join("a.so");
    let changes: [&dyn Fn(); 3] = [
        &|| {
            fs::copy(rust("faults"), dir.path().join("other")).unwrap();
            fs::rename(dir.path().join("other"), &path).unwrap();
        },
        &|| fs::write(&path, fs::read(rust("faults")).unwrap()).unwrap(),
        &|| fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(5000).unwrap(),
    ];
    for change in changes {
        let _ = fs::remove_file(&path);
        fs::copy(rust("draws"), &path).unwrap();
        let mut registry = Plugins::new(in_this_process());
        let digest = registry.add_file(&path).unwrap().sha256.clone();
        change();
        let built = registry.build("a/draws", &toml::Table::new(), false, &world(2, 1));
        let mut base = built.unwrap().into_arms().expect("the library that was judged");
        base.propose(&Context::shared(vec![0.5], 2), &mut Pcg64Dxsm::seed_from_u64(1)).unwrap();
        assert_eq!(digest, registry.plugins()[0].sha256);
        change();
        base.propose(&Context::shared(vec![0.5], 2), &mut Pcg64Dxsm::seed_from_u64(1)).unwrap();
    }
}

#[test]
fn a_list_of_digests_decides_what_may_be_loaded() {
    let loaded = load_file(&rust("draws"), &in_this_process()).unwrap();
    assert_eq!(loaded.sha256.len(), 64);
    let only = |digest: String| LoadPolicy { allowed: Some(BTreeSet::from([digest])), ..in_this_process() };
    assert!(load_file(&rust("draws"), &only(loaded.sha256.to_uppercase())).is_ok());
    let refused = load_file(&rust("faults"), &only(loaded.sha256)).unwrap_err();
    assert!(matches!(refused.why, LoadError::NotAllowed(_)), "{refused}");
}

#[test]
fn an_ensemble_with_plugin_bases_restores_bit_for_bit() {
    use corral_core::{Corral, CorralParams, Ensemble, Horizon};
    let loaded = load_file(&rust("draws"), &in_this_process()).unwrap();
    let setup = world(3, 2);
    let build = || {
        let base = |params: &str| arms(&loaded, "draws", params, &setup);
        let master = Corral::new(CorralParams::new(2, Horizon::Known(500))).unwrap();
        Ensemble::new(master, vec![base("epsilon = 0.9"), base("epsilon = 0.1")]).unwrap()
    };
    let play = |ensemble: &mut Ensemble<Context, Arm, Corral>, rng: &mut Pcg64Dxsm, rounds: usize| {
        let mut trace = Vec::new();
        for _ in 0..rounds {
            let x = Context::shared(vec![uniform(rng), 1.0], 3);
            let ticket = ensemble.choose(&x, rng).unwrap();
            let arm = ticket.decision.0;
            let _ = ensemble.learn(&x, ticket, f64::from(arm) / 2.0).unwrap();
            trace.push((arm, ensemble.probabilities()[0].to_bits()));
        }
        trace
    };
    let mut rng = Pcg64Dxsm::seed_from_u64(8);
    let mut first = build();
    play(&mut first, &mut rng, 200);
    let mut second = build();
    second.load(&first.save()).unwrap();
    let mut again = rng.clone();
    assert_eq!(play(&mut first, &mut rng, 200), play(&mut second, &mut again, 200));
    assert_eq!(first.save(), second.save());
}
