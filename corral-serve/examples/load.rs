//! How much a service takes, beside its clients on one machine.
//!
//! `cargo run --release -p corral-serve --example load -- [SECONDS] [CONNECTIONS]`: choose and reward in pairs, each reward
//! durable, at full speed and at half of it, and the same clients against a service that does nothing.
//! `... -- fold REWARDS`: how fast rewards are learned, and how long a start takes behind them.
//! `... -- start REWARDS`: how long a start takes behind so many that the log is not kept.
//! `... -- memory PAIRS`: what the process takes after each tenth of the pairs, and with as many tickets as may be kept.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use axum::routing::post;
use corral_core::{Arm, Context};
use corral_serve::http::{self, Clients, Limits};
use corral_serve::{
    Directory, FoldLearner, Front, FrontOptions, LearnerOptions, Model, ServedSpec, Serving, ServingOptions,
    Step, SystemClock, spec,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const SPEC: &str = r#"
name = "load"
actions = 4
bases = ["ucb1", "exp3", "thompson", "epsilon-greedy"]
"#;

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn band() -> ServedSpec {
    spec::read(SPEC).map(|mut bands| bands.remove(0)).expect("the spec is fine")
}

/// One connection.
struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Client {
    async fn ask(&mut self, path: &str, body: &str) -> Result<String, Failure> {
        let (length, method) = (body.len(), if body.is_empty() { "GET" } else { "POST" });
        let request = format!(
            "{method} /v1/bands/load/{path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        self.stream.write_all(request.as_bytes()).await?;
        self.buffer.clear();
        loop {
            let read = self.stream.read_buf(&mut self.buffer).await?;
            if read == 0 {
                return Err("the service closed the connection".into());
            }
            let text = std::str::from_utf8(&self.buffer)?;
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let length = head.to_ascii_lowercase();
            let length = length.split("content-length: ").nth(1).and_then(|l| l.lines().next()?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return if head.starts_with("HTTP/1.1 200") { Ok(body.to_owned()) } else { Err(text.into()) };
            }
        }
    }

    /// A decision and its reward; how long each took.
    async fn pair(&mut self) -> Result<[Duration; 2], Failure> {
        let begun = Instant::now();
        let answer = self.ask("choose", "{}").await?;
        let chosen = begun.elapsed();
        let token = answer.split("\"token\":\"").nth(1).and_then(|t| t.split('"').next()).unwrap_or_default();
        let begun = Instant::now();
        self.ask("reward", &format!("{{\"token\":\"{token}\",\"reward\":0.5}}")).await?;
        Ok([chosen, begun.elapsed()])
    }
}

struct Measured {
    pairs: f64,
    /// How many rewards shared one write, where any were written.
    group: Option<f64>,
    /// p50 and p99 of choose and of reward, in milliseconds.
    times: [[f64; 2]; 2],
}

/// Rewards that were acknowledged, and the writes that they took.
async fn written(address: SocketAddr) -> Result<[f64; 2], Failure> {
    let mut client = Client { stream: TcpStream::connect(address).await?, buffer: Vec::new() };
    let report: serde_json::Value = serde_json::from_str(&client.ask("report", "").await?)?;
    Ok(["acknowledged", "writes"].map(|key| report[key].as_f64().unwrap_or(0.0)))
}

/// As [`drive`] at a service, with the size of its groups.
async fn serve(
    address: SocketAddr,
    seconds: u64,
    connections: usize,
    rate: Option<f64>,
) -> Result<Measured, Failure> {
    let [rewards, writes] = written(address).await?;
    let found = drive(address, seconds, connections, rate).await?;
    let [now, then] = written(address).await?;
    Ok(Measured { group: Some((now - rewards) / (then - writes)), ..found })
}

/// Pairs over `connections` for some seconds: at full speed, or at `rate` pairs a second.
async fn drive(
    address: SocketAddr,
    seconds: u64,
    connections: usize,
    rate: Option<f64>,
) -> Result<Measured, Failure> {
    let (stop, all) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
    let mut tasks = Vec::new();
    let begun = Instant::now();
    for _ in 0..connections {
        let (stop, all) = (stop.clone(), all.clone());
        let every = rate.map(|rate| Duration::from_secs_f64(connections as f64 / rate));
        tasks.push(tokio::spawn(async move {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            let mut client = Client { stream, buffer: Vec::new() };
            let (mut times, mut next) = (Vec::new(), tokio::time::Instant::now());
            while !stop.load(Ordering::Relaxed) {
                times.push(client.pair().await?);
                if let Some(every) = every {
                    next += every;
                    tokio::time::sleep_until(next).await;
                }
            }
            all.lock().map_err(|_| "a task failed")?.extend(times);
            Ok::<_, Failure>(())
        }));
    }
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    stop.store(true, Ordering::Relaxed);
    for task in tasks {
        task.await??;
    }
    let took = begun.elapsed().as_secs_f64();
    let all = all.lock().map_err(|_| "a task failed")?;
    let times = [0, 1].map(|which| {
        let mut each: Vec<f64> = all.iter().map(|pair| pair[which].as_secs_f64() * 1e3).collect();
        each.sort_by(f64::total_cmp);
        [0.5, 0.99].map(|q| each.get((each.len() as f64 * q) as usize).copied().unwrap_or(f64::NAN))
    });
    Ok(Measured { pairs: all.len() as f64 / took, group: None, times })
}

fn show(what: &str, found: &Measured) {
    let Measured { pairs, group, times: [[c50, c99], [r50, r99]] } = found;
    let group = group.map(|group| format!("   {group:.1} rewards per write")).unwrap_or_default();
    println!(
        "{what:34} {pairs:8.0} pairs/s   choose {c50:5.2} / {c99:6.2} ms   reward {r50:5.2} / {r99:6.2} ms   (p50 / p99){group}"
    );
}

/// A service that does nothing but answer.
async fn null() -> Result<SocketAddr, Failure> {
    let answer = format!(
        "{{\"action\":1,\"index\":1,\"propensity\":0.25,\"token\":\"{}\",\"id\":\"0123456789abcdef-1-1\",\"stale_ms\":0}}",
        "x".repeat(160)
    );
    let app = axum::Router::new()
        .route("/v1/bands/load/choose", post(async move |_: axum::body::Bytes| answer.clone()))
        .route("/v1/bands/load/reward", post(async |_: axum::body::Bytes| "{\"status\":200}"));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async { axum::serve(listener, app).await });
    Ok(address)
}

fn load(seconds: u64, connections: usize, folder: &Path) -> Result<(), Failure> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let store = Arc::new(Directory::open(folder)?);
    let serving = Serving::open(band(), store, Arc::new(SystemClock), ServingOptions::default())?;
    let (stop, stopped) = mpsc::channel();
    let service = std::thread::spawn(move || {
        http::run(
            listener,
            vec![serving],
            Clients::default(),
            Limits { connections: 4_096, ..Limits::default() },
            None,
            stopped,
        )
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let full = serve(address, seconds, connections, None).await?;
        show(&format!("served, {connections} connections"), &full);
        let half = serve(address, seconds, connections, Some(full.pairs / 2.0)).await?;
        show("served, at half of that load", &half);
        let goal = serve(address, seconds, connections, Some(10_000.0)).await?;
        show("served, at 10,000 pairs a second", &goal);
        let nothing = drive(null().await?, seconds, connections, None).await?;
        show("a service that does nothing", &nothing);
        println!("{:.2} of a service that does nothing", full.pairs / nothing.pairs);
        Ok::<_, Failure>(())
    })?;
    drop(stop);
    service.join().map_err(|_| "the service failed")??;
    Ok(())
}

fn fold(rewards: usize, folder: &Path) -> Result<(), Failure> {
    let store = Arc::new(Directory::open(folder)?);
    let model: Arc<dyn Model<Arm>> = Arc::new(band());
    let options = LearnerOptions { snapshot: u64::MAX, ..LearnerOptions::default() };
    let open = || FoldLearner::open("load", model.clone(), store.clone(), options.clone());
    let mut learner = open()?;
    let clock = Arc::new(SystemClock);
    let front = Front::open("load", model.clone(), store.clone(), clock, FrontOptions::default(), &learner)?;
    let begun = Instant::now();
    for i in 0..rewards {
        let chosen = front.choose(&Context::plain(4), None)?;
        front.reward(&chosen.token, f64::from(chosen.decision.0) / 4.0, Box::new(|_| ()));
        if i % 10_000 == 9_999 {
            front.commit();
        }
    }
    front.commit();
    let rate = |count: usize, begun: Instant| count as f64 / begun.elapsed().as_secs_f64();
    println!(
        "{:8.0} decisions and rewards a second in one thread, 10,000 rewards to a write",
        rate(rewards, begun)
    );
    let begun = Instant::now();
    while learner.step()? != Step::Idle {}
    println!("{:8.0} rewards a second are learned", rate(rewards, begun));
    let begun = Instant::now();
    learner.save()?;
    println!("{:8.0} ms to save a snapshot", begun.elapsed().as_secs_f64() * 1e3);
    drop(learner);
    let begun = Instant::now();
    let learner = open()?;
    println!(
        "{:8.0} ms to start behind {} rewards",
        begun.elapsed().as_secs_f64() * 1e3,
        learner.counts().learned
    );
    Ok(())
}

fn start(rewards: usize, folder: &Path) -> Result<(), Failure> {
    let store = Arc::new(Directory::open(folder)?);
    let model: Arc<dyn Model<Arm>> = Arc::new(band());
    let options = LearnerOptions { keep: false, ..LearnerOptions::default() };
    let open = || FoldLearner::open("load", model.clone(), store.clone(), options.clone());
    let front = |learner: &FoldLearner<Arm>| {
        let clock = Arc::new(SystemClock);
        Front::open("load", model.clone(), store.clone(), clock, FrontOptions::default(), learner)
    };
    let mut learner = open()?;
    let serving = front(&learner)?;
    for i in 0..rewards {
        let chosen = serving.choose(&Context::plain(4), None)?;
        serving.reward(&chosen.token, f64::from(chosen.decision.0) / 4.0, Box::new(|_| ()));
        if i % 20_000 == 19_999 {
            serving.commit();
            while learner.step()? != Step::Idle {}
        }
    }
    serving.commit();
    while learner.step()? != Step::Idle {}
    learner.save()?;
    drop((learner, serving));
    let begun = Instant::now();
    let learner = open()?;
    front(&learner)?;
    println!(
        "{:8.0} ms to start behind {} rewards",
        begun.elapsed().as_secs_f64() * 1e3,
        learner.counts().learned
    );
    Ok(())
}

/// Megabytes that this process has in memory; `None` where the system does not say so in `/proc`.
fn resident() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().trim_end_matches(" kB").parse::<f64>().ok().map(|kilobytes| kilobytes / 1024.0)
}

fn memory(pairs: usize, folder: &Path) -> Result<(), Failure> {
    let store = Arc::new(Directory::open(folder)?);
    let model: Arc<dyn Model<Arm>> = Arc::new(band());
    let options = LearnerOptions { keep: false, ..LearnerOptions::default() };
    let mut learner = FoldLearner::open("load", model.clone(), store.clone(), options)?;
    let (clock, options) = (Arc::new(SystemClock), FrontOptions::default());
    let most = options.tickets;
    let front = Front::open("load", model, store, clock, options, &learner)?;
    let say = |what: String| println!("{:8.1} MB {what}", resident().unwrap_or(f64::NAN));
    say("at the begin".into());
    for i in 1..=pairs {
        let chosen = front.choose(&Context::plain(4), None)?;
        front.reward(&chosen.token, f64::from(chosen.decision.0) / 4.0, Box::new(|_| ()));
        if i % 1_000 == 0 || i == pairs {
            front.commit();
            while learner.step()? != Step::Idle {}
            front.refresh(&learner.state()?)?;
        }
        if i % pairs.div_ceil(10) == 0 || i == pairs {
            say(format!("after {i} pairs"));
        }
    }
    let refused = Arc::new(AtomicBool::new(false));
    for _ in 0..=most {
        let (chosen, refused) = (front.choose(&Context::plain(4), None)?, refused.clone());
        let noted = move |done: Result<(), _>| {
            refused.fetch_or(done.is_err(), Ordering::Relaxed);
        };
        front.keep(chosen.id, chosen.token, Box::new(noted));
    }
    front.commit();
    let then = if refused.load(Ordering::Relaxed) { "the next is refused" } else { "the next is kept too" };
    say(format!("with {} tickets that are kept: {then}", front.kept()));
    Ok(())
}

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number =
        |at: usize, otherwise: usize| words.get(at).and_then(|w| w.parse().ok()).unwrap_or(otherwise);
    let folder = std::env::temp_dir().join(format!("corral-load-{}", std::process::id()));
    let done = match words.first().map(String::as_str) {
        Some("fold") => fold(number(1, 300_000), &folder),
        Some("memory") => memory(number(1, 1_000_000), &folder),
        Some("start") => start(number(1, 10_000_000), &folder),
        _ => load(number(0, 5) as u64, number(1, 128), &folder),
    };
    std::fs::remove_dir_all(&folder)?;
    done
}
