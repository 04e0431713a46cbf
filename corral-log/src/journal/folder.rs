//! A journal in a folder.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::Store;

const LOG: &str = "log.jsonl";
const SNAPSHOT: &str = "snapshot";
const NEW: &str = "snapshot.new";

/// A folder with the log (`log.jsonl`) and the snapshot (`snapshot`). It is locked while it is open: one process writes.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    log: File,
}

impl Folder {
    /// Opens a folder; makes it where there is none.
    ///
    /// # Errors
    /// It cannot be made or opened, or another process has it open.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref().to_owned();
        fs::create_dir_all(&path)?;
        let log = OpenOptions::new().read(true).append(true).create(true).open(path.join(LOG))?;
        match log.try_lock() {
            Ok(()) => Ok(Self { path, log }),
            Err(TryLockError::WouldBlock) => Err(io::Error::new(
                io::ErrorKind::WouldBlock,
                format!("another process writes to the journal {}", path.display()),
            )),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Makes a renamed file outlast the machine.
    fn sync_folder(&self) -> io::Result<()> {
        if cfg!(unix) { File::open(&self.path)?.sync_all() } else { Ok(()) }
    }
}

impl Store for Folder {
    fn read(&mut self, from: u64) -> io::Result<Box<dyn BufRead + '_>> {
        let there = self.log.seek(SeekFrom::End(0))?;
        if from > there {
            let why = format!("the log has {there} bytes, and its snapshot follows {from}");
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, why));
        }
        self.log.seek(SeekFrom::Start(from))?;
        Ok(Box::new(BufReader::new(&self.log)))
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.log.write_all(bytes)
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.log.set_len(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.log.sync_data()
    }

    fn snapshot(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = Vec::new();
        match File::open(self.path.join(SNAPSHOT)) {
            Ok(mut file) => file.read_to_end(&mut bytes).map(|_| Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn save(&mut self, snapshot: &[u8]) -> io::Result<()> {
        let new = self.path.join(NEW);
        let mut file = File::create(&new)?;
        file.write_all(snapshot)?;
        file.sync_all()?;
        fs::rename(new, self.path.join(SNAPSHOT))?;
        self.sync_folder()
    }
}
