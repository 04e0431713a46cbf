//! The host's end of a child process: starting it, asking it, and seeing to its end.

use std::io::{self, PipeReader, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use corral_core::text::visible;
use corral_core::{Arm, BaseError, Rng};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use serde::Serialize;

use super::wire::{Answer, Draw, Opening, SLICE, Wire};
use super::{ARGUMENT, Image, Isolation};
use crate::author::Crosses;
use crate::host::check::{self, Verdict};
use crate::host::error::LoadError;
use crate::host::foreign::ERROR_CAPACITY;
use crate::host::loader::About;

/// Set in children: a program that does not call `isolated_main` would start itself without end.
const CHILD: &str = "CORRAL_ISOLATED_CHILD";
/// Bytes that a description or a verdict may have: 256 bases with texts of 4 KiB.
const MOST_TEXT: usize = 1 << 21;
const OTHER: &str = "its answer is one to something else";

/// How long a call may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit {
    /// Of processor time.
    processor: Duration,
    /// By the clock.
    clock: Duration,
}

impl Limit {
    /// Of a call.
    pub(super) fn call(isolation: &Isolation) -> Self {
        let processor = isolation.time_limit.max(Duration::from_millis(1));
        Self { processor, clock: processor.saturating_mul(60) }
    }

    /// To start a process, to open a library, to build a base or have it start over.
    pub(super) fn start(isolation: &Isolation) -> Self {
        let processor = isolation.start_limit;
        Self { processor, clock: processor.saturating_mul(6) }
    }

    /// Of a law, which is many calls: the child itself looks at how long each of them takes.
    fn law(isolation: &Isolation) -> Self {
        let Self { processor, clock } = Self::call(isolation);
        Self { processor: processor.saturating_mul(60), clock: clock.saturating_mul(10) }
    }
}

/// A child process and the wire to it.
pub(super) struct Home {
    child: Child,
    wire: Wire,
    limit: Limit,
    output: Output,
    /// How it ended.
    dead: Option<String>,
    /// A call was begun and not ended: the host's generator panicked in it.
    broken_off: bool,
}

/// What a child writes to its standard output and error. It is not passed on, as it may act on a terminal: the last of it
/// is told when the child ends.
struct Output {
    pipe: PipeReader,
    last: Vec<u8>,
}

impl Output {
    /// Bytes that are kept.
    const KEPT: usize = 400;

    /// Reads what is there, without waiting.
    fn read(&mut self) {
        let mut part = [0; 4096];
        for _ in 0..64 {
            let Ok(n @ 1..) = self.pipe.read(&mut part) else { return };
            self.last.extend_from_slice(&part[..n]);
            self.last.drain(..self.last.len().saturating_sub(Self::KEPT));
        }
    }

    /// Its last lines, in one.
    fn last_lines(&mut self) -> Option<String> {
        self.read();
        let text = String::from_utf8_lossy(&self.last);
        let lines: Vec<_> = text.lines().map(str::trim).filter(|l| !l.is_empty()).map(visible).collect();
        (!lines.is_empty()).then(|| lines.join(", "))
    }
}

/// Watches over a call: looks at the clocks now and then, and at whether the child lives.
struct Watch<'a> {
    pid: Pid,
    output: &'a mut Output,
    limit: Limit,
    /// Time that passed by the clock, of which a gap counts little: the host itself may have been stopped.
    waited: Duration,
    last: Instant,
    /// What the child had used when this was looked at first.
    used: Option<Duration>,
}

impl<'a> Watch<'a> {
    fn new(pid: Pid, limit: Limit, output: &'a mut Output) -> Self {
        Self { pid, output, limit, waited: Duration::ZERO, last: Instant::now(), used: None }
    }

    fn look(&mut self) -> io::Result<()> {
        let now = Instant::now();
        let passed = now - self.last;
        if passed < SLICE {
            return Ok(());
        }
        self.last = now;
        self.output.read();
        self.waited += passed.min(10 * SLICE);
        let used = processor_time(self.pid).unwrap_or_default();
        let used = used.saturating_sub(*self.used.get_or_insert(used));
        if used > self.limit.processor || self.waited > self.limit.clock {
            return Err(io::ErrorKind::TimedOut.into());
        }
        // Processes that it started may hold its end of the wire open.
        if has_ended(self.pid) { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }
}

/// Processor time of a process, its threads, and its children that ended: `/proc/PID/stat`, fields 14 to 17.
pub(super) fn processor_time(pid: Pid) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    // The name in parentheses may hold anything; the state, field 3, comes behind it.
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks: u64 = fields.split_whitespace().skip(11).take(4).filter_map(|f| f.parse::<u64>().ok()).sum();
    Some(Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64))
}

/// Whether a child has ended; it is not reaped, so that its number stays its own.
fn has_ended(pid: Pid) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(waitid(WaitId::Pid(pid), options), Ok(Some(_)))
}

impl Home {
    /// Starts a child and has it open the library.
    pub(super) fn open(image: Image<'_>) -> Result<(Self, About), LoadError> {
        let mut home = Self::start(image).map_err(LoadError::Child)?;
        match home.ask::<Arm>(&Opening::Open(image.door), MOST_TEXT, None).map_err(LoadError::Child)? {
            Answer::About(about) => about.map(|about| (home, about)),
            _ => Err(LoadError::Child(OTHER.into())),
        }
    }

    fn start(Image { bytes, isolation, .. }: Image<'_>) -> Result<Self, String> {
        let failed = |e: io::Error| format!("it cannot be started: {e}");
        if std::env::var_os(CHILD).is_some() {
            return Err("this process is a child itself; `main` must call `isolated_main` first".into());
        }
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        let (pipe, stderr) = std::io::pipe().map_err(failed)?;
        fcntl_setfl(&pipe, OFlags::NONBLOCK).map_err(|e| failed(e.into()))?;
        let program = match &isolation.program {
            Some(program) => program.clone(),
            None => std::env::current_exe().map_err(failed)?,
        };
        let child = Command::new(program)
            .args(&isolation.arguments)
            .arg(ARGUMENT)
            .env(CHILD, "1")
            // Of what it writes only the end is kept: let that be why it panicked, and not a backtrace.
            .env("RUST_BACKTRACE", "0")
            // The child moves both away before the plugin is opened: what that prints goes where its errors go.
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::from(bytes.descriptor().map_err(failed)?))
            .stderr(Stdio::from(stderr))
            // A group of its own: what the plugin starts ends with it.
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let limit = Limit::start(isolation);
        let wire = Wire::new(ours, Some(SLICE)).map_err(failed)?;
        let output = Output { pipe, last: Vec::new() };
        let mut home = Self { child, wire, limit, output, dead: None, broken_off: false };
        let mut watch = Watch::new(home.pid(), limit, &mut home.output);
        match home.wire.receive::<Answer<()>>(16, &mut || watch.look()) {
            Ok(Answer::Hello) => Ok(home),
            Ok(_) => Err("it did not say hello: does its `main` call `isolated_main` first?".into()),
            Err(e) => {
                let why = home.end_after(&e);
                Err(format!(
                    "it did not become the home of a plugin ({why}): does its `main` call `isolated_main` first?"
                ))
            }
        }
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Number of the process.
    pub(super) fn process(&self) -> u32 {
        self.child.id()
    }

    /// From now on a call may take `limit`.
    pub(super) fn limit(&mut self, limit: Limit) {
        self.limit = limit;
    }

    /// What the child says to `request`, in at most `most` bytes; meanwhile it may draw from `rng`.
    pub(super) fn ask<D: Crosses>(
        &mut self,
        request: &impl Serialize,
        most: usize,
        mut rng: Option<&mut dyn Rng>,
    ) -> Result<Answer<D>, String> {
        if let Some(dead) = &self.dead {
            return Err(dead.clone());
        }
        if std::mem::replace(&mut self.broken_off, true) {
            return Err(self.end_after(&io::Error::other("a call was broken off")));
        }
        let mut watch = Watch::new(self.pid(), self.limit, &mut self.output);
        let mut look = || watch.look();
        // An error's text fits as well.
        let most = most.max(4 * ERROR_CAPACITY);
        let mut sent = self.wire.send(request, &mut look);
        let answer = loop {
            let received = match sent {
                Ok(()) => self.wire.receive(most, &mut look),
                Err(e) => Err(e),
            };
            sent = match received {
                // A plugin that draws for ever is as late as one that computes for ever.
                Ok(Answer::Draw(draw)) => look().and_then(|()| match (draw, &mut rng) {
                    (Draw::U32, Some(rng)) => self.wire.send(&rng.next_u32(), &mut look),
                    (Draw::U64, Some(rng)) => self.wire.send(&rng.next_u64(), &mut look),
                    (Draw::Bytes(count), Some(rng)) => {
                        let mut drawn = vec![0; count.min(1 << 16) as usize];
                        rng.fill_bytes(&mut drawn);
                        self.wire.send(&drawn, &mut look)
                    }
                    (_, None) => Err(io::Error::other("it draws where nothing is drawn")),
                }),
                other => break other,
            };
        };
        match answer {
            Ok(answer) => {
                self.broken_off = false;
                match answer {
                    Answer::Failed(why) => Err(visible(&why).into_owned()),
                    answer => Ok(answer),
                }
            }
            Err(e) => Err(self.end_after(&e)),
        }
    }

    /// Ends the child and what it started, and says how it ended.
    #[cold]
    fn end_after(&mut self, error: &io::Error) -> String {
        let late = error.kind() == io::ErrorKind::TimedOut;
        // A connection that broke is a process that is ending: leave it the time to say how.
        let gone = matches!(
            error.kind(),
            io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
        );
        let ended = has_ended(self.pid())
            || gone
                && (0..2000).any(|_| {
                    std::thread::sleep(Duration::from_millis(1));
                    has_ended(self.pid())
                });
        let status = self.end();
        let mut told = match status {
            Some(status) if ended => match (status.signal(), status.code()) {
                (Some(signal), _) => {
                    format!("its process was ended by signal {signal}{}", signal_name(signal))
                }
                (None, Some(code)) => format!("its process ended with exit code {code}"),
                (None, None) => "its process ended".into(),
            },
            _ if late => {
                let Limit { processor, clock } = self.limit;
                format!(
                    "no answer within {processor:?} of processor time, or {clock:?} by the clock; its process was ended"
                )
            }
            _ => format!("its process was ended after an error: {error}"),
        };
        if let Some(words) = self.output.last_lines() {
            told.push_str(&format!("; it last wrote: {words}"));
        }
        self.dead = Some(told.clone());
        told
    }

    /// Ends the whole group, then reaps the child: as long as that is not done, its number is its own.
    fn end(&mut self) -> Option<std::process::ExitStatus> {
        let _ = kill_process_group(self.pid(), Signal::KILL);
        self.child.wait().ok()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if self.dead.is_none() {
            let _ = self.end();
        }
    }
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        4 => " (illegal instruction)",
        6 => " (abort)",
        7 => " (bus error)",
        8 => " (arithmetic)",
        9 => " (killed)",
        11 => " (segmentation fault)",
        _ => "",
    }
}

/// What a library says of itself, without opening it in this process.
pub(in crate::host) fn describe(image: Image<'_>) -> Result<About, LoadError> {
    Home::open(image).map(|(_, about)| about)
}

/// Holds a base to every law, in a process of its own; in another one after a law that it did not survive.
pub(in crate::host) fn examine(image: Image<'_>, base: &str, params: &str) -> Result<Verdict, BaseError> {
    let failed = |why: String| BaseError::Failed(format!("{base}: {why}"));
    let call = Limit::call(image.isolation);
    let within = [call.processor, call.processor.saturating_mul(10)];
    let mut whole = Verdict { base: base.to_owned(), world: "none".to_owned(), laws: Vec::new() };
    let mut lives = None;
    for (number, law) in check::names().into_iter().enumerate() {
        let mut home = match lives.take() {
            Some(home) => home,
            None => Home::open(image).map_err(|e| failed(e.to_string()))?.0,
        };
        home.limit(Limit::law(image.isolation));
        let asked =
            Opening::Examine { base: base.to_owned(), params: params.to_owned(), law: number, within };
        match home.ask::<Arm>(&asked, MOST_TEXT, None) {
            Ok(Answer::Verdict(found)) => {
                whole.world = found.world;
                whole.laws.extend(found.laws);
                lives = Some(home);
            }
            Ok(_) => return Err(failed(OTHER.into())),
            Err(why) => whole.laws.push((law.to_owned(), Err(why))),
        }
        // One that cannot be built is held to nothing else.
        if lives.is_some() && whole.laws.last().is_some_and(|(last, _)| last != law) {
            break;
        }
    }
    whole.world = visible(&whole.world).into_owned();
    for (name, Ok(text) | Err(text)) in &mut whole.laws {
        (*name, *text) = (visible(name).into_owned(), visible(text).into_owned());
    }
    Ok(whole)
}
