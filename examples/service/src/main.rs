//! A band behind HTTP that survives `kill -9`: what happens is appended to a file first, which is played again at the start.
//!
//! `cargo run -- tickets.jsonl 127.0.0.1:8080`, then POST /choose, POST /reward, GET /metrics.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use axum::routing::{get, post};
use axum::{Json, Router, extract::State, http::StatusCode};
use corral_core::masters::{Practical, PracticalParams};
use corral_core::registry::Kind;
use corral_core::{
    Arm, Context, ContextShape, Ensemble, EnsembleParams, Event, Expiry, FeatureRange, Pending, PendingError,
    Propensities, Scale, Setup, Ticket, TicketId,
};
use rand_pcg::{Pcg64Dxsm, rand_core::SeedableRng};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

const FEATURES: usize = 2;
const ACTIONS: usize = 3;
const BASES: [&str; 3] = ["linucb", "squarecb", "epsilon-greedy"];
const PATIENCE: u64 = 3_600; // seconds after which a ticket makes room
const SECRET: u64 = 42; // yours is random: who knows it can make tickets, and decisions again

type Failure = Box<dyn std::error::Error + Send + Sync>;
type Answer<T> = Result<T, (StatusCode, String)>;

struct Service {
    band: Ensemble<Context, Arm, Practical>,
    pending: Pending<Context, Arm>,
}

/// One lock around the band and its tickets: what is written is in the order in which it happened.
type Desk = State<Arc<Mutex<Service>>>;

#[derive(Deserialize)]
struct Reward {
    id: u64,
    reward: f64,
}

impl Service {
    fn new() -> Result<Self, Failure> {
        let context = ContextShape { features: FEATURES, ..ContextShape::default() };
        let setup = Setup { context, range: FeatureRange::Learned, ..Setup::arms(ACTIONS, None) };
        let mut bases = Vec::new();
        for name in BASES {
            let built = corral_bases::build(name, &Default::default(), &setup)?;
            bases.push(built.into_arms().ok_or("it does not decide on arms")?);
        }
        let params = EnsembleParams {
            id: Some(1),
            secret: SECRET,
            scale: Some(Scale::rewards(0.0, 10.0)), // others are refused
            propensities: Propensities::Decision,
            ..EnsembleParams::practical(Kind::Arms)
        };
        let band = Ensemble::practical_with(bases, PracticalParams::default(), params)?;
        Ok(Self { band: band.with_setup(&setup).with_names(BASES), pending: Pending::new(100_000) })
    }

    /// Plays the file again and goes on writing it. A last line that the kill cut short was never answered: it is cut off.
    fn open(path: &str) -> Result<Self, Failure> {
        let mut service = Self::new()?;
        let file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
        let (mut whole, mut line, mut lines) = (0, String::new(), BufReader::new(&file));
        while lines.read_line(&mut line)? > 0 && line.ends_with('\n') {
            let event: Event<Context, Ticket<Arm>> = serde_json::from_str(&line)?;
            if let Event::Stored { context, ticket, .. } = &event {
                service.band.choose(context, &mut generator(ticket.id()))?; // what bases did when they were asked
            }
            service.pending.replay(event, &mut service.band)?;
            whole += line.len() as u64;
            line.clear();
        }
        file.set_len(whole)?;
        service.pending = service.pending.with_journal(move |e| append(&file, &e).map_err(|e| e.to_string()));
        Ok(service)
    }

    fn choose(&mut self, x: Context) -> Answer<Value> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
        if self.pending.is_full() {
            self.pending.expire(now.saturating_sub(PATIENCE), Expiry::Drop).map_err(refuse)?;
        }
        if self.pending.is_full() {
            return Err(refuse(PendingError::Full(self.pending.len())));
        }
        let chosen = self.band.choose(&x, &mut generator(self.band.next_id()));
        let ticket = chosen.map_err(|e| refuse(e.into()))?;
        let (action, propensity) = (ticket.decision.index(), ticket.propensity());
        let id = self.pending.insert(x, ticket, now).map_err(|e| refuse(e.error))?;
        Ok(json!({ "id": id, "action": action, "propensity": propensity }))
    }
}

fn generator(id: TicketId) -> Pcg64Dxsm {
    Pcg64Dxsm::seed_from_u64(id.seed(SECRET))
}

/// One write for a line. It survives the end of this process; to survive that of the machine, add `sync_data`.
fn append(mut file: &File, event: &impl Serialize) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(event)?;
    line.push(b'\n');
    file.write_all(&line)
}

fn refuse(error: PendingError) -> (StatusCode, String) {
    let status = match error {
        PendingError::Unknown(_) => StatusCode::NOT_FOUND,
        PendingError::AlreadyRewarded(_) | PendingError::Settled(_) => StatusCode::CONFLICT,
        PendingError::Expired(_) => StatusCode::GONE,
        PendingError::Journal(_) | PendingError::Full(_) => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    };
    (status, error.to_string())
}

fn at(State(desk): &Desk) -> MutexGuard<'_, Service> {
    desk.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn choose(desk: Desk, Json(features): Json<Vec<f64>>) -> Answer<Json<Value>> {
    at(&desk).choose(Context::shared(features, ACTIONS)).map(Json)
}

async fn reward(desk: Desk, Json(Reward { id, reward }): Json<Reward>) -> Answer<()> {
    let Service { band, pending } = &mut *at(&desk);
    pending.reward(id, reward, band).map(drop).map_err(refuse)
}

async fn metrics(desk: Desk) -> String {
    let Service { band, pending } = &*at(&desk);
    band.metrics().with_pending(pending).prometheus("service")
}

fn main() -> Result<(), Failure> {
    let (file, address) =
        std::env::args().skip(1).zip(std::env::args().skip(2)).next().ok_or("file, address?")?;
    let desk = Arc::new(Mutex::new(Service::open(&file)?));
    tokio::runtime::Runtime::new()?.block_on(async {
        let listener = tokio::net::TcpListener::bind(address).await?;
        println!("{}", listener.local_addr()?);
        let app = Router::new().route("/choose", post(choose)).route("/reward", post(reward));
        Ok(axum::serve(listener, app.route("/metrics", get(metrics)).with_state(desk)).await?)
    })
}
