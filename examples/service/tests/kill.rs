//! Ten thousand requests, late, shuffled, twice, out of range, and one kill in the middle of them.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rand_pcg::Pcg64Dxsm;
use rand_pcg::rand_core::{Rng, SeedableRng};

/// A running service; killed, not stopped, at the end.
struct Running {
    child: Child,
    address: String,
}

impl Running {
    fn start(journal: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_service"))
            .args([journal.to_str().unwrap(), "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        Self { child, address: address.trim().into() }
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// One connection. `None`: the service is gone.
struct Client(BufReader<TcpStream>);

impl Client {
    fn new(service: &Running) -> Self {
        let stream = TcpStream::connect(&service.address).unwrap();
        stream.set_nodelay(true).unwrap();
        Self(BufReader::new(stream))
    }

    fn ask(&mut self, method: &str, path: &str, body: &str) -> Option<(u16, String)> {
        let length = body.len();
        let head = format!("{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n");
        let request = format!("{head}Content-Length: {length}\r\n\r\n{body}");
        self.0.get_mut().write_all(request.as_bytes()).ok()?;
        let (mut line, mut length) = (String::new(), 0);
        self.0.read_line(&mut line).ok().filter(|n| *n > 0)?;
        let status = line.split(' ').nth(1)?.parse().ok()?;
        loop {
            line.clear();
            self.0.read_line(&mut line).ok().filter(|n| *n > 0)?;
            if let Some(n) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = n.trim().parse().ok()?;
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut answer = vec![0; length];
        self.0.read_exact(&mut answer).ok()?;
        Some((status, String::from_utf8(answer).ok()?))
    }

    fn reward(&mut self, token: &str, reward: f64) -> Option<u16> {
        Some(self.ask("POST", "/reward", &format!(r#"{{"token":"{token}","reward":{reward}}}"#))?.0)
    }

    /// The metrics but the counts of what was refused, which are those of a process.
    fn metrics(&mut self) -> String {
        let text = self.ask("GET", "/metrics", "").unwrap().1;
        text.lines().filter(|l| !l.contains("refused")).collect::<Vec<_>>().join("\n")
    }
}

fn number(text: &str, key: &str) -> f64 {
    let rest = &text[text.find(key).unwrap_or_else(|| panic!("{key} in {text}")) + key.len()..];
    rest[..rest.find([',', '}', '\n']).unwrap_or(rest.len())].trim().parse().unwrap()
}

fn text(answer: &str, key: &str) -> String {
    let rest = &answer[answer.find(key).unwrap_or_else(|| panic!("{key} in {answer}")) + key.len()..];
    rest[..rest.find('"').unwrap()].to_owned()
}

fn coin(rng: &mut Pcg64Dxsm, of: u32) -> bool {
    rng.next_u32() % of == 0
}

/// What is known of a ticket that was answered.
#[derive(Clone, Copy, PartialEq)]
enum Known {
    Open {
        reward: f64,
    },
    Rewarded,
    /// The service died before it answered.
    Unsure,
}

/// Plays until `requests` were made by all, or the service is gone.
fn play(
    service: &Running,
    seed: u64,
    made: &AtomicUsize,
    requests: usize,
    known: &Mutex<HashMap<String, Known>>,
) {
    let (mut client, mut rng) = (Client::new(service), Pcg64Dxsm::seed_from_u64(seed));
    let mut open: Vec<(String, f64)> = Vec::new();
    while made.fetch_add(1, Ordering::Relaxed) < requests {
        // Late and shuffled: any of those that wait.
        if open.len() > 50 || (!open.is_empty() && coin(&mut rng, 2)) {
            let at = rng.next_u32() as usize % open.len();
            let (id, reward) = open[at].clone();
            if coin(&mut rng, 20) {
                let bad = client.reward(&id, 11.0);
                assert!(bad.is_none_or(|s| s == 422), "out of range: {bad:?}");
                continue;
            }
            known.lock().unwrap().insert(id.clone(), Known::Unsure);
            let Some(status) = client.reward(&id, reward) else { return };
            assert_eq!(status, 200);
            known.lock().unwrap().insert(id.clone(), Known::Rewarded);
            open.swap_remove(at);
            if coin(&mut rng, 10) {
                made.fetch_add(1, Ordering::Relaxed);
                let again = client.reward(&id, reward);
                assert!(again.is_none_or(|s| s == 409), "twice: {again:?}");
            }
        } else {
            let (a, b) =
                (f64::from(rng.next_u32()) / 4_294_967_296.0, f64::from(rng.next_u32()) / 4_294_967_296.0);
            let body = format!("[{a},{b}]");
            let Some((status, answer)) = client.ask("POST", "/choose", &body) else { return };
            assert_eq!(status, 200, "{answer}");
            let propensity = number(&answer, "\"propensity\":");
            assert!(propensity > 0.0 && propensity <= 1.0, "{answer}");
            let right = if a > b { 0.0 } else { 1.0 };
            let reward = if number(&answer, "\"action\":") == right { 9.0 } else { 2.0 };
            let id = text(&answer, "\"token\":\"");
            let before = known.lock().unwrap().insert(id.clone(), Known::Open { reward });
            assert!(before.is_none(), "ticket {id} was given twice");
            open.push((id, reward));
        }
    }
}

#[test]
fn ten_thousand_requests_and_one_kill() {
    let folder = std::env::temp_dir().join(format!("corral-service-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (journal, log) = (folder.clone(), folder.join("log.jsonl"));
    let known = Arc::new(Mutex::new(HashMap::new()));
    let made = AtomicUsize::new(0);

    let mut first = Running::start(&journal);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|seed| {
                scope.spawn({
                    let (f, m, k) = (&first, &made, &known);
                    move || play(f, seed, m, usize::MAX, k)
                })
            })
            .collect();
        while made.load(Ordering::Relaxed) < 5_000 && !workers.iter().any(|w| w.is_finished()) {
            std::thread::yield_now();
        }
        // While all four are asking.
        let pid = first.child.id().to_string();
        assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
        workers.into_iter().for_each(|w| w.join().unwrap());
    });
    first.child.wait().unwrap();
    // A line that was cut short.
    std::fs::OpenOptions::new()
        .append(true)
        .open(&log)
        .unwrap()
        .write_all(br#"{"kind":"decision","id":"0"#)
        .unwrap();

    let mut second = Running::start(&journal);
    let mut client = Client::new(&second);
    let answered = known.lock().unwrap().clone();
    let mut settled = 0;
    for (id, state) in &answered {
        match state {
            Known::Open { reward } => {
                assert_eq!(client.reward(id, *reward), Some(200), "ticket {id} was answered")
            }
            Known::Rewarded => assert_eq!(client.reward(id, 5.0), Some(409), "ticket {id} was rewarded"),
            Known::Unsure => assert!(matches!(client.reward(id, 5.0), Some(200 | 409)), "ticket {id}"),
        }
        settled += 1;
    }
    assert_eq!(client.reward("c1.AAAA.AA", 5.0), Some(422));
    assert_eq!(client.ask("POST", "/choose", "[1]").unwrap().0, 422, "a context of another size");
    std::thread::scope(|scope| {
        (4..8).for_each(|seed| {
            let (s, m, k) = (&second, &made, &known);
            scope.spawn(move || play(s, seed, m, 10_000, k));
        });
    });
    assert!(made.load(Ordering::Relaxed) >= 10_000 && settled > 1_000);

    // Everything that was answered was learned once. At most four more were chosen and not answered before the kill.
    let before = client.metrics();
    let known = known.lock().unwrap();
    let rewarded = settled
        + known.iter().filter(|(id, k)| !answered.contains_key(*id) && **k == Known::Rewarded).count();
    assert_eq!(number(&before, "corral_learned_total{band=\"service\"}"), rewarded as f64, "{before}");
    let rounds = number(&before, "corral_rounds_total{band=\"service\"}") as usize;
    assert!((known.len()..=known.len() + 4).contains(&rounds), "{rounds} rounds, {} answered", known.len());

    // Killed and played again, it is the same to the last digit.
    second.kill();
    let mut third = Running::start(&journal);
    assert_eq!(Client::new(&third).metrics(), before);
    third.kill();
    std::fs::remove_dir_all(&folder).unwrap();
}
