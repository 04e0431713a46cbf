//! The child: opens the plugin, builds one base, and answers until the host is gone.

use std::cell::RefCell;
use std::convert::Infallible;
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;

use corral_core::snapshot::{open, seal};
use corral_core::{Arm, Base, BaseError, Context, ContextShape, Feedback, Point, Proposal, Setup, Space};
use rand_core::TryRng;

use super::wire::{Reader, Wire, tag};
use crate::author::Decision;
use crate::host::door;
use crate::host::foreign::ForeignBase;
use crate::host::loader::BaseInfo;
use crate::host::preflight::preflight;
use crate::host::table::Table;

unsafe extern "C" {
    fn dup2(from: i32, to: i32) -> i32;
}

/// Serves the host at the other end of the standard input, then ends the process.
pub(super) fn serve() -> ! {
    let code = match home() {
        Some(wire) => {
            run(wire);
            0
        }
        None => 1,
    };
    std::process::exit(code)
}

/// The stream that came as standard input, moved away from there: a plugin that reads its input finds it empty.
fn home() -> Option<Wire> {
    use std::os::fd::AsFd;
    let stream = UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned().ok()?);
    let null = File::open("/dev/null").ok()?;
    // SAFETY: both descriptors are open; nothing of this process has read from the standard input.
    (unsafe { dup2(null.as_raw_fd(), 0) } == 0).then(|| Wire::new(stream))
}

/// Asks the host for numbers.
struct HostRng<'a>(&'a RefCell<Wire>);

impl HostRng<'_> {
    fn ask<T>(&mut self, tag: u8, length: u32, read: impl FnOnce(&mut Reader<'_>) -> Option<T>) -> T {
        let mut wire = self.0.borrow_mut();
        let answer = match wire.send(tag, |pen| pen.u32(length)) {
            Ok(()) => wire.receive().ok().and_then(|(_, mut payload)| read(&mut payload)),
            Err(_) => None,
        };
        // Without its host the child has nothing to live for.
        answer.unwrap_or_else(|| std::process::exit(1))
    }
}

impl TryRng for HostRng<'_> {
    type Error = Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.ask(tag::DRAW_U32, 0, |payload| payload.u32()))
    }
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.ask(tag::DRAW_U64, 0, |payload| payload.u64()))
    }
    fn try_fill_bytes(&mut self, dst: &mut [u8]) -> Result<(), Infallible> {
        for part in dst.chunks_mut(1 << 16) {
            self.ask(tag::DRAW_BYTES, part.len() as u32, |payload| {
                let drawn = payload.rest();
                (drawn.len() == part.len()).then(|| part.copy_from_slice(drawn))
            });
        }
        Ok(())
    }
}

fn run(wire: Wire) {
    let wire = RefCell::new(wire);
    let mut tables: Vec<Arc<Table>> = Vec::new();
    loop {
        // The frame is copied out, so that the wire is free for draws during the call.
        let (asked, payload) = match wire.borrow_mut().receive() {
            Ok((tag, payload)) => (tag, payload.rest().to_vec()),
            Err(_) => return,
        };
        let answer = match asked {
            tag::OPEN => open_library(&payload).map(|(opened, about)| {
                tables = opened;
                about
            }),
            tag::BUILD => match build(&tables, &payload) {
                Ok(Built::Arms(base)) => return serve_base(&wire, base),
                Ok(Built::Points(base)) => return serve_base(&wire, base),
                Err(why) => Err(why.to_string()),
            },
            other => Err(format!("request {other} before there is a base")),
        };
        let sent = match answer {
            Ok(about) => wire.borrow_mut().send(tag::OK, |pen| pen.rest(&about)),
            Err(why) => wire.borrow_mut().send(tag::FAILED, |pen| pen.rest(why.as_bytes())),
        };
        if sent.is_err() {
            return;
        }
    }
}

/// The file is opened only when it is the one that the host looked at.
fn open_library(payload: &[u8]) -> Result<(Vec<Arc<Table>>, Vec<u8>), String> {
    let (sha256, path) = payload.split_at_checked(64).ok_or("no digest")?;
    let path = Path::new(OsStr::from_bytes(path));
    let seen = preflight(path).map_err(|e| e.to_string())?;
    if seen.sha256.as_bytes() != sha256 {
        return Err("the file has changed since it was looked at".into());
    }
    // SAFETY: the user put the library there to be run, in this process.
    let opened = unsafe { door::open(path, seen.door) }.map_err(|e| e.to_string())?;
    let bases: Vec<BaseInfo> = opened.tables.iter().map(|t| BaseInfo::of(t)).collect();
    Ok((opened.tables, seal("bases", 1, &(opened.interface, bases))))
}

enum Built {
    Arms(ForeignBase<Arm>),
    Points(ForeignBase<Point>),
}

fn build(tables: &[Arc<Table>], payload: &[u8]) -> Result<Built, BaseError> {
    let (name, params, space, context, horizon): (String, String, Space, ContextShape, Option<u64>) =
        open("build", 1, payload)?;
    let table = tables.iter().find(|t| t.name == name).cloned();
    let table = table.ok_or_else(|| BaseError::Failed(format!("no base {name:?}")))?;
    let mut setup = Setup::new(space, horizon);
    setup.context = context;
    Ok(match setup.space {
        Space::Arms(_) => Built::Arms(ForeignBase::build(table, &params, &setup)?),
        Space::Points(_) => Built::Points(ForeignBase::build(table, &params, &setup)?),
    })
}

/// What a base answered.
enum Answer {
    Done,
    Proposed,
    Number(f64, Vec<f64>),
    Bytes(Vec<u8>),
    None,
}

fn serve_base<D: Decision>(wire: &RefCell<Wire>, mut base: ForeignBase<D>) {
    let short = || BaseError::Failed("a message that is too short".into());
    let mut x = Context::default();
    let mut made = Proposal::new(D::default());
    let (mut point, mut memo) = (Vec::new(), Vec::new());
    let mut answer = Ok(Answer::Done);
    loop {
        let sent = match answer {
            Ok(Answer::Done) => wire.borrow_mut().send(tag::OK, |_| {}),
            Ok(Answer::None) => wire.borrow_mut().send(tag::NONE, |_| {}),
            Ok(Answer::Bytes(bytes)) => wire.borrow_mut().send(tag::OK, |pen| pen.rest(&bytes)),
            Ok(Answer::Number(number, memo)) => wire.borrow_mut().send(tag::OK, |pen| {
                pen.f64(number);
                pen.numbers(&memo);
            }),
            Ok(Answer::Proposed) => wire.borrow_mut().send(tag::OK, |pen| {
                let (arm, point) = made.decision.given();
                pen.u32(arm);
                pen.numbers(point);
                pen.numbers(made.memo.numbers());
            }),
            Err(why) => {
                let why: BaseError = why;
                wire.borrow_mut().send(tag::FAILED, |pen| pen.rest(why.to_string().as_bytes()))
            }
        };
        if sent.is_err() {
            return;
        }
        let mut guard = wire.borrow_mut();
        let Ok((asked, mut payload)) = guard.receive() else { return };
        // Reads the decision and memo of a request.
        let mut decision = |payload: &mut Reader<'_>, made: &mut Proposal<D>| {
            let arm = payload.u32()?;
            payload.numbers(&mut point)?;
            payload.numbers(&mut memo)?;
            made.decision.take(arm, &point);
            made.memo.set(&memo);
            Some(())
        };
        answer = match asked {
            tag::PROPOSE => match payload.context(&mut x) {
                Some(()) => {
                    drop(guard);
                    base.propose_into(&x, &mut HostRng(wire), &mut made).map(|()| Answer::Proposed)
                }
                None => Err(short()),
            },
            tag::LEARN => (|| {
                payload.context(&mut x)?;
                decision(&mut payload, &mut made)?;
                Some(Feedback::new(payload.f64()?, payload.f64()?))
            })()
            .ok_or_else(short)
            .and_then(|feedback| base.learn(&x, &made, feedback).map(|()| Answer::Done)),
            tag::PASS => {
                payload.context(&mut x).ok_or_else(short).and_then(|()| base.pass(&x).map(|()| Answer::Done))
            }
            tag::LIKELIHOOD => payload
                .context(&mut x)
                .and_then(|()| decision(&mut payload, &mut made))
                .ok_or_else(short)
                .map(|()| match base.likelihood(&x, &made.decision) {
                    Some((p, memo)) => Answer::Number(p, memo.numbers().to_vec()),
                    None => Answer::None,
                }),
            tag::LEARNS => Ok(if base.learns_from_others() { Answer::Done } else { Answer::None }),
            tag::HEEDS => Ok(if base.heeds_passes() { Answer::Done } else { Answer::None }),
            tag::RERANGE => {
                (|| Some((payload.f64()?, payload.u64()?)))().ok_or_else(short).and_then(|(range, left)| {
                    base.rerange(range, (left != u64::MAX).then_some(left)).map(|()| Answer::Done)
                })
            }
            tag::SAVE => Ok(Answer::Bytes(base.save())),
            tag::LOAD => base.load(payload.rest()).map(|()| Answer::Done),
            other => Err(BaseError::Failed(format!("unknown request {other}"))),
        };
    }
}
