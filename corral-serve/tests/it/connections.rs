//! More connections than may be open, and clients that are slow or vanish.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use corral_serve::http::Limits;

use crate::common::SPEC;
use crate::web::Running;

/// The memory of this process, where the system says it.
fn resident() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(text.split(' ').nth(1)?.parse::<u64>().ok()? * 4096)
}

/// 400 connections at once where 20 may be open; with CORRAL_SLOW=1 10,000. The first are served, the others are refused by an
/// answer or closed, and the service goes on.
#[test]
fn connections_beyond_the_limit_are_refused_politely() {
    let many = if std::env::var_os("CORRAL_SLOW").is_some() { 10_000 } else { 400 };
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits { connections: 20, ..Limits::default() };
    let mut running = Running::start(SPEC, folder.path(), "", limits);
    let mut served: Vec<_> = (0..20).map(|_| running.client()).collect();
    served.iter_mut().for_each(|client| assert_eq!(client.get("/health").0, 200));
    let before = resident();
    let mut beyond: Vec<TcpStream> = Vec::with_capacity(many);
    for i in 0..many {
        let mut stream = TcpStream::connect(running.address()).unwrap();
        // Half of them ask; some of these are refused before they do.
        if i % 2 == 0 {
            let _ = stream.write_all(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n");
        }
        beyond.push(stream);
        if i % 100 == 0 {
            assert_eq!(served[i / 100 % 20].get("/health").0, 200, "it goes on");
        }
    }
    let grown = before.zip(resident()).map(|(before, after)| after.saturating_sub(before));
    assert!(grown.is_none_or(|bytes| bytes < 64 << 20), "{grown:?} bytes for {many} connections");
    let (mut refused, mut closed) = (0, 0);
    for stream in &mut beyond {
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut answer = String::new();
        match stream.read_to_string(&mut answer) {
            Ok(0) | Err(_) => closed += 1,
            Ok(_) => {
                assert!(
                    answer.starts_with("HTTP/1.1 503 ") && answer.contains("too many connections"),
                    "{answer}"
                );
                refused += 1;
            }
        }
    }
    println!("{refused} refused by an answer, {closed} closed; memory grew by {grown:?} bytes");
    assert!(refused + closed == many && refused >= many / 4, "{refused} and {closed} of {many}");
    drop((beyond, served));
    // Its places are free again.
    let until = Instant::now() + Duration::from_secs(10);
    while running.client().raw("GET", "/health", "", "").is_none_or(|(status, _)| status != 200) {
        assert!(Instant::now() < until, "no place is free");
        std::thread::sleep(Duration::from_millis(20));
    }
    running.stop();
}

/// A client that brings a request byte by byte, one that does not read, and ones that vanish in the middle do not keep their places.
#[test]
fn slow_and_vanishing_clients_do_not_keep_others_out() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits { connections: 3, silence: Duration::from_millis(400), ..Limits::default() };
    let mut running = Running::start(SPEC, folder.path(), "", limits);
    let mut slow: Vec<_> = (0..3).map(|_| TcpStream::connect(running.address()).unwrap()).collect();
    let begun = Instant::now();
    let closed = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        // A header that never ends.
        slow.iter_mut().all(|stream| stream.write_all(b"x").is_err())
    });
    assert!(closed && begun.elapsed() < Duration::from_secs(9), "they were not closed");
    for i in 0..30 {
        let mut stream = TcpStream::connect(running.address()).unwrap();
        let request =
            "POST /v1/bands/shop/choose HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\n{\"unit\":";
        let _ = stream.write_all(&request.as_bytes()[..request.len() * i / 30]);
    }
    let until = Instant::now() + Duration::from_secs(10);
    while running.client().raw("GET", "/health", "", "").is_none_or(|(status, _)| status != 200) {
        assert!(Instant::now() < until, "no place is free");
        std::thread::sleep(Duration::from_millis(20));
    }
    running.stop();
}
