//! The child: opens the plugin, builds one base, and answers until the host is gone.

use std::cell::RefCell;
use std::convert::Infallible;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use corral_core::{Base, BaseError, Context, Learner, Setup};
use rand_core::TryRng;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Signal, kill_current_process_group};
use rustix::stdio::{dup2_stdin, dup2_stdout};
use serde::de::DeserializeOwned;

use super::late;
use super::wire::{Answer, Call, Draw, Opening, REQUEST, Wire};
use crate::author::Crosses;
use crate::host::check;
use crate::host::door;
use crate::host::foreign::here;
use crate::host::loader::About;
use crate::host::table::Table;

/// Serves the host at the other end of the standard input, then ends the process.
pub(super) fn serve() -> ! {
    let code = match home() {
        Ok((wire, library)) => {
            // It serves until the host is gone.
            let _ = run(wire, library);
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
    watch(stream.try_clone()?);
    let mut wire = Wire::new(stream, None)?;
    wire.send(&Answer::<()>::Hello, &mut wait)?;
    Ok((wire, library))
}

/// Ends the process group with the host: nothing is left behind, not a plugin that computes for ever, nor what it started.
/// Returns when the thread that does it is watching. Where this program is a library itself, as in Python, a new thread
/// needs the lock of the dynamic linker for its thread-local storage, and a plugin's constructor may hold that lock for
/// ever. The loop uses nothing but system calls.
fn watch(host: UnixStream) {
    let watching = Arc::new(AtomicBool::new(false));
    let watches = Arc::clone(&watching);
    std::thread::spawn(move || {
        loop {
            let mut gone = [PollFd::new(&host, PollFlags::empty())];
            // The first look does not wait: after it there is nothing that the loop has not done before.
            let wait = if watches.load(Ordering::Acquire) {
                None
            } else {
                Some(&Timespec { tv_sec: 0, tv_nsec: 0 })
            };
            // A host that cannot be watched counts as gone: a look that fails at once, for ever, would be a loop of its own.
            let ended = match poll(&mut gone, wait) {
                Ok(_) => gone[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL),
                Err(why) => why != Errno::INTR,
            };
            if ended {
                let _ = kill_current_process_group(Signal::KILL);
            }
            watches.store(true, Ordering::Release);
        }
    });
    while !watching.load(Ordering::Acquire) {
        std::thread::sleep(Duration::from_micros(100));
    }
}

/// The child waits for its host as long as that takes.
fn wait() -> io::Result<()> {
    Ok(())
}

/// Asks the host for numbers.
struct HostRng<'a>(&'a RefCell<Wire>);

impl HostRng<'_> {
    fn ask<T: DeserializeOwned>(&mut self, draw: Draw) -> T {
        let mut wire = self.0.borrow_mut();
        let sent = wire.send(&Answer::<()>::Draw(draw), &mut wait);
        // The child exits when its host is gone.
        sent.and_then(|()| wire.receive(REQUEST, &mut wait)).unwrap_or_else(|_| std::process::exit(1))
    }
}

impl TryRng for HostRng<'_> {
    type Error = Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.ask(Draw::U32))
    }
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.ask(Draw::U64))
    }
    fn try_fill_bytes(&mut self, dst: &mut [u8]) -> Result<(), Infallible> {
        for part in dst.chunks_mut(1 << 16) {
            let drawn: Vec<u8> = self.ask(Draw::Bytes(part.len() as u32));
            if drawn.len() != part.len() {
                std::process::exit(1);
            }
            part.copy_from_slice(&drawn);
        }
        Ok(())
    }
}

fn run(wire: Wire, library: OwnedFd) -> io::Result<()> {
    let wire = RefCell::new(wire);
    let mut library = Some(library);
    let mut tables: Vec<Arc<Table>> = Vec::new();
    let mut watched = false;
    loop {
        let asked: Opening = wire.borrow_mut().receive(REQUEST, &mut wait)?;
        let answer = match (asked, library.take()) {
            (Opening::Open(door), Some(library)) => {
                // SAFETY: this process is there to run the library.
                let opened = unsafe { door::open(library, door) }.map(|opened| {
                    tables = opened.tables;
                    About::of(opened.interface, &tables)
                });
                Ok(Answer::<()>::About(opened))
            }
            (Opening::Build { base, params, space, context, horizon }, None) => {
                let setup = Setup { context, ..Setup::new(space, horizon) };
                match find(&tables, &base).and_then(|table| here(table, &params, &setup)) {
                    Ok(Learner::Arms(base)) => return serve_base(&wire, base),
                    Ok(Learner::Points(base)) => return serve_base(&wire, base),
                    Err(why) => Err(why),
                }
            }
            (Opening::Examine { base, params, law, within }, None) => {
                if !std::mem::replace(&mut watched, true) {
                    late::watch(wire.borrow().stream()?, within);
                }
                find(&tables, &base).map(|table| {
                    let build = |setup: &Setup| here(table.clone(), &params, setup);
                    let verdict = || check::examine(&base, table.base.kind, Some(law), &build);
                    Answer::Verdict(late::run(verdict))
                })
            }
            _ => Err(BaseError::Failed("a request that is out of turn".into())),
        };
        let answer = answer.unwrap_or_else(|why| Answer::Failed(why.to_string()));
        wire.borrow_mut().send(&answer, &mut wait)?;
    }
}

fn find(tables: &[Arc<Table>], name: &str) -> Result<Arc<Table>, BaseError> {
    let table = tables.iter().find(|t| t.base.name == name).cloned();
    table.ok_or_else(|| BaseError::Failed(format!("no base {name:?}")))
}

fn serve_base<D: Crosses>(wire: &RefCell<Wire>, mut base: Box<dyn Base<Context, D>>) -> io::Result<()> {
    let mut answer = Answer::Done;
    loop {
        wire.borrow_mut().send(&answer, &mut wait)?;
        let call: Call<'_, D> = wire.borrow_mut().receive(REQUEST, &mut wait)?;
        let done = |()| Answer::Done;
        let made = match call {
            Call::Propose(x) => base.propose(&x, &mut HostRng(wire)).map(Answer::Proposed),
            Call::Learn(x, made, feedback) => base.learn(&x, &made, feedback).map(done),
            Call::Pass(x) => base.pass(&x).map(done),
            Call::Likelihood(x, decision) => Ok(Answer::Likelihood(base.likelihood(&x, &decision))),
            Call::Abilities => Ok(Answer::Abilities(base.abilities())),
            Call::ApplyOrder(order) => base.apply_order(order).map(done),
            Call::Save => Ok(Answer::Saved(base.save())),
            Call::Load(state) => base.load(&state).map(done),
        };
        answer = made.unwrap_or_else(|why| Answer::Failed(why.to_string()));
    }
}
