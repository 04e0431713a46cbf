//! What the store asks of the file system. All of it passes through here, so that a test can let any one request fail.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// A file that is being written.
pub struct Sink(File);

impl Sink {
    /// Opens a file to write at its end.
    pub fn append(path: &Path) -> io::Result<Self> {
        request(|| OpenOptions::new().append(true).open(path)).map(Self)
    }

    /// Cuts the file to `length` bytes.
    pub fn cut(&self, length: u64) -> io::Result<()> {
        request(|| self.0.set_len(length))
    }

    /// How many bytes the file has.
    pub fn length(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        #[cfg(test)]
        if let Some(done) = faults::next() {
            self.0.write_all(&bytes[..done.of(bytes.len())])?;
            return Err(faults::error());
        }
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Has `fill` write a file whose final name never holds half of it: it is written beside it, and renamed. `failed` is what the
/// file system's errors become.
pub fn replace<T, E>(
    path: &Path,
    failed: impl Fn(io::Error) -> E,
    fill: impl FnOnce(&mut BufWriter<Sink>) -> Result<T, E>,
) -> Result<T, E> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".tmp");
    let temporary = path.with_file_name(name);
    let write = || -> Result<T, E> {
        let file = request(|| File::create(&temporary)).map_err(&failed)?;
        let mut out = BufWriter::new(Sink(file));
        let filled = fill(&mut out)?;
        let file = out.into_inner().map_err(|e| failed(e.into_error()))?;
        request(|| if cfg!(test) { Ok(()) } else { file.0.sync_data() }).map_err(&failed)?;
        request(|| fs::rename(&temporary, path)).map_err(&failed)?;
        Ok(filled)
    };
    let filled = write().inspect_err(|_| {
        let _ = remove(&temporary);
    })?;
    // What is done after this may rely on the name, also after a power cut. Where folders cannot be synced, it is not promised.
    if let Some(Ok(folder)) = path.parent().filter(|_| !cfg!(test)).map(File::open) {
        let _ = folder.sync_all();
    }
    Ok(filled)
}

/// Removes a file.
pub fn remove(path: &Path) -> io::Result<()> {
    request(|| fs::remove_file(path))
}

/// Does what was requested, or in a test fails.
fn request<T>(work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    #[cfg(test)]
    if let Some(done) = faults::next() {
        if done == faults::Part::Whole {
            work()?;
        }
        return Err(faults::error());
    }
    work()
}

/// Requests of one thread that fail.
#[cfg(test)]
pub mod faults {
    use std::cell::Cell;
    use std::io;

    /// What was done of a request that failed.
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub enum Part {
        Nothing,
        Half,
        AllButTheLastByte,
        Whole,
    }

    impl Part {
        pub fn of(self, bytes: usize) -> usize {
            match self {
                Self::Nothing => 0,
                Self::Half => bytes / 2,
                Self::AllButTheLastByte => bytes.saturating_sub(1),
                Self::Whole => bytes,
            }
        }
    }

    /// Which requests fail: the n-th from now, and for a dead disk all that follow.
    #[derive(Debug, Clone, Copy)]
    pub struct Fault {
        pub at: u64,
        pub done: Part,
        pub dead: bool,
    }

    thread_local!(static FAULT: Cell<Option<Fault>> = const { Cell::new(None) });

    pub fn set(fault: Option<Fault>) {
        FAULT.set(fault);
    }

    /// Whether the fault has struck.
    pub fn struck() -> bool {
        FAULT.get().is_none_or(|fault| fault.at == 0)
    }

    /// Of the next request, what is done before it fails; `None`: it does not fail.
    pub fn next() -> Option<Part> {
        let fault = FAULT.get()?;
        let Some(at) = fault.at.checked_sub(1) else { return fault.dead.then_some(Part::Nothing) };
        FAULT.set(Some(Fault { at, ..fault }));
        (at == 0).then_some(fault.done)
    }

    pub fn error() -> io::Error {
        io::Error::from(io::ErrorKind::StorageFull)
    }
}
