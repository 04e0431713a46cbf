//! A parent for runs of plugins that are not isolated: a crash of theirs ends the process without a word, and somebody must be left
//! to say so.
//!
//! The parent starts this program again with the same arguments and waits. The child's exit codes are moved by [`MOVED`], so that an
//! exit from inside of a plugin (`_exit(0)`) is not taken for an end of the program. Signals that reach the parent alone are passed
//! on through the child's standard input, one byte each; where it ends, the parent is gone.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::process::{Command, ExitCode, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::{Failure, signals};

/// The last argument of a child.
const CHILD: &str = "--corral-supervised-run";

/// What is added to the exit codes 0, 1 and 2 of a child.
const MOVED: u8 = 64;

static SUPERVISED: OnceLock<()> = OnceLock::new();

/// The arguments of this program. Where it was started as a child, signals of its parent are listened for from here on.
pub fn arguments() -> Vec<OsString> {
    let mut arguments: Vec<OsString> = std::env::args_os().collect();
    if arguments.last().is_some_and(|last| last == OsStr::new(CHILD)) {
        arguments.pop();
        let _ = SUPERVISED.set(());
        std::thread::spawn(|| {
            let mut byte = [0];
            while matches!(std::io::stdin().read(&mut byte), Ok(1)) {
                signals::passed();
            }
            std::process::exit(130);
        });
    }
    arguments
}

/// The exit code of this process for `code`.
pub fn exit_code(code: u8) -> ExitCode {
    ExitCode::from(if SUPERVISED.get().is_some() && code <= 2 { code + MOVED } else { code })
}

/// Runs this command in a child where `plugins`, bases that are not isolated, would run in this process. `None`: go on here.
pub fn run(plugins: &[&str]) -> Option<Result<(), Failure>> {
    if plugins.is_empty() || SUPERVISED.get().is_some() {
        return None;
    }
    let mut command = Command::new(std::env::current_exe().ok()?);
    command.args(std::env::args_os().skip(1)).arg(CHILD).stdin(Stdio::piped());
    let mut child = command.spawn().ok()?;
    let (told, input) = (Arc::new(AtomicUsize::new(0)), child.stdin.take());
    let (count, input) = (Arc::clone(&told), Arc::new(Mutex::new(input)));
    let _ = ctrlc::set_handler(move || {
        count.fetch_add(1, Ordering::Relaxed);
        if let Some(input) = &mut *input.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = input.write_all(&[0]).and_then(|()| input.flush());
        }
    });
    let ended = match child.wait() {
        Ok(ended) => ended,
        Err(error) => return Some(Err(Failure::running(format!("the run's process: {error}")))),
    };
    let quiet = |code| Err(Failure { code, message: String::new() });
    let own = ended.code().and_then(|code| u8::try_from(code).ok()).and_then(|code| code.checked_sub(MOVED));
    Some(match (own, ended.code()) {
        (Some(0), _) => Ok(()),
        (Some(code @ 1..=2), _) => quiet(code),
        (_, Some(130)) => quiet(130),
        // It had not begun to listen.
        (_, None) if told.load(Ordering::Relaxed) > 0 => quiet(130),
        _ => {
            let how = ended.to_string();
            Err(Failure::running(format!(
                "the run's process ended without a word ({how}), as a plugin in it can make it: {} {} in it; {}",
                plugins.join(", "),
                if plugins.len() == 1 { "runs" } else { "run" },
                corral_plugin_abi::host::ISOLATE
            )))
        }
    })
}
