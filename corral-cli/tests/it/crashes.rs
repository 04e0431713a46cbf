//! `corral serve`, killed at random moments and on a full disk: what was acknowledged is there, once.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::serve::{Client, Running, SPEC, command, report, settled};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Known {
    Open,
    /// The service died before it answered, or could not write it.
    Unsure,
    Rewarded,
}

/// What clients know: the reward of each token, and what became of it.
#[derive(Default)]
struct Ledger {
    all: Mutex<HashMap<String, (f64, Known)>>,
    /// Tokens whose reward was not brought yet: any client brings it, to any front end.
    open: Mutex<Vec<String>>,
    requests: AtomicUsize,
    /// Answers by 503.
    failed: AtomicUsize,
}

impl Ledger {
    fn note(&self, token: &str, known: Known) -> f64 {
        let mut all = self.all.lock().unwrap();
        let entry = all.get_mut(token).unwrap();
        entry.1 = known;
        entry.0
    }

    fn choose(&self, client: &mut Client, roll: usize) -> Option<()> {
        let x = (roll % 100) as f64 / 100.0;
        let body = format!(r#"{{"features":[{x},{}]}}"#, 1.0 - x);
        let (status, answer) = client.ask("POST", "/v1/bands/shop/choose", &body)?;
        assert_eq!(status, 200, "{answer}");
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let reward = if answer["action"] == if x > 0.5 { "a" } else { "b" } { 9.0 } else { 2.0 };
        let token = answer["token"].as_str().unwrap().to_owned();
        let before = self.all.lock().unwrap().insert(token.clone(), (reward, Known::Open));
        assert_eq!(before, None, "a decision was given twice");
        self.open.lock().unwrap().push(token);
        Some(())
    }

    fn reward(&self, client: &mut Client, roll: usize) -> Option<()> {
        let token = {
            let mut open = self.open.lock().unwrap();
            let at = roll % open.len().max(1);
            if open.is_empty() {
                return Some(());
            }
            open.swap_remove(at)
        };
        let reward = self.note(&token, Known::Unsure);
        let (status, answer) = client.reward(&token, reward)?;
        if status == 503 {
            self.failed.fetch_add(1, Ordering::Relaxed);
            return Some(());
        }
        assert_eq!(status, 200, "{answer}");
        self.note(&token, Known::Rewarded);
        if roll.is_multiple_of(10) {
            assert_eq!(client.reward(&token, reward)?.0, 409);
        }
        Some(())
    }

    /// Late, shuffled, and now and then twice, until the service is gone or it is over.
    fn play(&self, address: &str, seed: usize, over: &AtomicBool) -> Option<()> {
        let mut client = Client::new(address)?;
        for i in seed * 7919.. {
            if over.load(Ordering::Relaxed) {
                break;
            }
            self.requests.fetch_add(1, Ordering::Relaxed);
            let roll = i.wrapping_mul(2_654_435_761) >> 7;
            let many = self.open.lock().unwrap().len() > 60;
            match many || roll.is_multiple_of(2) {
                true => self.reward(&mut client, roll >> 1)?,
                false => self.choose(&mut client, roll >> 1)?,
            }
        }
        None
    }

    /// Waits until so many requests were sent.
    fn wait(&self, requests: usize) {
        let until = Instant::now() + Duration::from_secs(120);
        while self.requests.load(Ordering::Relaxed) < requests {
            assert!(Instant::now() < until, "no requests are answered");
            std::thread::sleep(Duration::from_micros(100));
        }
    }

    /// Brings every reward once more to a front end that has just started: what was acknowledged is there. Then all are.
    fn hold(&self, address: &str) -> usize {
        let mut client = Client::new(address).unwrap();
        let all = self.all.lock().unwrap();
        for (token, (reward, known)) in all.iter() {
            let (status, answer) = client.reward(token, *reward).unwrap();
            let expected: &[u16] = match known {
                Known::Open => &[200],
                Known::Unsure => &[200, 409],
                Known::Rewarded => &[409],
            };
            assert!(expected.contains(&status), "{known:?}: {status}: {answer}");
        }
        all.len()
    }
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("band.toml"), SPEC).unwrap();
    folder
}

/// How many kills: a few, or as many as the long tests have.
fn kills(few: usize) -> usize {
    if std::env::var_os("CORRAL_SLOW").is_some() { 50 } else { few }
}

/// The whole log, and each segment as a part of it, can be verified.
fn verify(folder: &Path) {
    let band = folder.join("data/bands/shop");
    let verify = |log: &Path, more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_corral"));
        let output = command.args(["log", "verify"]).arg(log).args(more).output().unwrap();
        assert!(output.status.success(), "{log:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let store = std::sync::Arc::new(corral_serve::Directory::open(folder.join("data")).unwrap());
    let log: Vec<u8> = corral_serve::Export::of(store, "shop").flat_map(Result::unwrap).collect();
    let file = folder.join("all.jsonl");
    std::fs::write(&file, log).unwrap();
    let origin = band.join("origin");
    let from = ["--from", origin.to_str().unwrap()];
    assert!(verify(&file, &from).contains("that of the store to the last bit"));
    for entry in std::fs::read_dir(band.join("segments")).unwrap() {
        verify(&entry.unwrap().path(), &[]);
    }
}

#[test]
fn a_service_that_is_killed_loses_and_doubles_nothing() {
    let (folder, ledger, kills) = (folder(), Ledger::default(), kills(3));
    for round in 0..kills {
        let mut running = Running::start(folder.path(), &[]);
        let (address, over) = (running.address.clone(), AtomicBool::new(false));
        let before = ledger.requests.load(Ordering::Relaxed);
        std::thread::scope(|scope| {
            for worker in 0..3 {
                let (address, ledger, over) = (&address, &ledger, &over);
                scope.spawn(move || ledger.play(address, round * 3 + worker + 1, over));
            }
            // In the middle of their requests, each time somewhere else.
            ledger.wait(before + 150 + 37 * (round % 7));
            running.kill();
        });
    }
    let mut running = Running::start(folder.path(), &[]);
    let learned = ledger.hold(&running.address);
    assert!(learned > 40 * kills, "{learned}");
    let before = settled(&running.address);
    assert_eq!(before["learned"], learned);
    // Killed once more, it is the same to the last digit.
    running.kill();
    let mut again = Running::start(folder.path(), &[]);
    let after = settled(&again.address);
    for key in ["bases", "learned", "band", "repeated"] {
        assert_eq!(before[key], after[key], "{key}");
    }
    again.kill();
    verify(folder.path());
}

/// The next draw of a generator whose state is `seed`.
fn draw(seed: &mut u64, below: usize) -> usize {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) as usize % below
}

/// Two front ends and a learner on one directory: one of them, or two at once, is killed at a random moment and started again, while
/// clients go on at whichever front end answers.
#[test]
fn front_ends_and_a_learner_that_are_killed_at_random_lose_and_double_nothing() {
    let (folder, ledger, kills) = (folder(), Ledger::default(), kills(5));
    let start = |process: usize| {
        Running::start(folder.path(), &["--role", if process == 2 { "learner" } else { "front" }])
    };
    let mut running = [0, 1, 2].map(start);
    let addresses = [0, 1].map(|front: usize| Mutex::new(running[front].address.clone()));
    let (over, mut seed) = (AtomicBool::new(false), 31);
    let mut killed = [0; 3];
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let (addresses, ledger, over) = (&addresses, &ledger, &over);
            scope.spawn(move || {
                for life in 0.. {
                    if over.load(Ordering::Relaxed) {
                        break;
                    }
                    let address = addresses[worker % 2].lock().unwrap().clone();
                    ledger.play(&address, 4 * life + worker + 1, over);
                }
            });
        }
        for _ in 0..kills {
            let sent = ledger.requests.load(Ordering::Relaxed);
            ledger.wait(sent + 40 + draw(&mut seed, 400));
            let first = draw(&mut seed, 3);
            let both = draw(&mut seed, 4) == 0;
            let mut doomed = vec![first];
            doomed.extend(both.then_some((first + 1) % 3));
            for process in &doomed {
                running[*process].kill();
                killed[*process] += 1;
            }
            // The others go on for a while.
            if !both {
                let sent = ledger.requests.load(Ordering::Relaxed);
                ledger.wait(sent + draw(&mut seed, 100));
            }
            for process in doomed {
                running[process] = start(process);
                if process < 2 {
                    addresses[process].lock().unwrap().clone_from(&running[process].address);
                }
            }
        }
        over.store(true, Ordering::Relaxed);
    });
    println!("killed: front ends {} and {}, learner {} times", killed[0], killed[1], killed[2]);
    // One that has just started knows what all of them have taken.
    running[0].kill();
    running[0] = start(0);
    let all = ledger.hold(&running[0].address);
    assert!(all > 20 * kills, "{all}");
    let until = Instant::now() + Duration::from_secs(60);
    while report(&running[0].address)["learned"] != all {
        assert!(Instant::now() < until, "{all}: {}", report(&running[0].address));
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(report(&running[0].address)["repeated"], 0);
    running.iter_mut().for_each(Running::kill);
    let mut alone = Running::start(folder.path(), &[]);
    assert_eq!(settled(&alone.address)["learned"], all);
    alone.kill();
    verify(folder.path());
}

/// A disk that takes no more: files may not grow beyond some bytes, or at all. Rewards are refused by 503, decisions are made, and
/// with space again everything that was acknowledged is there, once.
#[cfg(unix)]
#[test]
fn a_full_disk_refuses_rewards_and_loses_none() {
    let (folder, ledger) = (folder(), Ledger::default());
    for (seed, blocks) in [(1, 40), (2, 0), (3, 40)] {
        // It does not start where it cannot write down what it has to learn first.
        let mut before = Running::start(folder.path(), &[]);
        settled(&before.address);
        before.kill();
        let service = command(folder.path(), &[]);
        let mut limited = Command::new("sh");
        // A write beyond the limit is an error, and not the end of the process.
        limited.arg("-c").arg(format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\""));
        limited.arg(service.get_program()).args(service.get_args());
        let mut running = Running::of(limited);
        let (address, over) = (running.address.clone(), AtomicBool::new(false));
        let (sent, failed) = (ledger.requests.load(Ordering::Relaxed), ledger.failed.load(Ordering::Relaxed));
        std::thread::scope(|scope| {
            for worker in 0..3 {
                let (address, ledger, over) = (&address, &ledger, &over);
                scope.spawn(move || ledger.play(address, seed * 3 + worker, over));
            }
            ledger.wait(sent + 600);
            over.store(true, Ordering::Relaxed);
        });
        let failed = ledger.failed.load(Ordering::Relaxed) - failed;
        assert!(failed > 0, "with {blocks} blocks nothing failed");
        running.kill();
    }
    let mut running = Running::start(folder.path(), &[]);
    let all = ledger.hold(&running.address);
    assert_eq!(settled(&running.address)["learned"], all);
    running.kill();
    verify(folder.path());
}
