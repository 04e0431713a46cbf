//! The rows of `hostile.rs`.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use corral_plugin_abi::host::{Isolation, LoadPolicy, load_file};
use corral_plugin_abi::prelude::*;
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::common::{SHARED, c, folder, in_this_process};

/// What a row ends with.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    /// The base plays on.
    Fine,
    /// The file is refused, or a call fails, with this in the text.
    Says(&'static str),
    /// The host dies: of a signal, or with an exit code.
    Dies(&'static str),
    /// The host hangs.
    Hangs,
    /// The host is no more what it was: nothing is promised.
    Anything,
}

use End::{Anything, Dies, Fine, Hangs, Says};

const SEGV: End = Dies("signal 11");
const ABORT: End = Dies("signal 6");
const LATE: End = Says("no answer within");

/// Place and deed, the end in the host's process, the end in a child.
const ROWS: &[(&str, End, End)] = &[
    ("", Fine, Fine),
    // When it is opened.
    (
        "constructor:segv",
        SEGV,
        Says("refused: a child process was to open it: its process was ended by signal 11"),
    ),
    ("constructor:abort", ABORT, Says("its process was ended by signal 6 (abort)")),
    (
        "constructor:exit0",
        Dies("code 0"),
        Says("refused: a child process was to open it: its process ended with exit code 0"),
    ),
    ("constructor:_exit0", Dies("code 0"), Says("its process ended with exit code 0")),
    ("constructor:exit3", Dies("code 3"), Says("its process ended with exit code 3")),
    ("constructor:trap", Dies("signal 4"), Says("its process was ended by signal 4")),
    ("constructor:spin", Hangs, LATE),
    ("constructor:sleep", Hangs, LATE),
    ("constructor:fork-exit", Dies("code 0"), Says("its process ended with exit code 0")),
    ("constructor:close", Anything, Says("refused: a child process was to open it: ")),
    ("constructor:junk", Fine, Says("refused: a child process was to open it: ")),
    ("constructor:round", Fine, Fine),
    ("constructor:flush", Fine, Fine),
    ("entry:segv", SEGV, Says("its process was ended by signal 11")),
    ("entry:exit0", Dies("code 0"), Says("its process ended with exit code 0")),
    ("entry:spin", Hangs, LATE),
    // Tables that cannot be used.
    ("entry:none", Says("refused: it has no bases"), Says("refused: it has no bases")),
    ("entry:endless", Says("it has more than 256 bases"), Says("it has more than 256 bases")),
    ("entry:crooked", Says("is not aligned"), Says("is not aligned")),
    ("entry:magic", Says("instead of the magic number"), Says("instead of the magic number")),
    ("entry:size", Says("the table says it has 24 bytes"), Says("the table says it has 24 bytes")),
    ("entry:null", Says("no function `propose`"), Says("no function `propose`")),
    ("entry:kind", Says("of the unknown kind 9"), Says("of the unknown kind 9")),
    ("entry:alpha", Says("alpha must be in [0, 1], but is 7"), Says("alpha must be in [0, 1], but is 7")),
    ("entry:name", Says("name is not usable text"), Says("name is not usable text")),
    ("entry:latin", Says("description is not usable text"), Says("description is not usable text")),
    ("entry:long", Says("description is not usable text"), Says("description is not usable text")),
    ("entry:null-text", Says("version is not usable text"), Says("version is not usable text")),
    ("entry:control", Fine, Fine),
    // When a base is built.
    ("create:segv", SEGV, Says("failed: hostile: its process was ended by signal 11")),
    ("create:exit0", Dies("code 0"), Says("failed: hostile: its process ended with exit code 0")),
    ("create:sleep", Hangs, LATE),
    ("create:slow", Fine, Fine),
    ("create:nothing", Says("create gave no instance"), Says("create gave no instance")),
    (
        "create:control",
        Says(r"hostile: create: \u{1b}[2J\u{1b}]0;gone\u{7}"),
        Says(r"hostile: create: \u{1b}[2J\u{1b}]0;gone\u{7}"),
    ),
    // In calls: what ends a process.
    ("propose:segv", SEGV, Says("failed: hostile: its process was ended by signal 11")),
    ("propose:abort", ABORT, Says("its process was ended by signal 6")),
    ("propose:exit0", Dies("code 0"), Says("its process ended with exit code 0")),
    ("propose:stack", Dies("signal"), Says("its process was ended by signal")),
    ("propose:thread-exit", Dies("signal"), Says("failed: hostile: ")),
    ("learn:exit0", Dies("code 0"), Says("its process ended with exit code 0")),
    ("pass:exit3", Dies("code 3"), Says("its process ended with exit code 3")),
    ("save:segv", SEGV, Says("its process was ended by signal 11")),
    ("likelihood:exit0", Dies("code 0"), Says("its process ended with exit code 0")),
    ("rerange:abort", ABORT, Says("its process was ended by signal 6")),
    ("load:exit-from-thread", Dies("code 0"), Says("its process ended with exit code 0")),
    ("destroy:exit0", Dies("code 0"), Says("its process ended with exit code 0")),
    // In calls: what never returns, or answers for the host.
    ("propose:spin", Hangs, LATE),
    ("propose:sleep", Hangs, LATE),
    ("propose:stop", Hangs, LATE),
    ("propose:draw", Hangs, LATE),
    ("learn:drip", Hangs, LATE),
    (
        "learn:giant",
        Hangs,
        Says("its process was ended after an error: a message of 4294967295 bytes where 4096 are allowed"),
    ),
    ("learn:junk", Fine, Says("its process was ended after an error: a message")),
    ("learn:close", Anything, Says("failed: hostile: its process")),
    ("propose:fork", Fine, Fine),
    ("propose:fork-exit", Dies("code 0"), Says("its process ended with exit code 0")),
    ("propose:print", Fine, Fine),
    ("propose:cry", Fine, Fine),
    (
        "propose:cry-abort",
        ABORT,
        Says(r"its process was ended by signal 6 (abort); it last wrote: \u{1b}[2Jerror: forged, last words"),
    ),
    ("propose:round", Fine, Fine),
    ("learn:flush", Fine, Fine),
    // In calls: answers that cannot be used.
    ("propose:arm", Says("arm 3 of 3"), Says("arm 3 of 3")),
    ("propose:status", Says("the unknown status 77"), Says("the unknown status 77")),
    ("propose:silent", Says("no reason was given"), Says("no reason was given")),
    (
        "propose:control",
        Says(r"\u{1b}[31mred\u{d}\u{a}error: forged"),
        Says(r"\u{1b}[31mred\u{d}\u{a}error: forged"),
    ),
    ("propose:latin", Says("propose: caf\u{fffd}"), Says("propose: caf\u{fffd}")),
    ("propose:long-text", Says("propose: cut"), Says("propose: cut")),
    ("propose:own-text", Says("no reason was given"), Says("no reason was given")),
    ("propose:memo", Says("a memo of 1099511627776 numbers"), Says("a memo of 1099511627776 numbers")),
    ("propose:memo-nan", Says("number 0 of the memo is NaN"), Says("number 0 of the memo is NaN")),
    ("propose:scribble", Says("arm 4294967295 of 3"), Says("arm 4294967295 of 3")),
    ("propose:draw-in-thread", Says("or by another thread"), Says("or by another thread")),
    (
        "learn:draw",
        Says("learn: the generator was used after the call"),
        Says("learn: the generator was used after the call"),
    ),
    ("likelihood:nan", Says("a probability of NaN"), Says("a probability of NaN")),
    ("likelihood:two", Says("a probability of 2"), Says("a probability of 2")),
    (
        "likelihood:memo",
        Says("a memo of 18446744073709551615 numbers"),
        Says("a memo of 18446744073709551615 numbers"),
    ),
    (
        "save:huge",
        Says("a snapshot of 1125899906842624 bytes was announced"),
        Says("a snapshot of 1125899906842624 bytes"),
    ),
    ("save:longer", Says("where 4 were announced"), Says("where 4 were announced")),
];

/// Plays every row in both homes.
pub fn all() {
    let dir = folder();
    let Some(library) = c("hostile.c", &dir.path().join("hostile.so"), &[SHARED, &["-pthread"]].concat())
    else {
        return;
    };
    assert!(ROWS.len() > 30);
    let mut wrong = Vec::new();
    for (row, here, apart) in ROWS {
        for (home, wanted) in [("here", here), ("apart", apart)] {
            let home = if *wanted == LATE { "late" } else { home };
            let (found, cried) = Played::begin(row, home, &library).end(*wanted == Hangs);
            if home != "here" && cried.chars().any(char::is_control) {
                wrong.push(format!("{row} {home}: {cried:?} reached the terminal"));
            }
            let right = match (wanted, &found) {
                (Fine, Found::Said(text)) => text == "fine",
                (Says(part), Found::Said(text)) => text.contains(part) && !text.chars().any(char::is_control),
                (Dies(how), Found::Died(told)) => told.contains(how),
                (Hangs, Found::Hung) | (Anything, _) => true,
                _ => false,
            };
            if !right {
                wrong.push(format!("{row} {home}: {wanted:?}, but {found:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    println!("test {} hostile plugins in two homes ... ok", ROWS.len());
    nothing_is_left("apart");
    nothing_is_left("late");
    println!("test what isolated plugins started has ended with them ... ok");

    // A host that is killed cannot end anybody: its children notice, while the library is opened as well as later.
    for row in ["propose:spin", "constructor:spin"] {
        let mut killed = Played::begin(row, "patient", &library);
        while marked("patient") < 2 {
            std::thread::sleep(Duration::from_millis(5));
        }
        // It is in its loop by then.
        std::thread::sleep(Duration::from_millis(300));
        killed.host.kill().unwrap();
        killed.host.wait().unwrap();
        let start = Instant::now();
        nothing_is_left("patient");
        assert!(
            start.elapsed() < Duration::from_secs(2),
            "{row}: its child was there for {:?}",
            start.elapsed()
        );
    }
    println!("test a child ends with its host ... ok");

    // Every law has its line, whatever becomes of the one before.
    for (row, says, late) in [
        ("propose:spin", "proposals: no answer within 100 ms", true),
        ("propose:segv", "proposals: its process was ended by signal 11", false),
    ] {
        let (found, _) = Played::begin(row, "examined", &library).end(false);
        let Found::Said(laws) = &found else { panic!("{row}: {found:?}") };
        assert!(laws.contains(says) && laws.contains("survival: "), "{row}: {laws}");
        assert_eq!(laws.matches("no answer within").count() > 5, late, "{row}: {laws}");
    }
    nothing_is_left("examined");
    println!("test every law has its line ... ok");
}

#[derive(Debug)]
enum Found {
    Said(String),
    Died(String),
    Hung,
}

/// The variable by which the processes of a home are known, with all that they start.
const MARK: &str = "CORRAL_HOSTILE_HOME";

fn mark(home: &str) -> String {
    format!("{home}-{}", std::process::id())
}

/// How many processes there are of a home.
fn marked(home: &str) -> usize {
    let wanted = format!("{MARK}={}", mark(home));
    let of = |entry: std::io::Result<std::fs::DirEntry>| -> Option<bool> {
        let environment = std::fs::read(entry.ok()?.path().join("environ")).ok()?;
        Some(environment.split(|b| *b == 0).any(|variable| variable == wanted.as_bytes()))
    };
    std::fs::read_dir("/proc").unwrap().filter(|entry| entry.is_ok()).filter_map(of).filter(|is| *is).count()
}

/// Waits until there is none; a minute is for ever.
fn nothing_is_left(home: &str) {
    let start = Instant::now();
    while marked(home) > 0 {
        assert!(start.elapsed() < Duration::from_secs(60), "{} processes are left", marked(home));
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A row in a copy of this program, with a process group of its own.
struct Played {
    host: Child,
    said: tempfile::NamedTempFile,
    cried: tempfile::NamedTempFile,
    home: &'static str,
}

impl Played {
    fn begin(row: &str, home: &'static str, library: &Path) -> Self {
        // Not a pipe: what a plugin forks would keep it open.
        let [said, cried] = [(); 2].map(|()| tempfile::NamedTempFile::new().unwrap());
        let host = Command::new(std::env::current_exe().unwrap())
            .args(["--play", home])
            .arg(library)
            .env("CORRAL_HOSTILE", row)
            .env(MARK, mark(home))
            .stdin(Stdio::null())
            .stdout(said.reopen().unwrap())
            .stderr(cried.reopen().unwrap())
            .process_group(0)
            .spawn()
            .unwrap();
        Self { host, said, cried, home }
    }

    /// How it ended, and what it wrote to its standard error. One that is said to hang is ended soon, the others after two minutes.
    fn end(mut self, hangs: bool) -> (Found, String) {
        let (start, patience) = (Instant::now(), Duration::from_millis(if hangs { 500 } else { 120_000 }));
        let status = loop {
            match self.host.try_wait().unwrap() {
                None if start.elapsed() < patience => std::thread::sleep(Duration::from_millis(2)),
                status => break status,
            }
        };
        if self.home == "here" || status.is_none() {
            // What a plugin of the host's own process started belongs to no base.
            let _ = kill_process_group(Pid::from_child(&self.host), Signal::KILL);
        }
        let Some(status) = status else {
            self.host.wait().unwrap();
            return (Found::Hung, String::new());
        };
        let cried = String::from_utf8_lossy(&std::fs::read(self.cried.path()).unwrap()).into_owned();
        let said = std::fs::read_to_string(self.said.path()).unwrap();
        let found = match said.lines().find_map(|line| line.strip_prefix("verdict: ")) {
            Some(said) if status.success() => Found::Said(said.to_owned()),
            _ => Found::Died(status.to_string().replace("exit status: ", "code ").replace(": ", " ")),
        };
        (found, cried)
    }
}

/// Loads the library, plays its base, and prints the verdict.
pub fn play(home: &str, library: &Path) {
    let (time_limit, start_limit) = match home {
        // Only those that are late on purpose have little time; the clock's part of it is sixty and six times as long.
        "late" => (Duration::from_millis(30), Duration::from_millis(300)),
        "examined" => (Duration::from_millis(100), Duration::from_secs(60)),
        // To build the base takes longer than a call may.
        _ if std::env::var("CORRAL_HOSTILE").is_ok_and(|row| row.ends_with(":slow")) => {
            (Duration::from_millis(200), Duration::from_secs(20))
        }
        _ => (Duration::from_secs(60), Duration::from_secs(60)),
    };
    let isolation = Isolation { time_limit, start_limit, ..Isolation::default() };
    let policy = match home {
        "here" => in_this_process(),
        _ => LoadPolicy { isolation, ..LoadPolicy::default() },
    };
    if home == "examined" {
        let loaded = load_file(library, &policy).unwrap();
        let verdict = loaded.examine("hostile", "").unwrap();
        let line = |(law, found): &(String, Result<String, String>)| {
            format!("{law}: {}", found.clone().unwrap_or_else(|e| e))
        };
        let laws: Vec<String> = verdict.laws.iter().map(line).collect();
        return println!("\nverdict: {}", laws.join("; "));
    }
    let right = computed();
    let mut verdict = match lived(library, &policy) {
        Ok(()) => "fine".to_owned(),
        Err(why) => why,
    };
    if computed() != right {
        verdict = "the host computes something else now".to_owned();
    }
    println!("\nverdict: {verdict}");
}

/// Rounded to the nearest, with denormal numbers, these are what they were.
fn computed() -> [u64; 2] {
    let (two, three, small) =
        (std::hint::black_box(2.0f64), std::hint::black_box(3.0f64), std::hint::black_box(5e-324f64));
    [(-two / three).to_bits(), (small * two).to_bits()]
}

fn lived(library: &Path, policy: &LoadPolicy) -> Result<(), String> {
    let loaded = load_file(library, policy).map_err(|e| format!("refused: {}", e.why))?;
    let failed = |e: BaseError| format!("failed: {e}");
    let description = &loaded.bases()[0].description;
    if description.chars().any(char::is_control) {
        return Err("a description that acts".into());
    }
    let setup = Setup::arms(3, None);
    let mut base = loaded.build("hostile", "", &setup).map_err(failed)?.into_arms().expect("arms");
    let (x, mut rng) = (Context::plain(3), Pcg64Dxsm::seed_from_u64(1));
    base.pass(&x).map_err(failed)?;
    let made = base.propose(&x, &mut rng).map_err(failed)?;
    base.learn(&x, &made, Feedback::plain(0.5)).map_err(failed)?;
    let _ = base.likelihood(&x, &Arm(1));
    base.pass(&x).map_err(failed)?;
    let state = base.save();
    base.pass(&x).map_err(failed)?;
    base.load(&state).map_err(failed)?;
    base.apply_order(Order::Widen { range: 2.0, remaining: None }).map_err(failed)?;
    base.propose(&x, &mut rng).map_err(failed)?;
    base.apply_order(Order::StartOver { range: 2.0, remaining: None }).map_err(failed)?;
    base.propose(&x, &mut rng).map_err(failed)?;
    Ok(())
}
