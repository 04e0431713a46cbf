//! A store in a bucket: S3 and what speaks like it, Azure, Google.
//!
//! A segment is a folder of objects, each created once under the number of the byte at which it begins. An empty object ends the
//! segment, whoever creates it: a writer that has not noticed is refused its next object. So a segment of a process that has
//! crashed can be ended, without a clock or a lease that anything depends on.

use std::collections::HashMap;
use std::future::Future;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutPayload, RetryConfig};
use tokio::runtime::Runtime;

use super::{Segment, Store};
use crate::clock::{Clock, SystemClock};
use crate::lock::lock;

/// A segment that gets no object for so many milliseconds is ended by who asks whether it is closed.
const QUIET: u64 = 3_600_000;
/// A call is tried so often and so long.
const RETRIES: (usize, Duration) = (3, Duration::from_secs(10));
/// The object that says whose a segment is.
const CLAIM: &str = "open";

/// A bucket, or a folder in it.
pub struct Bucket {
    calls: Arc<Calls>,
    prefix: String,
    known: Mutex<HashMap<String, Known>>,
}

/// What is known of a segment.
#[derive(Clone, Default)]
struct Known {
    /// The last object that was read.
    last: Range<u64>,
    /// Nothing comes behind it.
    ended: bool,
}

impl Bucket {
    /// Opens `s3://BUCKET/FOLDER`, `az://CONTAINER/FOLDER` or `gs://BUCKET/FOLDER`; credentials and endpoints are taken from the
    /// environment, as the tools of those who run the buckets do (`AWS_...`, `AZURE_...`, `GOOGLE_...`).
    ///
    /// # Errors
    /// It is no such address, or what the environment says cannot be used.
    pub fn open(place: &str) -> io::Result<Self> {
        let wrong = |why: &dyn std::fmt::Display| io::Error::new(ErrorKind::InvalidInput, why.to_string());
        let (scheme, rest) = place.split_once("://").unwrap_or(("", place));
        let (bucket, folder) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return Err(wrong(&"the name of the bucket is missing"));
        }
        // Another process may have installed one: that is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (max_retries, retry_timeout) = RETRIES;
        let retry = RetryConfig { max_retries, retry_timeout, ..RetryConfig::default() };
        let built = match scheme {
            "s3" => AmazonS3Builder::from_env()
                .with_bucket_name(bucket)
                .with_retry(retry)
                .build()
                .map(|built| Arc::new(built) as Arc<dyn ObjectStore>),
            "az" => MicrosoftAzureBuilder::from_env()
                .with_container_name(bucket)
                .with_retry(retry)
                .build()
                .map(|built| Arc::new(built) as _),
            "gs" => GoogleCloudStorageBuilder::from_env()
                .with_bucket_name(bucket)
                .with_retry(retry)
                .build()
                .map(|built| Arc::new(built) as _),
            other => return Err(wrong(&format!("a bucket is s3://, az:// or gs://, but is {other}://"))),
        };
        Self::over(built.map_err(|e| wrong(&e))?, folder)
    }

    /// A folder of any object store that can create an object unless it is there.
    ///
    /// # Errors
    /// No thread can be started for its calls.
    pub fn over(objects: Arc<dyn ObjectStore>, folder: &str) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("bucket")
            .enable_all()
            .build()?;
        let calls = Arc::new(Calls { objects, runtime: Some(runtime) });
        Ok(Self { calls, prefix: folder.trim_matches('/').to_owned(), known: Mutex::default() })
    }

    fn place(&self, name: &str) -> Path {
        Path::from(format!("{}/{name}", self.prefix))
    }

    /// The objects of a segment, in order.
    fn parts(&self, name: &str) -> io::Result<Vec<(u64, ObjectMeta)>> {
        let (_, objects) = self.calls.list(self.place(name))?;
        let numbered = |object: ObjectMeta| Some((object.location.filename()?.parse().ok()?, object));
        let mut parts: Vec<(u64, ObjectMeta)> = objects.into_iter().filter_map(numbered).collect();
        parts.sort_unstable_by_key(|(from, _)| *from);
        Ok(parts)
    }

    fn known(&self, name: &str) -> Known {
        lock(&self.known).get(name).cloned().unwrap_or_default()
    }
}

/// The name of the object of a segment that begins at this byte.
fn part(segment: &Path, from: u64) -> Path {
    segment.clone().join(format!("{from:016}"))
}

impl Store for Bucket {
    fn create(&self, name: &str, bytes: &[u8]) -> io::Result<bool> {
        self.calls.create(self.place(name), bytes)
    }

    fn get(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        self.calls.get(self.place(name))
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let (folders, objects) = self.calls.list(self.place(folder))?;
        let all = folders.iter().chain(objects.iter().map(|object| &object.location));
        let mut names: Vec<String> = all.filter_map(|place| place.filename().map(str::to_owned)).collect();
        names.sort_unstable();
        Ok(names)
    }

    fn delete(&self, name: &str) -> io::Result<()> {
        self.calls.delete(self.place(name))
    }

    fn segment(&self, name: &str) -> io::Result<Option<Box<dyn Segment>>> {
        let place = self.place(name);
        if !self.calls.create(place.clone().join(CLAIM), b"")? {
            return Ok(None);
        }
        Ok(Some(Box::new(Parts { calls: self.calls.clone(), place, end: 0 })))
    }

    fn is_closed(&self, name: &str) -> io::Result<bool> {
        if self.known(name).ended {
            return Ok(true);
        }
        // Without an object it may have been made a moment ago.
        let parts = self.parts(name)?;
        let Some((from, last)) = parts.last() else { return Ok(false) };
        if last.size == 0 {
            return Ok(true);
        }
        let written = u64::try_from(last.last_modified.timestamp_millis()).unwrap_or(u64::MAX);
        if SystemClock.now().saturating_sub(written) < QUIET {
            return Ok(false);
        }
        self.calls.create(part(&self.place(name), from + last.size), b"")
    }

    fn delete_segment(&self, name: &str) -> io::Result<()> {
        for (_, object) in self.parts(name)? {
            self.calls.delete(object.location)?;
        }
        self.calls.delete(self.place(name).join(CLAIM))
    }

    fn read(&self, name: &str, from: u64, most: usize) -> io::Result<Vec<u8>> {
        let mut known = self.known(name);
        if known.ended && from >= known.last.end {
            return Ok(Vec::new());
        }
        let mut at = from;
        if from != 0 && from != known.last.end {
            let parts = self.parts(name)?;
            at = parts.iter().rev().map(|(begin, _)| *begin).find(|begin| *begin <= from).unwrap_or(from);
        }
        let mut skip = (from - at) as usize;
        let (place, mut bytes) = (self.place(name), Vec::new());
        while bytes.len() < most
            && let Some(found) = self.calls.get(part(&place, at))?
        {
            if found.is_empty() {
                known.ended = true;
                break;
            }
            bytes.extend_from_slice(found.get(skip..).unwrap_or_default());
            known.last = at..at + found.len() as u64;
            (at, skip) = (known.last.end, 0);
        }
        lock(&self.known).insert(name.to_owned(), known);
        bytes.truncate(most);
        Ok(bytes)
    }
}

/// A segment that this process writes.
struct Parts {
    calls: Arc<Calls>,
    place: Path,
    end: u64,
}

impl Segment for Parts {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let place = part(&self.place, self.end);
        // It may be there because the answer to a first try was lost.
        if !self.calls.create(place.clone(), bytes)? && self.calls.get(place)?.as_deref() != Some(bytes) {
            let why = format!("another process has ended {}", self.place);
            return Err(io::Error::new(ErrorKind::AlreadyExists, why));
        }
        self.end += bytes.len() as u64;
        Ok(())
    }
}

impl Drop for Parts {
    /// Ends the segment: also an append that was given up, and may be on its way, does not come after this.
    fn drop(&mut self) {
        let _ = self.calls.create(part(&self.place, self.end), b"");
    }
}

/// Calls of an object store, each waited for.
struct Calls {
    objects: Arc<dyn ObjectStore>,
    /// There until it is dropped.
    runtime: Option<Runtime>,
}

impl Drop for Calls {
    fn drop(&mut self) {
        // Whoever drops it may itself run in a runtime, where nothing may be waited for.
        self.runtime.take().into_iter().for_each(Runtime::shutdown_background);
    }
}

fn failed(error: object_store::Error) -> io::Error {
    let kind = match error {
        object_store::Error::NotFound { .. } => ErrorKind::NotFound,
        object_store::Error::AlreadyExists { .. } => ErrorKind::AlreadyExists,
        _ => ErrorKind::Other,
    };
    io::Error::new(kind, error.to_string())
}

impl Calls {
    fn wait<T: Send + 'static, F>(
        &self,
        call: impl FnOnce(Arc<dyn ObjectStore>) -> F + Send + 'static,
    ) -> io::Result<T>
    where
        F: Future<Output = object_store::Result<T>> + Send,
    {
        let (send, answer) = mpsc::channel();
        let objects = self.objects.clone();
        let stopped = || io::Error::other("the calls of the bucket have stopped");
        self.runtime.as_ref().ok_or_else(stopped)?.spawn(async move {
            let _ = send.send(call(objects).await);
        });
        answer.recv().map_err(|_| stopped())?.map_err(failed)
    }

    fn create(&self, place: Path, bytes: &[u8]) -> io::Result<bool> {
        let bytes = PutPayload::from(bytes.to_vec());
        let put =
            self.wait(|objects| async move { objects.put_opts(&place, bytes, PutMode::Create.into()).await });
        unless(ErrorKind::AlreadyExists, put).map(|put| put.is_some())
    }

    fn get(&self, place: Path) -> io::Result<Option<Vec<u8>>> {
        let got = self.wait(|objects| async move { objects.get(&place).await?.bytes().await });
        Ok(unless(ErrorKind::NotFound, got)?.map(|bytes| bytes.to_vec()))
    }

    fn delete(&self, place: Path) -> io::Result<()> {
        let deleted = self.wait(|objects| async move { objects.delete(&place).await });
        unless(ErrorKind::NotFound, deleted).map(drop)
    }

    /// The folders and the objects in a folder.
    fn list(&self, folder: Path) -> io::Result<(Vec<Path>, Vec<ObjectMeta>)> {
        let found = self.wait(|objects| async move { objects.list_with_delimiter(Some(&folder)).await })?;
        Ok((found.common_prefixes, found.objects))
    }
}

/// What was done; `None` where it failed in this way.
fn unless<T>(kind: ErrorKind, result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(done) => Ok(Some(done)),
        Err(error) if error.kind() == kind => Ok(None),
        Err(error) => Err(error),
    }
}
