//! Frames over a stream: a length, and a message as postcard writes it. One side asks, the other answers: never two frames in one
//! direction without one in the other.

use std::borrow::Cow;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use corral_core::{Abilities, Context, ContextShape, Feedback, Memo, Order, Proposal, Space};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::host::check::Verdict;
use crate::host::error::LoadError;
use crate::host::foreign::SNAPSHOT_MOST;
use crate::host::loader::{About, Door};

/// No request is longer.
pub(super) const REQUEST: usize = SNAPSHOT_MOST + (1 << 20);
/// How often somebody who waits is asked whether to go on.
pub(super) const SLICE: Duration = Duration::from_millis(20);
/// Bytes before the message: its length.
const HEAD: usize = 4;

/// What the host asks before there is a base.
#[derive(Serialize, Deserialize)]
pub(super) enum Opening {
    /// Open the library.
    Open(Door),
    /// Build one of its bases for a world, and answer calls to it from now on.
    Build { base: String, params: String, space: Space, context: ContextShape, horizon: Option<u64> },
    /// Hold one of its bases to a law, no call of which takes more processor time, or time by the clock, than `within`.
    Examine { base: String, params: String, law: usize, within: [Duration; 2] },
}

/// What the host asks of the base.
#[derive(Serialize, Deserialize)]
pub(super) enum Call<'a, D: Clone> {
    Propose(Cow<'a, Context>),
    Learn(Cow<'a, Context>, Cow<'a, Proposal<D>>, Feedback),
    Pass(Cow<'a, Context>),
    Likelihood(Cow<'a, Context>, Cow<'a, D>),
    Abilities,
    ApplyOrder(Order),
    Save,
    Load(Cow<'a, [u8]>),
}

/// What the child says.
#[derive(Serialize, Deserialize)]
pub(super) enum Answer<D> {
    Hello,
    Done,
    About(Result<About, LoadError>),
    Verdict(Verdict),
    Proposed(Proposal<D>),
    Likelihood(Option<(f64, Memo)>),
    Abilities(Abilities),
    Saved(Vec<u8>),
    Failed(String),
    /// It wants random numbers, and waits for them.
    Draw(Draw),
}

/// Which random numbers: a `u32`, a `u64`, or so many bytes.
#[derive(Serialize, Deserialize)]
pub(super) enum Draw {
    U32,
    U64,
    Bytes(u32),
}

/// One end of the stream, with its buffers.
pub(super) struct Wire {
    stream: UnixStream,
    inbox: Vec<u8>,
    outbox: Vec<u8>,
}

/// Asked now and then by somebody who waits; an error ends the waiting.
type Look<'a> = &'a mut dyn FnMut() -> io::Result<()>;

impl Wire {
    /// With a `slice`, reads and writes ask that often whether to go on waiting; without, they wait.
    pub(super) fn new(stream: UnixStream, slice: Option<Duration>) -> io::Result<Self> {
        stream.set_read_timeout(slice)?;
        stream.set_write_timeout(slice)?;
        Ok(Self { stream, inbox: vec![0; 4096], outbox: Vec::with_capacity(4096) })
    }

    /// The stream.
    pub(super) fn stream(&self) -> io::Result<UnixStream> {
        self.stream.try_clone()
    }

    /// Sends a message.
    pub(super) fn send(&mut self, message: &impl Serialize, look: Look<'_>) -> io::Result<()> {
        self.outbox.clear();
        self.outbox.extend_from_slice(&[0; HEAD]);
        postcard::to_io(message, &mut self.outbox).map_err(io::Error::other)?;
        let length = self.outbox.len() - HEAD;
        if length > REQUEST {
            return Err(io::Error::other(format!("a message of {length} bytes")));
        }
        self.outbox[..HEAD].copy_from_slice(&(length as u32).to_le_bytes());
        let mut sent = 0;
        while sent < self.outbox.len() {
            match patient(self.stream.write(&self.outbox[sent..]), look)? {
                Some(0) => return Err(io::ErrorKind::BrokenPipe.into()),
                Some(n) => sent += n,
                None => {}
            }
        }
        Ok(())
    }

    /// Waits for a message of at most `most` bytes. The time of the whole frame counts: bytes that drip in are no
    /// answer.
    pub(super) fn receive<T: DeserializeOwned>(&mut self, most: usize, look: Look<'_>) -> io::Result<T> {
        let mut have = 0;
        let mut need = HEAD;
        loop {
            if self.inbox.len() < need {
                // Grows with what arrives, not with what is announced.
                self.inbox.resize(need.min(2 * self.inbox.len()), 0);
            }
            match patient(self.stream.read(&mut self.inbox[have..]), look)? {
                Some(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Some(n) => have += n,
                None => continue,
            }
            if have >= HEAD {
                let length =
                    u32::from_le_bytes([self.inbox[0], self.inbox[1], self.inbox[2], self.inbox[3]]) as usize;
                if length > most {
                    return Err(io::Error::other(format!(
                        "a message of {length} bytes where {most} are allowed"
                    )));
                }
                need = HEAD + length;
            }
            if have >= need {
                break;
            }
            look()?;
        }
        if have > need {
            return Err(io::Error::other("a message that goes on after its end"));
        }
        let read = postcard::from_bytes(&self.inbox[HEAD..need]);
        read.map_err(|e| io::Error::other(format!("a message that cannot be read: {e}")))
    }
}

/// How many bytes went; `None` where it was a slice of waiting.
fn patient(moved: io::Result<usize>, look: Look<'_>) -> io::Result<Option<usize>> {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    match moved {
        Ok(n) => Ok(Some(n)),
        Err(e) if matches!(e.kind(), Interrupted | WouldBlock | TimedOut) => look().map(|()| None),
        Err(e) => Err(e),
    }
}
