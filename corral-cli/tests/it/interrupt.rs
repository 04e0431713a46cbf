//! A run ends soon when it is told to, also inside a long cell.
#![cfg(unix)]

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::launch::folder_with;

/// The promise is two seconds; a machine that is busy with other tests gets thirty before this fails, and a run that
/// does not heed the signal would take hours.
#[test]
fn sigterm_inside_a_cell_ends_the_run() {
    let worlds = [
        // Rounds without end, and one round that takes long by itself.
        ("bernoulli", "means = [0.4, 0.6]", "{ name = 'exp3' }"),
        ("linear", "dim = 400\narms = 50", "{ name = 'linucb' }"),
    ];
    for (world, keys, base) in worlds {
        let dir = folder_with(&format!(
            "rounds = 1000000000\nseeds = 1\n[[environment]]\nname = '{world}'\n{keys}\n[[learner]]\nbase = {base}\n"
        ));
        for signal in ["TERM", "INT"] {
            let mut run = Command::new(env!("CARGO_BIN_EXE_corral"))
                .args(["run", "spec.toml", "--quiet", "--out", "o"])
                .current_dir(dir.path())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            // It plays as soon as the folder is there.
            let start = Instant::now();
            while !dir.path().join("o/cells.partial.jsonl").exists() {
                assert!(run.try_wait().unwrap().is_none() && start.elapsed() < Duration::from_secs(120));
                std::thread::sleep(Duration::from_millis(10));
            }
            std::thread::sleep(Duration::from_millis(300));
            let told = Instant::now();
            let pid = run.id().to_string();
            assert!(Command::new("kill").args([&format!("-{signal}"), &pid]).status().unwrap().success());
            let status = loop {
                if let Some(status) = run.try_wait().unwrap() {
                    break status;
                }
                if told.elapsed() > Duration::from_secs(30) {
                    run.kill().unwrap();
                    panic!("{world}: still running 30 seconds after SIG{signal}");
                }
                std::thread::sleep(Duration::from_millis(5));
            };
            println!("{world}, SIG{signal}: ended after {:?}", told.elapsed());
            assert_eq!(status.code(), Some(130), "{world}, SIG{signal}");
        }
    }
}
