//! The child: opens the plugin, builds one base, and answers until the host is gone.

use std::cell::RefCell;
use std::convert::Infallible;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use corral_core::snapshot::{open, seal};
use corral_core::{
    Abilities, Base, BaseError, Context, ContextShape, Feedback, Learner, Order, Proposal, Setup, Space,
};
use rand_core::TryRng;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Signal, kill_current_process_group};
use rustix::stdio::{dup2_stdin, dup2_stdout};

use super::wire::{Pen, REQUEST, Reader, Wire, tag};
use crate::author::Crosses;
use crate::host::check;
use crate::host::door;
use crate::host::foreign::here;
use crate::host::loader::{About, Door};
use crate::host::table::Table;

/// Serves the host at the other end of the standard input, then ends the process.
pub(super) fn serve() -> ! {
    let code = match home() {
        Ok((wire, library)) => {
            run(wire, library);
            0
        }
        Err(_) => 1,
    };
    std::process::exit(code)
}

/// The stream that came as standard input and the library that came as standard output, both moved away from there: a
/// plugin that reads its input finds it empty, and what it prints goes to the standard error.
fn home() -> io::Result<(Wire, OwnedFd)> {
    let stream = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let library = io::stdout().as_fd().try_clone_to_owned()?;
    dup2_stdin(File::open("/dev/null")?)?;
    dup2_stdout(io::stderr())?;
    let host = stream.try_clone()?;
    // A host that ends leaves nothing behind: not a plugin that computes for ever, nor what it started.
    std::thread::spawn(move || {
        loop {
            let mut gone = [PollFd::new(&host, PollFlags::empty())];
            if poll(&mut gone, None).is_ok() && gone[0].revents().contains(PollFlags::HUP) {
                let _ = kill_current_process_group(Signal::KILL);
            }
        }
    });
    let mut wire = Wire::new(stream, None)?;
    wire.send(tag::HELLO, |_| {}, &mut wait)?;
    Ok((wire, library))
}

/// The child waits for its host as long as that takes.
fn wait() -> io::Result<()> {
    Ok(())
}

/// Asks the host for numbers.
struct HostRng<'a>(&'a RefCell<Wire>);

impl HostRng<'_> {
    fn ask<T>(&mut self, tag: u8, length: u32, read: impl FnOnce(&mut Reader<'_>) -> Option<T>) -> T {
        let mut wire = self.0.borrow_mut();
        let answer = match wire.send(tag, |pen| pen.u32(length), &mut wait) {
            Ok(()) => {
                let received = wire.receive(REQUEST, &mut wait).ok();
                received.and_then(|(_, mut payload)| read(&mut payload))
            }
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

fn run(wire: Wire, library: OwnedFd) {
    let wire = RefCell::new(wire);
    let mut library = Some(library);
    let mut tables: Vec<Arc<Table>> = Vec::new();
    loop {
        // The frame is copied out, so that the wire is free for draws during the call.
        let (asked, payload) = match wire.borrow_mut().receive(REQUEST, &mut wait) {
            Ok((tag, payload)) => (tag, payload.rest().to_vec()),
            Err(_) => return,
        };
        let answer = match (asked, library.take()) {
            (tag::OPEN, Some(library)) => {
                let door = if Reader::new(&payload).u32() == Some(1) { Door::Rust } else { Door::C };
                // SAFETY: this process is there to run the library.
                let opened = unsafe { door::open(library, door) }.map(|opened| {
                    tables = opened.tables;
                    About::of(opened.interface, &tables)
                });
                Ok(seal("about", 1, &opened))
            }
            (tag::BUILD, None) => match build(&tables, &payload) {
                Ok(Learner::Arms(base)) => return serve_base(&wire, base),
                Ok(Learner::Points(base)) => return serve_base(&wire, base),
                Err(why) => Err(why.to_string()),
            },
            (tag::EXAMINE, None) => examine(&tables, &payload).map_err(|why| why.to_string()),
            (other, _) => Err(format!("request {other} is out of turn")),
        };
        let sent = match answer {
            Ok(about) => wire.borrow_mut().send(tag::OK, |pen| pen.rest(&about), &mut wait),
            Err(why) => wire.borrow_mut().send(tag::FAILED, |pen| pen.rest(why.as_bytes()), &mut wait),
        };
        if sent.is_err() {
            return;
        }
    }
}

fn find(tables: &[Arc<Table>], name: &str) -> Result<Arc<Table>, BaseError> {
    let table = tables.iter().find(|t| t.name == name).cloned();
    table.ok_or_else(|| BaseError::Failed(format!("no base {name:?}")))
}

fn build(tables: &[Arc<Table>], payload: &[u8]) -> Result<Learner, BaseError> {
    let (name, params, space, context, horizon): (String, String, Space, ContextShape, Option<u64>) =
        open("build", 1, payload)?;
    let mut setup = Setup::new(space, horizon);
    setup.context = context;
    here(find(tables, &name)?, &params, &setup)
}

fn examine(tables: &[Arc<Table>], payload: &[u8]) -> Result<Vec<u8>, BaseError> {
    let (name, params): (String, String) = open("examine", 1, payload)?;
    let table = find(tables, &name)?;
    let build = |setup: &Setup| here(table.clone(), &params, setup);
    Ok(seal("verdict", 1, &check::examine(&name, table.kind, &build)))
}

/// What a base answered.
enum Answer {
    Done,
    Proposed,
    Number(f64, Vec<f64>),
    Bytes(Vec<u8>),
    None,
}

fn serve_base<D: Crosses>(wire: &RefCell<Wire>, mut base: Box<dyn Base<Context, D>>) {
    let short = || BaseError::Failed("a message that is too short".into());
    let mut x = Context::default();
    let mut made = Proposal::new(D::default());
    let (mut point, mut memo) = (Vec::new(), Vec::new());
    let mut answer = Ok(Answer::Done);
    loop {
        let sent = match answer {
            Ok(Answer::Done) => wire.borrow_mut().send(tag::OK, |_| {}, &mut wait),
            Ok(Answer::None) => wire.borrow_mut().send(tag::NONE, |_| {}, &mut wait),
            Ok(Answer::Bytes(bytes)) => wire.borrow_mut().send(tag::OK, |pen| pen.rest(&bytes), &mut wait),
            Ok(Answer::Number(number, memo)) => {
                let fill = |pen: &mut Pen<'_>| {
                    pen.f64(number);
                    pen.numbers(&memo);
                };
                wire.borrow_mut().send(tag::OK, fill, &mut wait)
            }
            Ok(Answer::Proposed) => {
                let fill = |pen: &mut Pen<'_>| {
                    let (arm, point) = made.decision.given();
                    pen.u32(arm);
                    pen.numbers(point);
                    pen.numbers(made.memo.numbers());
                };
                wire.borrow_mut().send(tag::OK, fill, &mut wait)
            }
            Err(why) => {
                let why: BaseError = why;
                wire.borrow_mut().send(tag::FAILED, |pen| pen.rest(why.to_string().as_bytes()), &mut wait)
            }
        };
        if sent.is_err() {
            return;
        }
        let mut guard = wire.borrow_mut();
        let Ok((asked, mut payload)) = guard.receive(REQUEST, &mut wait) else { return };
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
            tag::ABILITIES => {
                let Abilities { heeds_passes, learns_from_others } = base.abilities();
                Ok(Answer::Bytes(vec![u8::from(heeds_passes), u8::from(learns_from_others)]))
            }
            tag::WIDEN | tag::START_OVER => {
                (|| Some((payload.f64()?, payload.u64()?)))().ok_or_else(short).and_then(|(range, left)| {
                    let remaining = (left != u64::MAX).then_some(left);
                    let order = match asked {
                        tag::WIDEN => Order::Widen { range, remaining },
                        _ => Order::StartOver { range, remaining },
                    };
                    base.obey(order).map(|()| Answer::Done)
                })
            }
            tag::SAVE => Ok(Answer::Bytes(base.save())),
            tag::LOAD => base.load(payload.rest()).map(|()| Answer::Done),
            other => Err(BaseError::Failed(format!("unknown request {other}"))),
        };
    }
}
