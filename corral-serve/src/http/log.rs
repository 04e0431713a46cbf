//! What a service says of itself while it runs: whoever starts it decides what becomes of that.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};

use super::Service;

/// Something that happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A request was answered.
    Request {
        /// Its method.
        method: &'a str,
        /// Its path.
        path: &'a str,
        /// The status of the answer.
        status: u16,
        /// After how many microseconds.
        micros: u64,
    },
    /// A band is not ready to serve, or is again.
    Ready {
        /// Which one.
        band: &'a str,
        /// Why not; `None`: it is.
        why: Option<&'a str>,
    },
}

/// Is given what happens, in the thread in which it does.
pub type Log = Arc<dyn Fn(Event<'_>) + Send + Sync>;

/// Has every answer logged.
pub(super) fn requests(router: Router, log: Log) -> Router {
    router.layer(from_fn(move |request: Request, next: Next| {
        let log = log.clone();
        async move {
            let (begun, method, path) =
                (Instant::now(), request.method().clone(), request.uri().path().to_owned());
            let response = next.run(request).await;
            let micros = begun.elapsed().as_micros() as u64;
            let (method, path, status) = (method.as_str(), path.as_str(), response.status().as_u16());
            log(Event::Request { method, path, status, micros });
            response
        }
    }))
}

/// How often it is looked whether bands are ready.
const LOOK: Duration = Duration::from_secs(1);

/// Logs when bands are no longer ready, and when they are again.
pub(super) async fn readiness(service: Arc<Service>, log: Log) {
    let mut before: Vec<bool> = vec![true; service.bands.len()];
    loop {
        for ((band, serving), before) in service.bands.iter().zip(&mut before) {
            let why = serving.unready();
            if *before != why.is_none() {
                *before = why.is_none();
                log(Event::Ready { band, why: why.as_deref() });
            }
        }
        tokio::time::sleep(LOOK).await;
    }
}
