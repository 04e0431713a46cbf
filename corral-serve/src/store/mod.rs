//! Where a service keeps what must not be lost.

#[cfg(feature = "bucket")]
mod bucket;
mod directory;

use std::io;

#[cfg(feature = "bucket")]
pub use bucket::Bucket;
pub use directory::Directory;

/// A few calls that a directory and a bucket both have. Names are paths with slashes.
///
/// # What an implementation owes
/// - What a call has done outlasts the machine when it returns without an error. After an error it may have been done or not,
///   and an append may have been done in part.
/// - Of two calls of `create` or `segment` with one name, in whatever process, one creates it.
/// - What is created is there whole or not at all.
pub trait Store: Send + Sync {
    /// Creates `name`, unless it is there; says whether it did.
    ///
    /// # Errors
    /// It cannot be written.
    fn create(&self, name: &str, bytes: &[u8]) -> io::Result<bool>;

    /// What `name` holds; `None` where it is not there.
    ///
    /// # Errors
    /// It cannot be read.
    fn get(&self, name: &str) -> io::Result<Option<Vec<u8>>>;

    /// The names in a folder, without the folder, in order; none where it is not there.
    ///
    /// # Errors
    /// It cannot be read.
    fn list(&self, folder: &str) -> io::Result<Vec<String>>;

    /// Removes `name`; that it is not there is fine.
    ///
    /// # Errors
    /// It cannot be removed.
    fn delete(&self, name: &str) -> io::Result<()>;

    /// A new, empty segment for this process alone; `None` where it is there.
    ///
    /// # Errors
    /// It cannot be written.
    fn segment(&self, name: &str) -> io::Result<Option<Box<dyn Segment>>>;

    /// Whether the process that made a segment has ended, or has gone on with another: nothing is appended to it any more.
    ///
    /// # Errors
    /// It cannot be found out.
    fn is_closed(&self, name: &str) -> io::Result<bool>;

    /// Removes a segment; that it is not there is fine.
    ///
    /// # Errors
    /// It cannot be removed.
    fn delete_segment(&self, name: &str) -> io::Result<()> {
        self.delete(name)
    }

    /// What a segment holds from byte `from` on, at most about `most` bytes, as far as it outlasts the machine: whole lines, and perhaps a
    /// part of the next.
    ///
    /// # Errors
    /// It cannot be read.
    fn read(&self, name: &str, from: u64, most: usize) -> io::Result<Vec<u8>>;
}

/// A segment that one process appends to.
pub trait Segment: Send {
    /// Appends bytes, which outlast the machine when this returns. After an error nothing more may be appended: the writer goes
    /// on with another segment.
    ///
    /// # Errors
    /// They could not be written, or may not last. [`io::ErrorKind::AlreadyExists`]: another process has ended the segment, and nothing was written.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
}
