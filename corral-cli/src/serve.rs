//! `corral serve`: bands behind HTTP.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use corral_lab::valuation::{self, Request};
use corral_log::Wants;
use corral_serve::http::{self, Clients, Event, Limits};
use corral_serve::{
    Clock, Directory, FrontOptions, LearnerOptions, Role, ServeError, Serving, ServingOptions, Store,
    SystemClock, spec,
};

use serde_json::{Value, json};

use crate::{Failure, read_text, say};

/// Arguments of `corral serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// What to serve: a file with one band, or with several tables `band`
    #[arg(required = true)]
    spec: Vec<PathBuf>,
    /// Where to listen; beyond this machine only with --clients
    #[arg(long, default_value = "127.0.0.1:8080", value_name = "ADDRESS:PORT")]
    listen: SocketAddr,
    /// Where rewards and what is learned are kept: a folder, or s3://BUCKET/FOLDER, az://CONTAINER/FOLDER, gs://BUCKET/FOLDER
    #[arg(long, value_name = "DIR|BUCKET")]
    store: String,
    /// Wait so long for more rewards before they are written together [default: 0; 100 in a bucket]
    #[arg(long, value_name = "MILLISECONDS")]
    group: Option<u64>,
    /// Look so often for what others have written, and serve what was learned [default: 50; 1000 in a bucket]
    #[arg(long, value_name = "MILLISECONDS")]
    refresh: Option<u64>,
    /// What this process does
    #[arg(long, value_enum, default_value = "all")]
    role: RoleName,
    /// Clients with their secrets and roles: tables `client`
    #[arg(long, value_name = "FILE")]
    clients: Option<PathBuf>,
    /// How many connections may be open
    #[arg(long, default_value_t = 1_024)]
    connections: usize,
    /// The largest body of a request, in bytes
    #[arg(long, default_value_t = Limits::default().body, value_name = "BYTES")]
    body: usize,
    /// How many tickets a front end keeps for clients that keep an id alone (`store`); more are refused
    #[arg(long, default_value_t = FrontOptions::default().tickets)]
    tickets: usize,
    /// Answer requests for decisions by 503 where a reward that was taken here has waited longer than this to be served [default: never]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    max_stale: Option<Duration>,
    /// How many requests a client may send in a second [default: any number]
    #[arg(long, value_name = "REQUESTS")]
    rate: Option<u64>,
    /// A snapshot is saved after so many rewards: a start learns no more again
    #[arg(long, default_value_t = 100_000, value_name = "REWARDS")]
    snapshot: u64,
    /// A log (ours, dsjson or CSV) that teaches the bases before the first decision; one that has begun is left as it is
    #[arg(long, value_name = "LOG")]
    warm_up: Option<PathBuf>,
    /// Remove segments of the log when two snapshots cover them [default: keep the log]
    #[arg(long)]
    forget: bool,
    /// What to write to stderr
    #[arg(long, value_enum, default_value = "text")]
    log: LogName,
    /// Cut a segment of the log before a damaged line, and go on [default: name it, and stop]
    #[arg(long)]
    cut: bool,
}

/// What is written to stderr while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LogName {
    /// Start, stop and failures, for people
    Text,
    /// An object for each start, stop, request and failure
    Json,
    /// Nothing
    Off,
}

impl LogName {
    /// Says that something happened: in words, or as an object.
    fn say(self, text: &str, event: &str, fields: Value) {
        match self {
            Self::Text => say(text),
            Self::Json => {
                let mut line = json!({ "at": SystemClock.now(), "event": event });
                if let (Some(line), Value::Object(fields)) = (line.as_object_mut(), fields) {
                    line.extend(fields);
                }
                eprintln!("{line}");
            }
            Self::Off => {}
        }
    }

    /// What becomes of what the service says of itself.
    fn listener(self) -> Option<http::Log> {
        if self == Self::Off {
            return None;
        }
        Some(Arc::new(move |event| match event {
            // Those that are the caller's fault, and those that are fine, are for programs.
            Event::Request { method, path, status, micros } if self == Self::Json || status >= 500 => {
                let fields = json!({ "method": method, "path": path, "status": status, "micros": micros });
                self.say(&format!("{method} {path}: answered by {status}"), "request", fields);
            }
            Event::Ready { band, why } => {
                let text =
                    why.map_or_else(|| "it is ready again".to_owned(), |why| format!("not ready: {why}"));
                self.say(&format!("band {band}: {text}"), "ready", json!({ "band": band, "why": why }));
            }
            _ => {}
        }))
    }
}

/// What a process does.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum RoleName {
    /// Decide, take rewards and learn
    All,
    /// Decide and take rewards; a learner runs elsewhere
    Front,
    /// Learn what front ends elsewhere have taken
    Learner,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("not a number of seconds: {text:?}"))?;
    Duration::try_from_secs_f64(seconds).map_err(|e| format!("{text}: {e}"))
}

/// Whether a store is a bucket, and not a folder.
fn is_bucket(place: &str) -> bool {
    place.contains("://")
}

fn store(place: &str) -> Result<Arc<dyn Store>, Failure> {
    let opened = if is_bucket(place) {
        bucket(place)
    } else {
        Directory::open(place).map(|store| Arc::new(store) as Arc<dyn Store>)
    };
    opened.map_err(|e| Failure::usage(format!("--store {place}: {e}")))
}

#[cfg(feature = "bucket")]
fn bucket(place: &str) -> std::io::Result<Arc<dyn Store>> {
    Ok(Arc::new(corral_serve::Bucket::open(place)?))
}

#[cfg(not(feature = "bucket"))]
fn bucket(_: &str) -> std::io::Result<Arc<dyn Store>> {
    let why = "this program was built without buckets: build it with the feature `bucket` \
               (cargo install --path corral-cli --features bucket), or name a folder";
    Err(std::io::Error::new(std::io::ErrorKind::Unsupported, why))
}

/// How bands are served: what the arguments do not say follows from the store.
fn options(args: &ServeArgs) -> ServingOptions {
    let mut options =
        if is_bucket(&args.store) { ServingOptions::for_bucket() } else { ServingOptions::default() };
    options.role = match args.role {
        RoleName::All => Role::All,
        RoleName::Front => Role::Front,
        RoleName::Learner => Role::Learner,
    };
    options.learner =
        LearnerOptions { cut: args.cut, keep: !args.forget, snapshot: args.snapshot, ..options.learner };
    options.front.tickets = args.tickets;
    options.max_stale = args.max_stale;
    options.group = args.group.map_or(options.group, Duration::from_millis);
    if let Some(often) = args.refresh.map(Duration::from_millis) {
        options.refresh.1 = often;
        options.publish.1 = options.publish.1.max(often);
    }
    options
}

/// `corral serve`.
///
/// # Errors
/// A spec cannot be used, the store cannot be read, or the address cannot be listened on.
pub fn serve(args: &ServeArgs) -> Result<(), Failure> {
    let mut specs: Vec<spec::ServedSpec> = Vec::new();
    for path in &args.spec {
        let found = spec::read(&read_text(path)?);
        for band in found.map_err(|e| Failure::usage(format!("{}: {e}", path.display())))? {
            let twice = specs.iter().any(|other| other.name == band.name);
            Failure::ensure(!twice, format!("{}: a band {:?} is there already", path.display(), band.name))?;
            specs.push(band);
        }
    }
    let clients = match &args.clients {
        Some(path) => Clients::read(&read_text(path)?)
            .map_err(|e| Failure::usage(format!("{}: {e}", path.display())))?,
        None => Clients::default(),
    };
    http::check_address(args.listen, &clients).map_err(Failure::usage)?;
    let store = store(&args.store)?;
    let listener = TcpListener::bind(args.listen)
        .map_err(|e| Failure::usage(format!("--listen {}: {e}", args.listen)))?;
    let address = listener.local_addr().map_err(Failure::running)?;
    let options = options(args);
    if let Some(log) = &args.warm_up {
        warm_up(log, &specs, &*store, &options.learner, args.log)?;
    }
    let mut bands = Vec::with_capacity(specs.len());
    for band in specs {
        let name = band.name.clone();
        let opened = Serving::open(band, store.clone(), Arc::new(SystemClock), options.clone());
        let serving = opened.map_err(|e| failed(&name, &e))?;
        let (learned, folds) = (serving.learned().learned, serving.folds());
        let text = format!("band {name}: {learned} rewards learned, {folds} folds");
        args.log.say(&text, "open", json!({ "band": name, "learned": learned, "folds": folds }));
        bands.push(serving);
    }
    let (stop, stopped) = mpsc::channel();
    // A second signal ends it at once: what was acknowledged is safe.
    let _ = ctrlc::set_handler(move || {
        if stop.send(()).is_err() {
            std::process::exit(130);
        }
    });
    let text = format!("listening on http://{address}");
    args.log.say(&text, "listen", json!({ "address": address.to_string() }));
    let limits =
        Limits { connections: args.connections, rate: args.rate, body: args.body, ..Limits::default() };
    http::run(listener, bands, clients, limits, args.log.listener(), stopped).map_err(Failure::running)?;
    args.log.say("stopped: all that was acknowledged is in the store", "stop", json!({}));
    Ok(())
}

/// Has the one band that is served begin with what a log teaches its bases.
fn warm_up(
    log: &Path,
    specs: &[spec::ServedSpec],
    store: &dyn Store,
    options: &LearnerOptions,
    to: LogName,
) -> Result<(), Failure> {
    let [band] = specs else {
        return Err(Failure::usage("--warm-up is for one band: serve it alone for the first time"));
    };
    let scale = band.scale();
    let request = Request { range: Some((scale.low, scale.high)), ..Request::default() };
    let wants = Wants { context: true, ..Wants::default() };
    let open = || {
        let opened = valuation::open(log, &request, wants.clone());
        opened
            .map_err(|e| ServeError::Model(format!("--warm-up: {}: {}", log.display(), valuation::chain(&e))))
    };
    let warmed = corral_serve::warm_up(band, store, options, &open);
    match warmed.map_err(|e| failed(&band.name, &e))? {
        Some(warmed) => {
            let fields = json!({ "band": band.name, "rows": warmed.rows, "used": warmed.used, "refused": warmed.refused });
            to.say(&format!("band {}: its bases have learned {warmed}", band.name), "warm-up", fields);
        }
        None => {
            let text =
                format!("band {}: it has begun before, and does not learn {}", band.name, log.display());
            to.say(&text, "warm-up", json!({ "band": band.name, "rows": 0 }));
        }
    }
    Ok(())
}

fn failed(band: &str, error: &ServeError) -> Failure {
    let message = format!("band {band}: {error}");
    match error {
        ServeError::Model(_) => Failure::usage(message),
        _ => Failure::running(message),
    }
}
