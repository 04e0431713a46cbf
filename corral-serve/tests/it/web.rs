//! A service in this process, and a client of it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use corral_serve::http::{self, Clients, Limits};
use corral_serve::{Directory, Serving, ServingOptions, SystemClock, spec};
use serde_json::Value;

/// A service in this process.
pub struct Running {
    address: std::net::SocketAddr,
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<std::io::Result<()>>>,
}

impl Running {
    pub fn start(text: &str, folder: &std::path::Path, clients: &str, limits: Limits) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let store = Arc::new(Directory::open(folder).unwrap());
        let open = |band| {
            Serving::open(band, store.clone(), Arc::new(SystemClock), ServingOptions::default()).unwrap()
        };
        let bands = spec::read(text).unwrap().into_iter().map(open).collect();
        let clients = if clients.is_empty() { Clients::default() } else { Clients::read(clients).unwrap() };
        let (stop, stopped) = mpsc::channel();
        let thread = std::thread::spawn(move || http::run(listener, bands, clients, limits, None, stopped));
        Self { address, stop: Some(stop), thread: Some(thread) }
    }

    pub fn stop(&mut self) {
        drop(self.stop.take());
        self.thread.take().unwrap().join().unwrap().unwrap();
    }

    pub fn address(&self) -> std::net::SocketAddr {
        self.address
    }

    pub fn client(&self) -> Client {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        Client(BufReader::new(stream))
    }
}

/// What it is answered is held against the document of the service.
pub struct Client(BufReader<TcpStream>);

impl Client {
    pub fn raw(&mut self, method: &str, path: &str, more: &str, body: &str) -> Option<(u16, String)> {
        let length = body.len();
        let request =
            format!("{method} {path} HTTP/1.1\r\nHost: x\r\n{more}Content-Length: {length}\r\n\r\n{body}");
        self.0.get_mut().write_all(request.as_bytes()).ok()?;
        let (mut line, mut length, mut chunked, mut kind) = (String::new(), 0, false, String::new());
        self.0.read_line(&mut line).ok().filter(|n| *n > 0)?;
        let status = line.split(' ').nth(1)?.parse().ok()?;
        loop {
            line.clear();
            self.0.read_line(&mut line).ok().filter(|n| *n > 0)?;
            let lower = line.to_ascii_lowercase();
            if let Some(n) = lower.strip_prefix("content-length:") {
                length = n.trim().parse().ok()?;
            }
            if let Some(said) = lower.strip_prefix("content-type:") {
                kind = said.trim().to_owned();
            }
            chunked |= lower.starts_with("transfer-encoding: chunked");
            if line == "\r\n" {
                break;
            }
        }
        let mut answer = Vec::new();
        while chunked {
            line.clear();
            self.0.read_line(&mut line).ok()?;
            let size = usize::from_str_radix(line.trim(), 16).ok()?;
            let mut chunk = vec![0; size + 2];
            self.0.read_exact(&mut chunk).ok()?;
            answer.extend_from_slice(&chunk[..size]);
            chunked = size > 0;
        }
        if answer.is_empty() {
            answer = vec![0; length];
            self.0.read_exact(&mut answer).ok()?;
        }
        crate::openapi::check(method, path, status, &kind, &answer);
        Some((status, String::from_utf8(answer).ok()?))
    }

    pub fn post(&mut self, path: &str, body: &Value) -> (u16, Value) {
        let (status, text) = self.raw("POST", path, "", &body.to_string()).unwrap();
        (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    pub fn get(&mut self, path: &str) -> (u16, String) {
        self.raw("GET", path, "", "").unwrap()
    }
}
