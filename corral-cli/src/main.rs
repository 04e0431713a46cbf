//! The `corral` program: what can be said on the command line, and what answers it.

#![forbid(unsafe_code)]

mod decide;
mod emit;
mod exponents;
mod export;
mod folder;
mod list;
mod log;
mod new;
mod plot;
mod plugin;
mod plugins;
mod progress;
mod reference;
mod report;
mod run;
mod schema;
#[cfg(feature = "serve")]
mod serve;
mod signals;
mod stability;
mod supervise;
mod table;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{CommandFactory, Parser, Subcommand, ValueEnum};
use corral_core::text::visible_lines;
use corral_lab::choice::Choice;

fn main() -> ExitCode {
    // A copy of this program that was started as the home of a plugin never returns from here.
    corral_plugin_abi::host::isolated_main();
    let arguments = supervise::arguments();
    supervise::exit_code(match Cli::parse_from(arguments).execute() {
        Ok(()) => 0,
        Err(failure) => {
            // Without a message, it was said by a child.
            if !failure.message.is_empty() {
                say(&format!("error: {}", failure.message));
            }
            failure.code
        }
    })
}

/// Corral runs a band of bandit algorithms and does nearly as well as the best of them would alone.
///
/// Say which environment, which bases and which master, and see how close corralling gets to the best one.
/// With no arguments the built-in quickstart runs.
#[derive(Debug, Parser)]
#[command(name = "corral", version, after_help = EXAMPLES, max_term_width = 110)]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

const EXAMPLES: &str = "Examples:
  corral                                      the quickstart: three bases, three worlds
  corral new arms                             write a commented spec to start from
  corral run arms.toml --check                is it fine, and what will it cost
  corral run arms.toml                        run it; results and report in corral-out/
  corral run paper/convex --fast              a built-in experiment, its fast preset
  corral run quickstart --set rounds=5000     override any key of a spec
  corral list bases exp3                      what a base is and which parameters it takes
  corral stability exp3                       regret under importance weighting, fitted alpha
  corral export DIR --what curves             results as tables
  corral plot DIR --kind regret --out f.svg   a figure for a paper
  corral log evaluate LOG --policy uniform    what another policy would have earned
  corral serve band.toml --store data         decisions over HTTP

`corral COMMAND --help` has more of each. docs/spec.md says what a spec may say.";

/// Examples of every command, below its options.
macro_rules! examples {
    ($($line:literal)*) => { concat!("Examples:", $("\n  ", $line),*) };
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a spec file or a built-in experiment, and write results and a report
    ///
    /// Results go to a folder of their own. A run that was stopped goes on where it was when the same command is given again.
    #[command(after_help = examples!(
        "corral run my.toml --check                       validate, show columns of data and costs, run nothing"
        "corral run my.toml --fast                        the spec's fast preset"
        "corral run my.toml --set learner.0.master.rate=\"fast\" --seeds 50"
        "corral run my.toml --jobs 4 --memory 2GB --out results"
        "corral run my.toml --format json --quiet | jq .answer"
        "corral run my.toml --shard 1/3 --out part-1      one third; `corral merge` joins them"
        "corral run my.toml --emit slurm --parts 32 > job.sh && sbatch job.sh"))]
    Run(run::RunArgs),
    /// Write a commented spec to start from
    #[command(after_help = examples!(
        "corral new                                       arms.toml: a bandit with arms"
        "corral new contexts --out ctx.toml               with contexts"
        "corral new data sales.csv                        a spec for your own table, from what it holds"
        "corral new plugin-test                           a base of your own beside known ones"))]
    New(new::NewArgs),
    /// Decide for the rows of a table with a model that was kept
    #[command(after_help = examples!(
        "corral decide model.corral new.csv               an action and its probability for each row"
        "corral run sales.toml --keep best                this trains the model and keeps it"))]
    Decide(decide::DecideArgs),
    /// List what can be named in a spec
    #[command(after_help = examples!(
        "corral list                                      all names"
        "corral list bases                                a line for each base"
        "corral list masters corral                       one of them, with its parameters"
        "corral list environments --format json"))]
    List(list::ListArgs),
    /// Print the spec of a built-in experiment, to copy and change
    #[command(after_help = examples!("corral show quickstart > mine.toml" "corral list experiments"))]
    Show {
        /// Its name (see `corral list experiments`)
        name: String,
    },
    /// Print what a spec may say: a JSON Schema for editors that complete and check, or a page for people
    #[command(after_help = examples!("corral schema > corral.schema.json" "corral schema --format markdown > spec.md"))]
    Schema {
        /// As what
        #[arg(long, value_enum, default_value = "json")]
        format: schema::Form,
    },
    /// Write the HTML report of a results folder again
    #[command(after_help = examples!(
        "corral report corral-out/arms-1a2b3c4d"
        "corral report part-1 --partial                   of a run that is not finished"))]
    Report(report::ReportArgs),
    /// Write results as tidy tables: CSV, JSON, LaTeX, Markdown or Parquet
    #[command(after_help = examples!(
        "corral export DIR                                one row per cell, printed as CSV"
        "corral export DIR --what curves --out curves.csv regret over time"
        "corral export DIR --what summary --to latex     means, intervals and tests, for a paper"
        "corral export DIR --what claims --to json"))]
    Export(export::ExportArgs),
    /// Draw a chart for a paper: SVG, PDF or PNG, and Vega-Lite
    #[command(after_help = examples!(
        "corral plot DIR --kind regret --environment still --out regret.svg"
        "corral plot DIR --kind regret --scale log --width two --out regret.pdf"
        "corral plot DIR --kind sweep --key scale --out scale.png"
        "corral plot DIR --kind sweep --key gap+scale --out map.svg    two swept keys, as a map"))]
    Plot(plot::PlotArgs),
    /// Measure a base under importance weighting: regret against rho, fitted alpha
    #[command(after_help = examples!(
        "corral stability exp3"
        "corral stability ucb1 --help"))]
    Stability(stability::StabilityArgs),
    /// Join the results of shards of one spec
    #[command(after_help = examples!("corral merge part-1 part-2 part-3 --out whole"))]
    Merge(run::MergeArgs),
    /// Join, check and evaluate decision logs
    #[command(after_help = examples!(
        "corral log evaluate decisions.jsonl --policy base:linucb --policy uniform"
        "corral log evaluate log.csv --policy uniform --policy column:new --format json"
        "corral log join decisions.jsonl outcomes.jsonl --default-reward 0 --out joined.jsonl"
        "corral log verify decisions.jsonl                is any line missing, changed or moved"))]
    Log(log::LogArgs),
    /// Serve decisions over HTTP, and learn from rewards
    ///
    /// A reward is on the disk before it is acknowledged. Results of every decision are a log that `corral log` reads.
    #[cfg(feature = "serve")]
    #[command(after_help = examples!(
        "corral serve band.toml --store data             on this machine, port 8080"
        "corral serve band.toml --store data --listen 0.0.0.0:8080 --clients clients.toml"
        "curl -X POST localhost:8080/v1/bands/NAME/choose -d '{\"features\": [0.5, 1]}'"
        "curl -X POST localhost:8080/v1/bands/NAME/reward -d '{\"token\": \"...\", \"reward\": 1}'"))]
    Serve(serve::ServeArgs),
    /// Write, check and inspect plugins
    #[command(after_help = examples!(
        "corral plugin new my-base                        a crate with a complete base"
        "corral plugin check plugins/my-base.so           every law that a base owes"))]
    Plugin(plugin::PluginArgs),
    /// Print completions for a shell
    #[command(after_help = examples!(
        "corral completions bash > /etc/bash_completion.d/corral"
        "corral completions zsh > ~/.zfunc/_corral"
        "corral completions fish > ~/.config/fish/completions/corral.fish"))]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    #[command(after_help = examples!(
        "corral man > corral.1 && man -l corral.1"
        "corral man --dir ~/.local/share/man/man1         corral.1, corral-run.1 and all others"))]
    Man {
        /// Write a page for every command into this folder
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
}

/// Completions, or the manual page, as clap writes them: text without control characters but line breaks.
fn generated(write: impl FnOnce(clap::Command, &mut Vec<u8>) -> std::io::Result<()>) -> Result<(), Failure> {
    let mut text = Vec::new();
    write(Cli::command(), &mut text).map_err(Failure::running)?;
    print(&String::from_utf8_lossy(&text))
}

/// The same commands, whose arguments are completed by the names that they may have. A shell completes files where no name fits.
fn with_names(command: clap::Command) -> clap::Command {
    let experiments = || corral_lab::experiments::ALL.iter().map(|(name, _)| *name);
    let bases = || corral_bases::entries().map(|entry| entry.name);
    let known = |command: clap::Command, sub: &'static str, arg: &'static str, names: Vec<&'static str>| {
        let parser = PossibleValuesParser::new(names);
        command.mut_subcommand(sub, |sub| sub.mut_arg(arg, |arg| arg.value_parser(parser)))
    };
    let command = known(command, "run", "spec", experiments().collect());
    let command = known(command, "show", "name", experiments().collect());
    known(command, "stability", "base", bases().collect()).mut_subcommand("list", list::with_names)
}

/// The largest spec or list that is read: they are written by hand.
const LARGEST_TEXT: u64 = 16 << 20;

/// How a command prints its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Table,
    /// One JSON object.
    Json,
    /// One row per cell.
    Csv,
}

/// Reads one of the words of `T`.
fn choice<T: Choice + Send + Sync>() -> impl TypedValueParser<Value = T> {
    let words = T::ALL.iter().map(|(_, word, meaning)| PossibleValue::new(*word).help(*meaning));
    PossibleValuesParser::new(words).try_map(|word| T::named(&word).ok_or("not one of the words"))
}

/// What ends a command early: a message for stderr and the exit code.
#[derive(Debug)]
pub struct Failure {
    /// 2: what was asked cannot be done; 1: it failed while running; 130: interrupted.
    pub code: u8,
    /// For stderr.
    pub message: String,
}

impl Failure {
    /// What was asked cannot be done.
    pub fn usage(message: impl std::fmt::Display) -> Self {
        Self { code: 2, message: message.to_string() }
    }

    /// That what was asked cannot be done, unless something `holds`.
    ///
    /// # Errors
    /// It does not hold.
    pub fn ensure(holds: bool, message: impl std::fmt::Display) -> Result<(), Self> {
        if holds { Ok(()) } else { Err(Self::usage(message)) }
    }

    /// It failed while running.
    pub fn running(message: impl std::fmt::Display) -> Self {
        Self { code: 1, message: message.to_string() }
    }
}

impl Cli {
    /// Does what was asked.
    ///
    /// # Errors
    /// What to say on stderr, and the exit code.
    pub fn execute(self) -> Result<(), Failure> {
        match self.command {
            None => Self::parse_from(["corral", "run"]).execute(),
            Some(Command::Run(args)) => run::run(args),
            Some(Command::List(args)) => list::list(args),
            Some(Command::Show { name }) => list::show(&name),
            Some(Command::Decide(args)) => decide::decide(args),
            Some(Command::New(args)) => new::new(args),
            Some(Command::Schema { format }) => schema::schema(format),
            Some(Command::Report(args)) => report::report(args),
            Some(Command::Export(args)) => export::export(args),
            Some(Command::Plot(args)) => plot::plot(args),
            Some(Command::Stability(args)) => stability::stability(args),
            Some(Command::Merge(args)) => run::merge(args),
            Some(Command::Log(args)) => log::log(args),
            #[cfg(feature = "serve")]
            Some(Command::Serve(args)) => serve::serve(&args),
            Some(Command::Plugin(args)) => plugin::plugin(args),
            Some(Command::Completions { shell }) => generated(|command, text| {
                clap_complete::generate(shell, &mut with_names(command), "corral", text);
                Ok(())
            }),
            Some(Command::Man { dir: None }) => {
                generated(|command, text| clap_mangen::Man::new(command).render(text))
            }
            Some(Command::Man { dir: Some(dir) }) => std::fs::create_dir_all(&dir)
                .and_then(|()| clap_mangen::generate_to(Cli::command(), &dir))
                .map_err(|e| Failure::running(format!("{}: {e}", dir.display()))),
        }
    }
}

/// The text of a regular file of at most [`LARGEST_TEXT`] bytes.
fn read_text(path: &Path) -> Result<String, Failure> {
    let refuse = |why: &dyn std::fmt::Display| Failure::usage(format!("{}: {why}", path.display()));
    let meta = std::fs::metadata(path).map_err(|e| refuse(&e))?;
    if !meta.is_file() {
        return Err(refuse(&"not a regular file"));
    }
    if meta.len() > LARGEST_TEXT {
        return Err(refuse(&format!("{} bytes; at most {LARGEST_TEXT} are read", meta.len())));
    }
    let bytes = std::fs::read(path).map_err(|e| refuse(&e))?;
    String::from_utf8(bytes)
        .map_err(|e| refuse(&format!("not UTF-8: byte {} is not text", e.utf8_error().valid_up_to())))
}

/// A size as people write it: 500MB, 8GB, or bytes.
fn parse_bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
    let times = match text[digits.len()..].trim().to_ascii_uppercase().as_str() {
        "" | "B" => Some(1u64),
        "KB" | "K" => Some(1_000),
        "MB" | "M" => Some(1_000_000),
        "GB" | "G" => Some(1_000_000_000),
        "TB" | "T" => Some(1_000_000_000_000),
        _ => None,
    };
    let bytes = digits.parse::<u64>().ok().zip(times).and_then(|(n, times)| n.checked_mul(times));
    bytes.filter(|n| *n > 0).ok_or_else(|| format!("a size is as in 500MB or 8GB, but is {text:?}"))
}

fn parse_pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.trim().to_owned())),
        _ => Err(format!("an override is key=value, as in rounds=5000, but is {text:?}")),
    }
}

/// Prints a line to stderr. As everything that the program prints, it has no control characters but line breaks and tabs.
pub fn say(text: &str) {
    eprintln!("{}", visible_lines(text));
}

/// Prints to stdout; a closed pipe (`corral list | head`) ends quietly.
fn print(text: &str) -> Result<(), Failure> {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    match out.write_all(visible_lines(text).as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(Failure::running(format!("stdout: {e}"))),
        _ => Ok(()),
    }
}
