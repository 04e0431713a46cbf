//! A store in a directory of this machine.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use super::{Segment, Store};
use crate::lock::lock;

/// A directory. What is written is synced, and so are the folders that name it.
#[derive(Debug)]
pub struct Directory {
    root: PathBuf,
    /// When a folder had changed last that was synced since.
    synced: Mutex<HashMap<PathBuf, SystemTime>>,
}

impl Directory {
    /// Opens a directory; makes it where there is none.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn open(root: impl Into<PathBuf>) -> io::Result<Self> {
        let root = root.into();
        fs::create_dir_all(&root)?;
        sweep(&root);
        Ok(Self { root, synced: Mutex::default() })
    }

    fn place(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Makes the names in a folder outlast the machine, unless it has not changed since that was done: whoever made them may have
    /// crashed before it came to that.
    fn settle(&self, folder: &Path) -> io::Result<()> {
        let changed = fs::metadata(folder)?.modified()?;
        if lock(&self.synced).get(folder) == Some(&changed) {
            return Ok(());
        }
        sync_folder(folder)?;
        // Within one tick of the clock it may change once more.
        if changed.elapsed().is_ok_and(|age| age > TICK) {
            lock(&self.synced).insert(folder.to_owned(), changed);
        }
        Ok(())
    }

    /// The folder of a name, made and synced with all folders above it.
    fn folder(&self, place: &Path) -> io::Result<PathBuf> {
        let folder = place.parent().unwrap_or(&self.root).to_owned();
        if !folder.is_dir() {
            fs::create_dir_all(&folder)?;
            let inside = folder.ancestors().skip(1).take_while(|above| above.starts_with(&self.root));
            inside.into_iter().try_for_each(sync_folder)?;
        }
        Ok(folder)
    }
}

/// Longer than the clock of a file system stands still.
const TICK: Duration = Duration::from_secs(2);
/// How a file is called that is not whole yet.
const NEW: &str = ".new-";
/// A file that has been so for this long is not written any more, where no process holds its lock.
const STALE: Duration = Duration::from_secs(60);

/// Removes what processes that crashed have left behind: files that never became whole. What cannot be removed stays.
fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let place = entry.path();
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            sweep(&place);
        } else if entry.file_name().to_string_lossy().starts_with(NEW) && is_left(&place).unwrap_or(false) {
            let _ = fs::remove_file(&place);
        }
    }
}

fn is_left(place: &Path) -> io::Result<bool> {
    let file = File::open(place)?;
    let old = file.metadata()?.modified()?.elapsed().is_ok_and(|age| age > STALE);
    Ok(old && file.try_lock().is_ok())
}

/// Makes the names in a folder outlast the machine.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

fn absent<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

impl Store for Directory {
    fn create(&self, name: &str, bytes: &[u8]) -> io::Result<bool> {
        let place = self.place(name);
        let folder = self.folder(&place)?;
        if place.exists() {
            self.settle(&folder)?;
            return Ok(false);
        }
        let new = folder.join(format!("{NEW}{:016x}", getrandom::u64().map_err(io::Error::other)?));
        let written = File::create(&new).and_then(|mut file| {
            // It is not swept while it is written; where there are no locks its age says so.
            let _ = file.try_lock();
            file.write_all(bytes)?;
            file.sync_all().map(|()| file)
        });
        // A link is made once, and to a file that is whole.
        let linked = written.and_then(|_locked| match fs::hard_link(&new, &place) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        });
        let _ = fs::remove_file(&new);
        let created = linked?;
        sync_folder(&folder)?;
        Ok(created)
    }

    fn get(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let place = self.place(name);
        let found = absent(fs::read(&place))?;
        if found.is_some() {
            self.settle(place.parent().unwrap_or(&self.root))?;
        }
        Ok(found)
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let Some(entries) = absent(fs::read_dir(self.place(folder)))? else { return Ok(Vec::new()) };
        let mut names = Vec::new();
        for entry in entries {
            if let Ok(name) = entry?.file_name().into_string()
                && !name.starts_with('.')
            {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn delete(&self, name: &str) -> io::Result<()> {
        absent(fs::remove_file(self.place(name))).map(drop)
    }

    fn segment(&self, name: &str) -> io::Result<Option<Box<dyn Segment>>> {
        let place = self.place(name);
        let folder = self.folder(&place)?;
        match OpenOptions::new().append(true).create_new(true).open(&place) {
            Ok(file) => {
                // Its lock ends with this process. Where there are no locks, no segment is known to be closed.
                let _ = file.try_lock();
                sync_folder(&folder)?;
                Ok(Some(Box::new(Appended(file))))
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn is_closed(&self, name: &str) -> io::Result<bool> {
        Ok(File::open(self.place(name))?.try_lock_shared().is_ok())
    }

    fn read(&self, name: &str, from: u64, most: usize) -> io::Result<Vec<u8>> {
        let mut file = File::open(self.place(name))?;
        let there = file.metadata()?.len();
        if there <= from {
            return Ok(Vec::new());
        }
        // Its writer may have written it a moment ago, and not synced it yet.
        file.sync_data()?;
        file.seek(SeekFrom::Start(from))?;
        let length = (there - from).min(most as u64);
        let mut bytes = Vec::with_capacity(length as usize);
        file.take(length).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

struct Appended(File);

impl Segment for Appended {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)?;
        self.0.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_crash_has_left_is_removed_and_what_is_written_now_is_not() {
        let folder = tempfile::TempDir::new().unwrap();
        let store = Directory::open(folder.path()).unwrap();
        assert!(store.create("bands/x/folds/1", b"whole").unwrap());
        let inside = folder.path().join("bands/x/folds");
        let make = |name: &str, age: u64| {
            let file = File::create(inside.join(name)).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
            file
        };
        drop((make(".new-left", 3_600), make(".new-now", 0)));
        let held = make(".new-held", 3_600);
        held.try_lock().unwrap();
        Directory::open(folder.path()).unwrap();
        let mut names: Vec<_> = fs::read_dir(&inside)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort_unstable();
        assert_eq!(names, [".new-held", ".new-now", "1"]);
        drop(held);
        Directory::open(folder.path()).unwrap();
        assert_eq!(fs::read_dir(&inside).unwrap().count(), 2);
    }
}
