//! The service over HTTP: a thin layer over [`Serving`].

mod auth;
mod body;
mod limit;
mod log;
mod offer;
#[cfg(test)]
mod openapi;
mod show;

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, FromRequest, FromRequestParts, Path, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::Response;
use axum::routing::{get, post};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::oneshot;

use crate::clock::{Clock, SystemClock};
use crate::error::ServeError;
use crate::lock::lock;
use crate::serving::Serving;

pub use auth::{Clients, Duty};
use body::{
    Accepted, Bands, Bases, ChangeBase, Changed, Choose, Chosen, Done, Each, Error, Health, Readiness,
    Reward, Unready,
};
pub use log::{Event, Log};

/// Limits of the web server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The largest body of a request, in bytes.
    pub body: usize,
    /// How many requests a batch may hold.
    pub batch: usize,
    /// How many connections may be open; others are told to come back later.
    pub connections: usize,
    /// How many requests a client may send in a second; unset: any number. Without clients all are one.
    pub rate: Option<u64>,
    /// How long a connection may be silent.
    pub silence: Duration,
    /// How long open requests may take when the service is stopped.
    pub farewell: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 1 << 20,
            batch: 1_000,
            connections: 1_024,
            rate: None,
            silence: Duration::from_secs(60),
            farewell: Duration::from_secs(10),
        }
    }
}

/// How long a change of bases may wait for the learner before it is answered as accepted.
const CHANGE: Duration = Duration::from_secs(5);
/// The latest time that may be asked for, in milliseconds since 1970: numbers of JSON are exact up to here.
const LATEST: u64 = 1 << 53;
const OPENAPI: &str = include_str!("openapi.json");
const PAGE: &str = include_str!("page.html");

struct Service {
    bands: BTreeMap<String, Serving>,
    clients: Clients,
    limits: Limits,
    /// Rewards of each client and band in the minute.
    given: Mutex<Window>,
    /// Requests of each client in the second.
    sent: Mutex<Window>,
}

/// What is counted in a span of time, and then anew.
#[derive(Default)]
struct Window {
    span: u64,
    counts: HashMap<String, u64>,
}

impl Window {
    /// Counts `more` of someone, unless it were more than `most` in this span: how many there are is given back then.
    fn count(&mut self, span: u64, whose: String, more: u64, most: u64) -> Result<(), u64> {
        if self.span != span {
            *self = Self { span, counts: HashMap::new() };
        }
        let count = self.counts.entry(whose).or_default();
        if count.saturating_add(more) > most {
            return Err(*count);
        }
        *count += more;
        Ok(())
    }
}

type App = State<Arc<Service>>;

/// Serves bands until something is sent by `stop`, or its sender is gone. See [`serve`].
///
/// # Errors
/// As [`serve`], or threads cannot be started.
pub fn run(
    listener: std::net::TcpListener,
    bands: Vec<Serving>,
    clients: Clients,
    limits: Limits,
    log: Option<Log>,
    stop: std::sync::mpsc::Receiver<()>,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (send, stopped) = oneshot::channel::<()>();
    std::thread::spawn(move || {
        let _ = stop.recv();
        let _ = send.send(());
    });
    runtime.block_on(serve(listener, bands, clients, limits, log, async {
        let _ = stopped.await;
    }))
}

/// Serves bands until `stop` is done; then takes no more, writes and learns what waits, and returns.
///
/// # Errors
/// The listener fails, or it listens beyond this machine and there are no clients.
pub async fn serve(
    listener: std::net::TcpListener,
    bands: Vec<Serving>,
    clients: Clients,
    limits: Limits,
    log: Option<Log>,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let address = listener.local_addr()?;
    check_address(address, &clients)?;
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let farewell = limits.farewell;
    let listener = limit::Limited::new(listener, limits.connections, limits.silence);
    let bands = bands.into_iter().map(|band| (band.spec().name.clone(), band)).collect();
    let service =
        Arc::new(Service { bands, clients, limits, given: Mutex::default(), sent: Mutex::default() });
    let (send, stopped) = oneshot::channel::<()>();
    let mut router = router(service.clone());
    let mut looking = None;
    if let Some(log) = log {
        looking = Some(tokio::spawn(log::readiness(service.clone(), log.clone())));
        router = log::requests(router, log);
    }
    let serving = axum::serve(listener, router).with_graceful_shutdown(async move {
        stop.await;
        let _ = send.send(());
    });
    let mut serving = tokio::spawn(async move { serving.await });
    let _ = stopped.await;
    // Clients that do not finish in time are left alone.
    let ended = tokio::time::timeout(farewell, &mut serving).await;
    serving.abort();
    looking.into_iter().for_each(|task| task.abort());
    tokio::task::spawn_blocking(move || service.bands.values().for_each(Serving::stop)).await?;
    ended.map_or(Ok(()), |served| served?)
}

/// Refuses to serve others than this machine without clients.
///
/// # Errors
/// It would.
pub fn check_address(address: SocketAddr, clients: &Clients) -> io::Result<()> {
    if address.ip().is_loopback() || !clients.is_empty() {
        return Ok(());
    }
    let why = format!(
        "{address} can be reached from other machines: give clients and their secrets by --clients FILE"
    );
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}

fn router(service: Arc<Service>) -> Router {
    let body = service.limits.body;
    Router::new()
        // The page has no numbers itself: it asks for them, with a secret where one is needed.
        .route("/", get(async || text("text/html; charset=utf-8", PAGE)))
        .route("/health", get(async || answer(200, &Health { status: "ok" })))
        .route("/ready", get(ready))
        .route("/metrics", get(metrics))
        .route("/openapi.json", get(async || text("application/json", OPENAPI)))
        .route("/v1/bands", get(bands))
        .route("/v1/bands/{name}/choose", post(choose))
        .route("/v1/bands/{name}/choose/batch", post(choose_batch))
        .route("/v1/bands/{name}/reward", post(reward))
        .route("/v1/bands/{name}/reward/batch", post(reward_batch))
        .route("/v1/bands/{name}/report", get(report))
        .route("/v1/bands/{name}/bases", get(bases).post(change_base))
        .route("/v1/bands/{name}/log", get(lines))
        .fallback(async || refuse(404, "there is nothing here: /openapi.json lists what there is"))
        .method_not_allowed_fallback(async || {
            refuse(405, "not by this method: /openapi.json lists what there is")
        })
        .layer(DefaultBodyLimit::max(body))
        .with_state(service)
}

fn text(kind: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(kind));
    response
}

fn answer(status: u16, value: &impl Serialize) -> Response {
    let mut response = text("application/json", serde_json::to_vec(value).unwrap_or_default());
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if status == 401 {
        let how = header::HeaderValue::from_static("Bearer");
        response.headers_mut().insert(header::WWW_AUTHENTICATE, how);
    }
    response
}

fn refuse(status: u16, why: &str) -> Response {
    answer(status, &Error { status, error: why.to_owned() })
}

impl From<ServeError> for Box<Response> {
    fn from(error: ServeError) -> Self {
        let refused = Error::from(&error);
        Self::new(answer(refused.status, &refused))
    }
}

/// The name of a band in a path.
struct Name(String);

impl<S: Send + Sync> FromRequestParts<S> for Name {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let found = Path::from_request_parts(parts, state).await;
        found.map(|Path(name)| Self(name)).map_err(|e| refuse(404, &format!("there is no such band: {e}")))
    }
}

/// The body of a request.
struct Content(Bytes);

impl<S: Send + Sync> FromRequest<S> for Content {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response> {
        Bytes::from_request(request, state).await.map(Self).map_err(|e| match e.status() {
            StatusCode::PAYLOAD_TOO_LARGE => refuse(413, "the body is too large"),
            _ => refuse(422, &format!("the body cannot be read: {e}")),
        })
    }
}

/// What a handler gives up with.
type Gives<T> = Result<T, Box<Response>>;

fn settle(result: Gives<Response>) -> Response {
    result.unwrap_or_else(|refused| *refused)
}

impl Service {
    /// The band of a request, and the client that sends it, which must have this duty.
    fn admitted(&self, headers: &HeaderMap, duty: Duty, name: &str) -> Gives<(&Serving, String)> {
        let client = self.admit(headers, duty)?;
        Ok((self.band(name)?, client))
    }

    fn admit(&self, headers: &HeaderMap, duty: Duty) -> Gives<String> {
        let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let client =
            self.clients.admit(given, duty).map_err(|(status, why)| Box::new(refuse(status, why)))?;
        if let Some(most) = self.limits.rate {
            let second = SystemClock.now() / 1_000;
            let counted = lock(&self.sent).count(second, client.clone(), 1, most);
            counted.map_err(|_| {
                Box::new(refuse(429, &format!("a client may send {most} requests in a second, and no more")))
            })?;
        }
        Ok(client)
    }

    fn band(&self, name: &str) -> Gives<&Serving> {
        let known = || self.bands.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        self.bands.get(name).ok_or_else(|| {
            Box::new(refuse(404, &format!("there is no band {name:?}; there are: {}", known())))
        })
    }

    /// Counts rewards of a client; refuses those beyond the quota.
    fn count(&self, client: &str, serving: &Serving, rewards: usize) -> Result<(), ServeError> {
        let Some(quota) = serving.spec().quota else { return Ok(()) };
        let (minute, whose) = (SystemClock.now() / 60_000, format!("{} {client}", serving.spec().name));
        lock(&self.given).count(minute, whose, rewards as u64, quota).map_err(ServeError::Quota)
    }
}

/// Reads a body that is one object, or for a batch a list.
fn read<T: DeserializeOwned>(body: &Bytes, begins: u8) -> Result<T, ServeError> {
    if body.trim_ascii_start().first() != Some(&begins) {
        let what = if begins == b'[' { "a list" } else { "an object" };
        return Err(ServeError::Asked(format!("the body must be {what} in JSON")));
    }
    serde_json::from_slice(body).map_err(|e| ServeError::Asked(format!("the body cannot be read: {e}")))
}

async fn ready(State(service): App) -> Response {
    let bands = service.bands.iter();
    let bands: Vec<_> = bands.filter_map(|(band, of)| Some(Unready { band, why: of.unready()? })).collect();
    let ready = bands.is_empty();
    answer(if ready { 200 } else { 503 }, &Readiness { ready, bands })
}

async fn metrics(State(service): App, headers: HeaderMap) -> Response {
    settle(
        service
            .admit(&headers, Duty::Read)
            .map(|_| text("text/plain; version=0.0.4", show::metrics(service.bands.values()))),
    )
}

async fn bands(State(service): App, headers: HeaderMap) -> Response {
    settle(
        service
            .admit(&headers, Duty::Read)
            .map(|_| answer(200, &Bands { bands: service.bands.keys().map(String::as_str).collect() })),
    )
}

/// One decision, kept where that is asked for.
async fn decide(serving: &Serving, asked: Choose) -> Result<Chosen, ServeError> {
    let (store, spec) = (asked.store, serving.spec());
    let answer = serving.choose(asked.question(spec)?)?;
    if store {
        let (send, kept) = oneshot::channel();
        serving.keep(&answer.chosen, Box::new(move |result| drop(send.send(result))))?;
        kept.await.unwrap_or_else(|_| Err(ServeError::Store("the writer has stopped".into())))?;
    }
    let stale = serving.staleness().as_millis() as u64;
    Ok(Chosen::of(answer, spec, stale))
}

async fn choose(
    State(service): App,
    Name(name): Name,
    headers: HeaderMap,
    Content(body): Content,
) -> Response {
    let chosen = async {
        let (serving, _) = service.admitted(&headers, Duty::Decide, &name)?;
        let asked = if body.is_empty() { Choose::default() } else { read(&body, b'{')? };
        Ok(answer(200, &decide(serving, asked).await?))
    };
    settle(chosen.await)
}

async fn choose_batch(
    State(service): App,
    Name(name): Name,
    headers: HeaderMap,
    Content(body): Content,
) -> Response {
    let chosen = async {
        let (serving, _) = service.admitted(&headers, Duty::Decide, &name)?;
        let asked: Vec<Choose> = read(&body, b'[')?;
        service.check_batch(asked.len())?;
        let mut answers = Vec::with_capacity(asked.len());
        for asked in asked {
            answers.push(Each::from(decide(serving, asked).await));
        }
        Ok(answer(200, &answers))
    };
    settle(chosen.await)
}

impl Service {
    fn check_batch(&self, size: usize) -> Result<(), ServeError> {
        let most = self.limits.batch;
        if size <= most {
            return Ok(());
        }
        Err(ServeError::Asked(format!("a batch of {size}: at most {most} are taken")))
    }
}

/// Brings a reward on its way; the answer comes later.
fn bring(serving: &Serving, given: Reward) -> oneshot::Receiver<Result<(), ServeError>> {
    let (send, answer) = oneshot::channel();
    let done: crate::outbox::Done = Box::new(move |result| drop(send.send(result)));
    match (serving.front(), given.token, given.id) {
        (Err(error), ..) => done(Err(error)),
        (Ok(front), Some(token), None) => front.reward(&token, given.reward, done),
        (Ok(front), None, Some(id)) => front.reward_kept(&id, given.reward, done),
        _ => done(Err(ServeError::Asked("a reward has a token or an id: one of the two".into()))),
    }
    answer
}

/// As [`bring`]. A ticket that is kept may have to be looked for in the store: other requests do not wait for that.
async fn send(
    service: &Arc<Service>,
    name: &str,
    given: Reward,
) -> Gives<oneshot::Receiver<Result<(), ServeError>>> {
    if given.id.is_none() {
        return Ok(bring(service.band(name)?, given));
    }
    let (service, name) = (service.clone(), name.to_owned());
    let sent = tokio::task::spawn_blocking(move || Ok(bring(service.band(&name)?, given))).await;
    sent.unwrap_or_else(|_| Err(ServeError::Store("the service stops".into()).into()))
}

async fn settled(answer: oneshot::Receiver<Result<(), ServeError>>) -> Result<(), ServeError> {
    answer.await.unwrap_or_else(|_| Err(ServeError::Store("the writer has stopped".into())))
}

async fn reward(
    State(service): App,
    Name(name): Name,
    headers: HeaderMap,
    Content(body): Content,
) -> Response {
    let given = async {
        let (serving, client) = service.admitted(&headers, Duty::Reward, &name)?;
        let given: Reward = read(&body, b'{')?;
        service.count(&client, serving, 1)?;
        settled(send(&service, &name, given).await?).await?;
        Ok(answer(200, &Done { status: 200 }))
    };
    settle(given.await)
}

async fn reward_batch(
    State(service): App,
    Name(name): Name,
    headers: HeaderMap,
    Content(body): Content,
) -> Response {
    let given = async {
        let (serving, client) = service.admitted(&headers, Duty::Reward, &name)?;
        let given: Vec<Reward> = read(&body, b'[')?;
        service.check_batch(given.len())?;
        service.count(&client, serving, given.len())?;
        // All are on their way before the first is waited for: they are written together.
        let mut on_their_way = Vec::with_capacity(given.len());
        for given in given {
            on_their_way.push(send(&service, &name, given).await?);
        }
        let mut answers = Vec::with_capacity(on_their_way.len());
        for waiting in on_their_way {
            answers.push(Each::from(settled(waiting).await.map(|()| Done { status: 200 })));
        }
        Ok(answer(200, &answers))
    };
    settle(given.await)
}

async fn report(State(service): App, Name(name): Name, uri: Uri, headers: HeaderMap) -> Response {
    let shown = || {
        let (serving, _) = service.admitted(&headers, Duty::Read, &name)?;
        let since = asked(&uri, "history").map(|text| {
            let since = text.parse().ok().filter(|since| *since <= LATEST);
            since.ok_or_else(|| {
                let what = format!(
                    "history is a time in milliseconds since 1970, at most {LATEST}, but is {text:?}"
                );
                ServeError::Asked(what)
            })
        });
        let since = since.transpose()?;
        let accepts = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
        match asked(&uri, "format") {
            Some("html") => Ok(text("text/html; charset=utf-8", show::html(serving))),
            Some("text") => Ok(text("text/plain; charset=utf-8", show::text(serving))),
            None if accepts.contains("text/html") => {
                Ok(text("text/html; charset=utf-8", show::html(serving)))
            }
            None | Some("json") => Ok(answer(200, &show::report(serving, since))),
            Some(other) => {
                let why = format!("a report is json, html or text, but format is {other:?}");
                Err(ServeError::Asked(why).into())
            }
        }
    };
    settle(shown())
}

async fn bases(State(service): App, Name(name): Name, headers: HeaderMap) -> Response {
    let shown = || {
        let (serving, _) = service.admitted(&headers, Duty::Read, &name)?;
        Ok(answer(200, &Bases { bases: serving.metrics().bases }))
    };
    settle(shown())
}

async fn change_base(
    State(service): App,
    Name(name): Name,
    headers: HeaderMap,
    Content(body): Content,
) -> Response {
    let changed = async {
        let (serving, _) = service.admitted(&headers, Duty::Admin, &name)?;
        let ChangeBase { change, name, share, params } = read(&body, b'{')?;
        let before = serving.learned();
        let (send, written) = oneshot::channel();
        serving.change(change, &name, share, params, Box::new(move |result| drop(send.send(result))))?;
        settled(written).await?;
        // It is safe now; it holds when the learner has come to it.
        let front = serving.front()?;
        let (segment, bytes) = front.place();
        let until = tokio::time::Instant::now() + CHANGE;
        while !front.has_learned(segment, bytes) {
            if tokio::time::Instant::now() > until {
                let note = "it is written, and the learner has not come to it yet";
                return Ok(answer(202, &Accepted { status: 202, note }));
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        if serving.learned().changes == before.changes
            && let Some(why) = serving.refusal()
        {
            return Err(ServeError::Asked(why).into());
        }
        Ok(answer(200, &Changed { status: 200, bases: serving.metrics().bases }))
    };
    settle(changed.await)
}

/// The value of a parameter of the query.
fn asked<'a>(uri: &'a Uri, name: &str) -> Option<&'a str> {
    let pairs = uri.query().unwrap_or_default().split('&');
    pairs.filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name).map(|(_, value)| value)
}

async fn lines(State(service): App, Name(name): Name, uri: Uri, headers: HeaderMap) -> Response {
    type Parts = Box<dyn Iterator<Item = Result<Vec<u8>, ServeError>> + Send>;
    let shown = || {
        let (serving, _) = service.admitted(&headers, Duty::Read, &name)?;
        let (send, lines) = tokio::sync::mpsc::channel(4);
        let export: Parts = match asked(&uri, "of") {
            None | Some("rewards") => Box::new(serving.export()),
            Some("decisions") => Box::new(serving.export_decisions()?),
            Some(other) => {
                let why = format!("a log is of rewards or of decisions, but of is {other:?}");
                return Err(ServeError::Asked(why).into());
            }
        };
        std::thread::spawn(move || {
            for part in export {
                let failed = part.is_err();
                if send.blocking_send(part.map(Bytes::from).map_err(io::Error::other)).is_err() || failed {
                    return;
                }
            }
        });
        Ok(text("application/jsonl", Body::from_stream(Received(lines))))
    };
    settle(shown())
}

/// What a channel holds, as a stream.
struct Received(tokio::sync::mpsc::Receiver<io::Result<Bytes>>);

impl futures_core::Stream for Received {
    type Item = io::Result<Bytes>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        self.0.poll_recv(cx)
    }
}
