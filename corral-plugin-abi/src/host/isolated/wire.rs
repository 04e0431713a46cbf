//! Frames over a stream: a length, a tag, a payload. One side asks, the other answers: never two frames in one
//! direction without one in the other.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use corral_core::Context;

use crate::host::foreign::SNAPSHOT_MOST;

/// No request is longer.
pub(super) const REQUEST: usize = SNAPSHOT_MOST + (1 << 20);
/// How often somebody who waits is asked whether to go on.
pub(super) const SLICE: Duration = Duration::from_millis(20);
/// Bytes before the payload.
const HEAD: usize = 5;

/// What a frame is about.
pub(super) mod tag {
    pub(in super::super) const OPEN: u8 = 1;
    pub(in super::super) const BUILD: u8 = 2;
    pub(in super::super) const PROPOSE: u8 = 3;
    pub(in super::super) const LEARN: u8 = 4;
    pub(in super::super) const PASS: u8 = 5;
    pub(in super::super) const LIKELIHOOD: u8 = 6;
    pub(in super::super) const ABILITIES: u8 = 7;
    pub(in super::super) const WIDEN: u8 = 8;
    pub(in super::super) const SAVE: u8 = 9;
    pub(in super::super) const LOAD: u8 = 10;
    pub(in super::super) const START_OVER: u8 = 11;
    pub(in super::super) const EXAMINE: u8 = 12;

    pub(in super::super) const HELLO: u8 = 63;
    pub(in super::super) const OK: u8 = 64;
    pub(in super::super) const FAILED: u8 = 65;
    pub(in super::super) const NONE: u8 = 66;
    pub(in super::super) const DRAW_U32: u8 = 67;
    pub(in super::super) const DRAW_U64: u8 = 68;
    pub(in super::super) const DRAW_BYTES: u8 = 69;
}

/// One end of the stream, with its buffers.
pub(super) struct Wire {
    stream: UnixStream,
    inbox: Vec<u8>,
    outbox: Vec<u8>,
    /// Length of the last payload in `inbox`.
    length: usize,
}

/// Asked now and then by somebody who waits; an error ends the waiting.
type Look<'a> = &'a mut dyn FnMut() -> io::Result<()>;

impl Wire {
    /// With a `slice`, reads and writes ask that often whether to go on waiting; without, they wait.
    pub(super) fn new(stream: UnixStream, slice: Option<Duration>) -> io::Result<Self> {
        stream.set_read_timeout(slice)?;
        stream.set_write_timeout(slice)?;
        Ok(Self { stream, inbox: vec![0; 4096], outbox: Vec::with_capacity(4096), length: 0 })
    }

    /// Sends a frame whose payload `fill` writes.
    pub(super) fn send(
        &mut self,
        tag: u8,
        fill: impl FnOnce(&mut Pen<'_>),
        look: Look<'_>,
    ) -> io::Result<()> {
        self.outbox.clear();
        self.outbox.extend_from_slice(&[0, 0, 0, 0, tag]);
        fill(&mut Pen(&mut self.outbox));
        let length = self.outbox.len() - HEAD;
        if length > REQUEST {
            return Err(io::Error::other(format!("a message of {length} bytes")));
        }
        self.outbox[..4].copy_from_slice(&(length as u32).to_le_bytes());
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

    /// Waits for a frame of at most `most` bytes: its tag and payload. The time of the whole frame counts: bytes that
    /// drip in are no answer.
    pub(super) fn receive(&mut self, most: usize, look: Look<'_>) -> io::Result<(u8, Reader<'_>)> {
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
        self.length = need - HEAD;
        Ok((self.inbox[4], self.last()))
    }

    /// The payload of the frame that was received last.
    pub(super) fn last(&self) -> Reader<'_> {
        Reader(&self.inbox[HEAD..HEAD + self.length])
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

/// Writes a payload.
pub(super) struct Pen<'a>(&'a mut Vec<u8>);

impl Pen<'_> {
    pub(super) fn u32(&mut self, v: u32) {
        self.0.extend_from_slice(&v.to_le_bytes());
    }
    pub(super) fn u64(&mut self, v: u64) {
        self.0.extend_from_slice(&v.to_le_bytes());
    }
    pub(super) fn f64(&mut self, v: f64) {
        self.u64(v.to_bits());
    }
    pub(super) fn numbers(&mut self, v: &[f64]) {
        self.u64(v.len() as u64);
        v.iter().for_each(|n| self.f64(*n));
    }
    pub(super) fn rest(&mut self, v: &[u8]) {
        self.0.extend_from_slice(v);
    }
    pub(super) fn context(&mut self, x: &Context) {
        self.numbers(x.features());
        self.numbers(x.rows());
        self.u32(x.row_dim() as u32);
        self.u32(x.actions() as u32);
        self.u64(x.cell().map_or(u64::MAX, |c| c as u64));
    }
}

/// Reads a payload; `None` where it is too short.
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn new(payload: &'a [u8]) -> Self {
        Self(payload)
    }
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(n)?;
        self.0 = tail;
        Some(head)
    }
    pub(super) fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }
    pub(super) fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }
    pub(super) fn f64(&mut self) -> Option<f64> {
        self.u64().map(f64::from_bits)
    }
    /// Numbers into `out`, whose room is used again.
    pub(super) fn numbers(&mut self, out: &mut Vec<f64>) -> Option<()> {
        let n = usize::try_from(self.u64()?).ok()?;
        let bytes = self.take(n.checked_mul(8)?)?;
        out.clear();
        out.extend(bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap_or_default())));
        Some(())
    }
    /// What is left.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.0
    }
    /// A context into `out`, whose room is used again.
    pub(super) fn context(&mut self, out: &mut Context) -> Option<()> {
        let mut features = std::mem::take(out.features_mut());
        self.numbers(&mut features)?;
        let mut rows = Vec::new();
        self.numbers(&mut rows)?;
        let (row_dim, actions, cell) = (self.u32()? as usize, self.u32()? as usize, self.u64()?);
        *out = if rows.is_empty() {
            Context::shared(features, actions)
        } else {
            Context::with_rows(features, rows, row_dim)
        };
        out.set_cell(usize::try_from(cell).ok().filter(|c| *c <= u32::MAX as usize));
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 3000, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]

        /// Whatever arrives, reading it is an answer or `None`.
        #[test]
        fn a_reader_survives_any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let (mut x, mut numbers) = (Context::default(), Vec::new());
            let _ = Reader(&bytes).context(&mut x);
            let _ = Reader(&bytes).numbers(&mut numbers);
            let mut r = Reader(&bytes);
            while r.u32().is_some() {}
        }

        #[test]
        fn a_context_comes_out_as_it_went_in(
            features in proptest::collection::vec(-1e9..1e9f64, 0..9),
            rows in proptest::collection::vec(-1e9..1e9f64, 0..12),
            row_dim in 1usize..4, cell in proptest::option::of(0usize..9),
        ) {
            let mut x = Context::with_rows(features.clone(), rows, row_dim);
            if x.rows().is_empty() {
                x = Context::shared(features, 3);
            }
            x.set_cell(cell);
            let mut bytes = Vec::new();
            Pen(&mut bytes).context(&x);
            let mut y = Context::plain(7);
            prop_assert!(Reader(&bytes).context(&mut y).is_some());
            prop_assert_eq!(x, y);
        }
    }

    fn wait() -> io::Result<()> {
        Ok(())
    }

    #[test]
    fn frames_cross_and_damage_is_an_error() {
        let (a, b) = UnixStream::pair().unwrap();
        let (mut a, mut b) = (Wire::new(a, None).unwrap(), Wire::new(b, None).unwrap());
        let long = vec![7; 100_000];
        let sender = std::thread::spawn(move || {
            a.send(tag::SAVE, |pen| pen.rest(&long), &mut wait).unwrap();
            assert_eq!(a.receive(0, &mut wait).unwrap().0, tag::OK);
            a.stream.write_all(&[255; 9]).unwrap();
        });
        let (tag, payload) = b.receive(REQUEST, &mut wait).unwrap();
        assert_eq!((tag, payload.rest().len()), (tag::SAVE, 100_000));
        b.send(tag::OK, |_| {}, &mut wait).unwrap();
        assert!(b.receive(REQUEST, &mut wait).is_err());
        sender.join().unwrap();
        assert!(b.receive(REQUEST, &mut wait).is_err(), "the other end is gone");
    }

    /// A frame that is longer than the call can need is refused when it is announced; one that drips in is asked about
    /// with every byte.
    #[test]
    fn a_frame_is_bounded_in_bytes_and_in_time() {
        let (a, mut b) = UnixStream::pair().unwrap();
        let mut a = Wire::new(a, None).unwrap();
        b.write_all(&[101, 0, 0, 0, tag::OK]).unwrap();
        let refused = a.receive(100, &mut wait).err().unwrap();
        assert_eq!(refused.to_string(), "a message of 101 bytes where 100 are allowed");

        let (a, mut b) = UnixStream::pair().unwrap();
        let mut a = Wire::new(a, None).unwrap();
        b.write_all(&[2, 0]).unwrap();
        let mut asked = 0;
        let mut look = || {
            asked += 1;
            b.write_all(&[0])?;
            if asked < 4 { Ok(()) } else { Err(io::ErrorKind::TimedOut.into()) }
        };
        assert_eq!(a.receive(100, &mut look).err().unwrap().kind(), io::ErrorKind::TimedOut);
        assert_eq!(asked, 4);
    }
}
