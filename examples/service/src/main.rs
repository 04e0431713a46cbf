//! A band behind HTTP that survives `kill -9`: a journal in a folder, from which it starts again.
//!
//! `cargo run -- folder 127.0.0.1:8080`, then POST /choose, POST /reward, GET /metrics.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use axum::routing::{get, post};
use axum::{Json, Router, extract::State, http::StatusCode};
use corral_core::masters::{Practical, PracticalParams};
use corral_core::registry::Kind;
use corral_core::{
    Arm, Context, ContextShape, Ensemble, EnsembleError, EnsembleParams, Expiry, FeatureRange, PendingError,
    Propensities, Scale, Setup,
};
use corral_log::journal::{Folder, Journal, JournalError};
use serde::Deserialize;
use serde_json::{Value, json};

const FEATURES: usize = 2;
const ACTIONS: usize = 3;
const BASES: [&str; 3] = ["linucb", "squarecb", "epsilon-greedy"];
const WAITING: usize = 100_000; // decisions that may wait for their reward
const PATIENCE: u64 = 3_600_000; // milliseconds after which one makes room
const SNAPSHOT: u64 = 100_000; // decisions after which the state is saved: a start plays no more lines than follow it

type Failure = Box<dyn std::error::Error + Send + Sync>;
type Answer<T> = Result<T, (StatusCode, String)>;
type Kept = Journal<Arm, Practical, Folder>;

/// One lock: what is written is in the order in which it happened.
type Desk = State<Arc<Mutex<Kept>>>;

#[derive(Deserialize)]
struct Reward {
    token: String,
    reward: f64,
}

fn band() -> Result<Ensemble<Context, Arm, Practical>, Failure> {
    let context = ContextShape { features: FEATURES, ..ContextShape::default() };
    let setup = Setup { context, range: FeatureRange::Learned, ..Setup::arms(ACTIONS, None) };
    let mut bases = Vec::new();
    for name in BASES {
        let built = corral_bases::build(name, &Default::default(), &setup)?;
        bases.push(built.into_arms().ok_or("it does not decide on arms")?);
    }
    let params = corral_bases::band::open(EnsembleParams {
        scale: Some(Scale::rewards(0.0, 10.0)), // others are refused
        propensities: Propensities::Decision,
        ..EnsembleParams::practical(Kind::Arms)
    });
    let band = Ensemble::practical_with(bases, PracticalParams::default(), params)?;
    Ok(band.with_setup(&setup).with_names(BASES))
}

fn decide(kept: &mut Kept, x: Context) -> Result<Value, JournalError> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64);
    if kept.pending().is_full() {
        kept.expire(now.saturating_sub(PATIENCE), Expiry::Drop)?;
    }
    let chosen = kept.choose(x, now)?;
    if chosen.id.round % SNAPSHOT == SNAPSHOT - 1 {
        kept.save().unwrap_or_else(|e| eprintln!("no snapshot: {e}"));
    }
    Ok(json!({ "token": chosen.token, "action": chosen.decision.index(), "propensity": chosen.propensity }))
}

fn refuse(error: JournalError) -> (StatusCode, String) {
    let status = match &error {
        JournalError::Band(EnsembleError::AlreadyLearned { .. }) => StatusCode::CONFLICT,
        JournalError::Pending(PendingError::AlreadyRewarded(_)) => StatusCode::CONFLICT,
        JournalError::Pending(PendingError::Expired(_)) => StatusCode::GONE,
        JournalError::Io(_) | JournalError::Full(_) => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    };
    (status, error.to_string())
}

fn at(State(desk): &Desk) -> MutexGuard<'_, Kept> {
    desk.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn choose(desk: Desk, Json(features): Json<Vec<f64>>) -> Answer<Json<Value>> {
    decide(&mut at(&desk), Context::shared(features, ACTIONS)).map(Json).map_err(refuse)
}

async fn reward(desk: Desk, Json(Reward { token, reward }): Json<Reward>) -> Answer<()> {
    at(&desk).learn(&token, reward).map(drop).map_err(refuse)
}

async fn metrics(desk: Desk) -> String {
    let kept = at(&desk);
    kept.band().metrics().with_pending(kept.pending()).prometheus("service")
}

fn main() -> Result<(), Failure> {
    let (folder, address) =
        std::env::args().skip(1).zip(std::env::args().skip(2)).next().ok_or("folder, address?")?;
    let (kept, recovered) =
        Journal::open(band()?, WAITING, Folder::open(folder)?, &|_| Err("no base joins here".into()))?;
    eprintln!("{recovered:?}");
    let desk = Arc::new(Mutex::new(kept));
    tokio::runtime::Runtime::new()?.block_on(async {
        let listener = tokio::net::TcpListener::bind(address).await?;
        println!("{}", listener.local_addr()?);
        let app = Router::new().route("/choose", post(choose)).route("/reward", post(reward));
        Ok(axum::serve(listener, app.route("/metrics", get(metrics)).with_state(desk)).await?)
    })
}
