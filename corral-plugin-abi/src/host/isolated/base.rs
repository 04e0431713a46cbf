//! The host: a base whose every call is a message, with a time limit.

use std::cell::RefCell;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use corral_core::snapshot::{open, seal};
use corral_core::{Base, BaseError, Context, Feedback, Memo, Proposal, Rng, Setup, Space};

use super::wire::{Pen, Reader, Wire, tag};
use super::{ARGUMENT, Isolation};
use crate::author::Decision;
use crate::host::foreign::{check_memo, check_probability, memo_room};
use crate::host::loader::BaseInfo;

/// To start a process, open a library and build a base may take this long at least: machines are busy at times.
const START: Duration = Duration::from_secs(10);

/// A child process and the wire to it.
struct Home {
    child: Child,
    wire: Wire,
    limit: Duration,
    /// How it ended.
    dead: Option<String>,
}

impl Home {
    /// Starts a child and has it open the library.
    fn open(path: &Path, sha256: &str, isolation: &Isolation) -> Result<(Self, Vec<u8>), String> {
        let failed = |e: io::Error| format!("the child process cannot be started: {e}");
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        let limit = isolation.time_limit.max(START);
        ours.set_read_timeout(Some(limit)).map_err(failed)?;
        ours.set_write_timeout(Some(limit)).map_err(failed)?;
        let program = match &isolation.program {
            Some(program) => program.clone(),
            None => std::env::current_exe().map_err(failed)?,
        };
        // What the plugin prints must not end in the host's own output.
        let prints = io::stderr().as_fd().try_clone_to_owned().map_err(failed)?;
        let child = Command::new(program)
            .arg(ARGUMENT)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::from(prints))
            .spawn()
            .map_err(failed)?;
        let mut home = Self { child, wire: Wire::new(ours), limit, dead: None };
        let told = home.ask(tag::OPEN, |pen| {
            pen.rest(sha256.as_bytes());
            pen.rest(path.as_os_str().as_bytes());
        })?;
        match told {
            Some(reader) => {
                let about = reader.rest().to_vec();
                Ok((home, about))
            }
            None => Err("an answer that is none".into()),
        }
    }

    /// From now on a call may take `limit`.
    fn hurry(&mut self, limit: Duration) -> Result<(), String> {
        self.limit = limit.max(Duration::from_millis(1));
        self.wire.set_timeout(self.limit).map_err(|e| e.to_string())
    }

    /// A request without draws; `None` is the answer that there is none.
    fn ask(&mut self, tag: u8, fill: impl FnOnce(&mut Pen<'_>)) -> Result<Option<Reader<'_>>, String> {
        self.ask_with(tag, fill, None)
    }

    /// A request during which the child may draw from `rng`.
    fn ask_with(
        &mut self,
        tag: u8,
        fill: impl FnOnce(&mut Pen<'_>),
        mut rng: Option<&mut dyn Rng>,
    ) -> Result<Option<Reader<'_>>, String> {
        if let Some(dead) = &self.dead {
            return Err(dead.clone());
        }
        let start = Instant::now();
        if let Err(e) = self.wire.send(tag, fill) {
            return Err(self.bury(&e));
        }
        let answer = loop {
            let answer = match self.wire.receive() {
                Ok((tag, mut payload)) => match (tag, &mut rng) {
                    (tag::OK | tag::NONE | tag::FAILED, _) => break tag,
                    // A plugin that draws for ever is as late as one that computes for ever.
                    (tag::DRAW_U32 | tag::DRAW_U64 | tag::DRAW_BYTES, _) if start.elapsed() > self.limit => {
                        Err(io::ErrorKind::TimedOut.into())
                    }
                    (tag::DRAW_U32, Some(rng)) => self.wire.send(tag::OK, |pen| pen.u32(rng.next_u32())),
                    (tag::DRAW_U64, Some(rng)) => self.wire.send(tag::OK, |pen| pen.u64(rng.next_u64())),
                    (tag::DRAW_BYTES, Some(rng)) => {
                        let length = payload.u32().unwrap_or(0).min(1 << 16) as usize;
                        let mut drawn = vec![0; length];
                        rng.fill_bytes(&mut drawn);
                        self.wire.send(tag::OK, |pen| pen.rest(&drawn))
                    }
                    _ => Err(io::Error::other(format!("an answer of the unknown kind {tag}"))),
                },
                Err(e) => Err(e),
            };
            if let Err(e) = answer {
                return Err(self.bury(&e));
            }
        };
        let payload = self.wire.last();
        match answer {
            tag::OK => Ok(Some(payload)),
            tag::NONE => Ok(None),
            _ => Err(String::from_utf8_lossy(payload.rest()).into_owned()),
        }
    }

    /// Ends the child, and says how it ended.
    #[cold]
    fn bury(&mut self, error: &io::Error) -> String {
        let late = matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut);
        let mut ended = None;
        // A connection that broke is a process that is ending: leave it the time to say how.
        for _ in 0..if late { 0 } else { 200 } {
            ended = self.child.try_wait().ok().flatten();
            if ended.is_some() {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let told = match ended {
            Some(status) => match (status.signal(), status.code()) {
                (Some(signal), _) => {
                    format!("its process was ended by signal {signal}{}", signal_name(signal))
                }
                (None, Some(code)) => format!("its process ended with exit code {code}"),
                (None, None) => "its process ended".into(),
            },
            None if late => format!("no answer within {:?}; its process was ended", self.limit),
            None => format!("its process was ended after an error: {error}"),
        };
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.dead = Some(told.clone());
        told
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if self.dead.is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
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

/// What a library says of its bases, without opening it in this process: `(interface, bases)`.
pub(crate) fn describe(
    path: &Path,
    sha256: &str,
    isolation: &Isolation,
) -> Result<(Option<String>, Vec<BaseInfo>), String> {
    let (_home, about) = Home::open(path, sha256, isolation)?;
    open("bases", 1, &about).map_err(|e| e.to_string())
}

/// A base in a process of its own. What comes back is checked as a [`ForeignBase`](crate::host::ForeignBase) checks
/// it; a process that crashes, ends or is late makes this and every later call an error.
pub struct IsolatedBase<D> {
    home: RefCell<Home>,
    name: String,
    space: Space,
    /// A failure that could not be reported when it happened.
    fault: RefCell<Option<BaseError>>,
    memo: Vec<f64>,
    point: Vec<f64>,
    decision: std::marker::PhantomData<fn() -> D>,
}

impl<D: Decision> IsolatedBase<D> {
    /// Starts a process for the base `name` of the library at `path` (whose digest is `sha256`), and builds it there.
    ///
    /// # Errors
    /// The process does not start or ends, or what the plugin says.
    pub fn build(
        path: &Path,
        sha256: &str,
        name: &str,
        params: &str,
        setup: &Setup,
        isolation: &Isolation,
    ) -> Result<Self, BaseError> {
        let failed = |why: String| BaseError::Failed(format!("{name}: {why}"));
        if D::POINT != matches!(setup.space, Space::Points(_)) {
            return Err(failed("decisions of another kind than the world's".into()));
        }
        let path = path.canonicalize().map_err(|e| failed(e.to_string()))?;
        let (mut home, _) = Home::open(&path, sha256, isolation).map_err(failed)?;
        let world = (name, params, &setup.space, &setup.context, setup.horizon);
        home.ask(tag::BUILD, |pen| pen.rest(&seal("build", 1, &world))).map_err(BaseError::Failed)?;
        home.hurry(isolation.time_limit).map_err(BaseError::Failed)?;
        Ok(Self {
            home: RefCell::new(home),
            name: name.to_owned(),
            space: setup.space.clone(),
            fault: RefCell::new(None),
            memo: Vec::new(),
            point: Vec::new(),
            decision: std::marker::PhantomData,
        })
    }

    /// Number of the process, for those who want to look at it.
    pub fn process(&self) -> u32 {
        self.home.borrow().child.id()
    }

    fn sound(&self) -> Result<(), BaseError> {
        self.fault.borrow().clone().map_or(Ok(()), Err)
    }

    /// A request whose answer has nothing in it.
    fn tell(&mut self, tag: u8, fill: impl FnOnce(&mut Pen<'_>)) -> Result<(), BaseError> {
        self.sound()?;
        self.home.get_mut().ask(tag, fill).map(|_| ()).map_err(|why| failed(&self.name, &why))
    }
}

/// The child's error texts begin with the base's name already; those about the process do not.
#[cold]
fn failed(name: &str, why: &str) -> BaseError {
    let named = why.starts_with(&format!("{name}: "));
    BaseError::Failed(if named { why.to_owned() } else { format!("{name}: {why}") })
}

#[cold]
fn short(name: &str) -> BaseError {
    BaseError::Failed(format!("{name}: an answer that is too short"))
}

fn send_decision<D: Decision>(pen: &mut Pen<'_>, decision: &D, memo: &[f64]) {
    let (arm, point) = decision.given();
    pen.u32(arm);
    pen.numbers(point);
    pen.numbers(memo);
}

impl<D: Decision> Base<Context, D> for IsolatedBase<D> {
    fn propose(&mut self, x: &Context, rng: &mut dyn Rng) -> Result<Proposal<D>, BaseError> {
        let mut made = Proposal::new(D::default());
        self.propose_into(x, rng, &mut made)?;
        Ok(made)
    }

    fn propose_into(
        &mut self,
        x: &Context,
        rng: &mut dyn Rng,
        made: &mut Proposal<D>,
    ) -> Result<(), BaseError> {
        self.sound()?;
        let told = self.home.get_mut().ask_with(tag::PROPOSE, |pen| pen.context(x), Some(rng));
        let mut answer = told.map_err(|why| failed(&self.name, &why))?.ok_or_else(|| short(&self.name))?;
        let arm = answer.u32().ok_or_else(|| short(&self.name))?;
        answer.numbers(&mut self.point).ok_or_else(|| short(&self.name))?;
        answer.numbers(&mut self.memo).ok_or_else(|| short(&self.name))?;
        made.decision.take(arm, &self.point);
        if !made.decision.admitted(&self.space, x) {
            return Err(made.decision.refused(&self.space, x));
        }
        if self.memo.len() > memo_room(&self.space) {
            return Err(BaseError::Proposal(format!("a memo of {} numbers", self.memo.len())));
        }
        check_memo(&self.memo)?;
        made.memo.set(&self.memo);
        Ok(())
    }

    fn learn(&mut self, x: &Context, made: &Proposal<D>, feedback: Feedback) -> Result<(), BaseError> {
        let feedback = feedback.check(f64::MAX)?;
        self.tell(tag::LEARN, |pen| {
            pen.context(x);
            send_decision(pen, &made.decision, made.memo.numbers());
            pen.f64(feedback.observed().unwrap_or(0.0));
            pen.f64(feedback.weight());
        })
    }

    fn pass(&mut self, x: &Context) -> Result<(), BaseError> {
        self.tell(tag::PASS, |pen| pen.context(x))
    }

    fn likelihood(&self, x: &Context, asked: &D) -> Option<(f64, Memo)> {
        self.sound().ok()?;
        let mut home = self.home.borrow_mut();
        let told = home.ask(tag::LIKELIHOOD, |pen| {
            pen.context(x);
            send_decision(pen, asked, &[]);
        });
        let answer = told.map_err(|why| failed(&self.name, &why)).and_then(|answer| {
            let Some(mut answer) = answer else { return Ok(None) };
            let probability = check_probability(answer.f64().ok_or_else(|| short(&self.name))?)?;
            let mut memo = Vec::new();
            answer.numbers(&mut memo).ok_or_else(|| short(&self.name))?;
            check_memo(&memo)?;
            Ok(Some((probability, Memo::from(&memo[..]))))
        });
        answer.unwrap_or_else(|fault| {
            *self.fault.borrow_mut() = Some(fault);
            None
        })
    }

    fn learns_from_others(&self) -> bool {
        matches!(self.home.borrow_mut().ask(tag::LEARNS, |_| {}), Ok(Some(_)))
    }

    fn heeds_passes(&self) -> bool {
        !matches!(self.home.borrow_mut().ask(tag::HEEDS, |_| {}), Ok(None))
    }

    fn rerange(&mut self, range: f64, remaining: Option<u64>) -> Result<(), BaseError> {
        BaseError::check_range(range)?;
        *self.fault.get_mut() = None;
        self.tell(tag::RERANGE, |pen| {
            pen.f64(range);
            pen.u64(remaining.unwrap_or(u64::MAX));
        })
    }

    fn save(&self) -> Vec<u8> {
        match self.home.borrow_mut().ask(tag::SAVE, |_| {}) {
            Ok(Some(answer)) => answer.rest().to_vec(),
            Ok(None) => Vec::new(),
            Err(why) => {
                *self.fault.borrow_mut() = Some(failed(&self.name, &why));
                Vec::new()
            }
        }
    }

    fn load(&mut self, state: &[u8]) -> Result<(), BaseError> {
        self.tell(tag::LOAD, |pen| pen.rest(state))
    }
}
