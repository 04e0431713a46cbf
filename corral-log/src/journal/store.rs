//! Where a journal is kept.

use std::io::{self, BufRead};

/// A log that grows at its end, and a snapshot that is exchanged whole.
pub trait Store {
    /// The log from this byte on.
    ///
    /// # Errors
    /// It cannot be read.
    fn read(&mut self, from: u64) -> io::Result<Box<dyn BufRead + '_>>;

    /// Writes at the end. On error a part may have been written.
    ///
    /// # Errors
    /// It cannot be written.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Cuts the log to this many bytes.
    ///
    /// # Errors
    /// It cannot be cut.
    fn cut(&mut self, length: u64) -> io::Result<()>;

    /// Returns when what was written outlasts the machine.
    ///
    /// # Errors
    /// It may not.
    fn sync(&mut self) -> io::Result<()>;

    /// The last snapshot.
    ///
    /// # Errors
    /// It cannot be read.
    fn snapshot(&mut self) -> io::Result<Option<Vec<u8>>>;

    /// Exchanges the snapshot: afterwards there is the new one, or on error the old one or the new one, whole.
    ///
    /// # Errors
    /// It cannot be written.
    fn save(&mut self, snapshot: &[u8]) -> io::Result<()>;
}
