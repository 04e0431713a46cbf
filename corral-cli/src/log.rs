//! `corral log`: decision logs joined, checked and evaluated.

use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use corral_lab::report::valuation as page;
use corral_lab::saved::{self, SavedBand};
use corral_lab::store;
use corral_lab::valuation::{self, Form, Request};
use corral_log::{
    Aggregate, CsvOut, DsjsonOut, Estimator, JoinOptions, Options, OursOut, Reader, Sink, Writer,
};

use crate::plugins::PluginDir;
use crate::table::terminal_width;
use crate::{Failure, choice, print, say};

/// Arguments of `corral log`.
#[derive(Debug, Args)]
pub struct LogArgs {
    #[command(subcommand)]
    command: LogCommand,
}

#[derive(Debug, Subcommand)]
enum LogCommand {
    /// Write every decision with its outcome: one line each, in a new chain
    Join(JoinArgs),
    /// Check the chain: a line that was removed, changed, doubled or moved is named
    Verify(VerifyArgs),
    /// Estimate what policies would have earned, with intervals and alarms
    Evaluate(EvaluateArgs),
    /// Write a log in another format: dsjson for Vowpal Wabbit, CSV, Parquet, or our lines
    Convert(ConvertArgs),
    /// Print the JSON Schema of a line
    Schema,
}

/// Arguments of `corral log join`.
#[derive(Debug, Args)]
struct JoinArgs {
    /// The decisions: lines of a decision log
    decisions: PathBuf,
    /// The outcomes: JSON lines with the key and a `reward` or a `loss`
    outcomes: PathBuf,
    /// The field of an outcome that names its decision, and of a decision, or else its `key`
    #[arg(long, default_value = "id")]
    key: String,
    /// How many decisions wait for outcomes at a time
    #[arg(long, default_value_t = 100_000)]
    window: usize,
    /// Outcomes that come later than this after their decision do not count, in milliseconds (field `at`)
    #[arg(long)]
    wait: Option<f64>,
    /// The reward of a decision that has no outcome [default: it stays a decision]
    #[arg(long, allow_negative_numbers = true)]
    default_reward: Option<f64>,
    /// Where outcomes are losses: the loss of a decision that has none
    #[arg(long, allow_negative_numbers = true, conflicts_with = "default_reward")]
    default_loss: Option<f64>,
    /// Which outcome counts where a decision has several
    #[arg(long, value_enum, default_value = "first")]
    aggregate: Take,
    /// A line that cannot be read is an error
    #[arg(long)]
    strict: bool,
    /// Where to write the joined log [default: print it]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Which outcome counts.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Take {
    /// The first one
    First,
    /// The last one
    Last,
    /// Their sum
    Sum,
    /// Their mean
    Mean,
    /// The largest
    Max,
}

/// Arguments of `corral log convert`.
#[derive(Debug, Args)]
struct ConvertArgs {
    /// The log; gzip is recognised
    log: PathBuf,
    /// The format to write
    #[arg(long, value_parser = choice::<Form>())]
    to: Form,
    /// How the log is written [default: found from the file]
    #[arg(long, value_parser = choice::<Form>())]
    from: Option<Form>,
    /// Where outcomes lie, where the log does not say [default: 0,1]
    #[arg(long, value_name = "LOW,HIGH", value_parser = range, allow_hyphen_values = true)]
    range: Option<(f64, f64)>,
    /// A line with a fault is an error
    #[arg(long)]
    strict: bool,
    /// Where to write it [default: print it]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Arguments of `corral log verify`.
#[derive(Debug, Args)]
struct VerifyArgs {
    /// The log
    log: PathBuf,
    /// Play it again from here: the file `origin` of a band in the store of `corral serve`, one of its snapshots, or what
    /// `Band.save` of the Python package wrote
    #[arg(long, value_name = "SNAPSHOT", conflicts_with = "secret")]
    from: Option<PathBuf>,
    /// What `Band.save` wrote after the last line: the state must come out too
    #[arg(long, value_name = "SNAPSHOT", requires = "from")]
    end: Option<PathBuf>,
    /// The log of a service is a part of what its store has learned, one segment of several, say: neither the order of its lines nor
    /// the state at the end is compared
    #[arg(long, requires = "from")]
    partial: bool,
    #[command(flatten)]
    plugins: PluginDir,
    /// The secret that its chain was written with
    #[arg(long, default_value_t = 0)]
    secret: u64,
}

/// Arguments of `corral log evaluate`.
#[derive(Debug, Args)]
struct EvaluateArgs {
    /// The log; gzip is recognised
    log: PathBuf,
    /// uniform, base:NAME, mix:NAME=SHARE,..., action:NAME, column:NAME, logger, or learner:NAME (replayed step by step)
    #[arg(long = "policy", required = true)]
    policies: Vec<String>,
    /// Which estimators [default: all]
    #[arg(long = "estimator", value_enum)]
    estimators: Vec<Estimate>,
    /// How the log is written [default: found from the file]
    #[arg(long, value_parser = choice::<Form>())]
    from: Option<Form>,
    /// How to print the answer
    #[arg(long, value_enum, default_value = "table")]
    format: Answer,
    /// Where outcomes lie, where the log does not say [default: 0,1]
    #[arg(long, value_name = "LOW,HIGH", value_parser = range, allow_hyphen_values = true)]
    range: Option<(f64, f64)>,
    /// Sum decisions of one unit first: the field or column that names it (a user, a session)
    #[arg(long, value_name = "FIELD")]
    unit: Option<String>,
    /// Rewards may drift: no policy is taken to stand still
    #[arg(long)]
    drift: bool,
    /// With which probability an interval may miss
    #[arg(long, default_value_t = 0.05)]
    alpha: f64,
    /// Where the clipped estimator cuts weights
    #[arg(long, default_value_t = 10.0)]
    clip: f64,
    /// Propensities below this raise an alarm
    #[arg(long, default_value_t = 0.001)]
    floor: f64,
    /// How many decisions may wait for outcomes that are lines of their own
    #[arg(long, default_value_t = 100_000)]
    window: usize,
    /// Check the chain of the log too
    #[arg(long)]
    chain: bool,
    /// A line with a fault is an error
    #[arg(long)]
    strict: bool,
    /// Where to write the answer [default: print it]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// How an evaluation is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Answer {
    /// For people
    Table,
    /// One JSON object
    Json,
    /// A page with pictures
    Html,
}

/// Which estimator.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Estimate {
    /// Inverse propensity scores
    Ips,
    /// IPS divided by the sum of weights
    Snips,
    /// IPS with weights that are cut
    Clipped,
    /// Weights moved as little as possible so that their mean is 1
    CressieRead,
    /// What a ridge regression predicts
    Direct,
    /// The regression, corrected by weights
    Dr,
}

fn range(text: &str) -> Result<(f64, f64), String> {
    let pair = text.split_once(',').and_then(|(l, h)| Some((l.trim().parse().ok()?, h.trim().parse().ok()?)));
    pair.ok_or_else(|| format!("a range is LOW,HIGH, as in -1,1, but is {text:?}"))
}

/// `corral log`.
///
/// # Errors
/// A log cannot be read, or does not hold what was asked.
pub fn log(args: LogArgs) -> Result<(), Failure> {
    match args.command {
        LogCommand::Join(args) => join(&args),
        LogCommand::Verify(args) => verify(&args),
        LogCommand::Evaluate(args) => evaluate(&args),
        LogCommand::Convert(args) => convert(&args),
        LogCommand::Schema => print(corral_log::SCHEMA),
    }
}

fn open(path: &Path) -> Result<BufReader<Box<dyn Read>>, Failure> {
    valuation::bytes(path).map_err(|e| Failure::usage(format!("{}: {e}", path.display())))
}

fn join(args: &JoinArgs) -> Result<(), Failure> {
    let options = JoinOptions {
        key: args.key.clone(),
        window: args.window,
        wait: args.wait,
        default: args.default_reward,
        default_loss: args.default_loss,
        aggregate: match args.aggregate {
            Take::First => Aggregate::First,
            Take::Last => Aggregate::Last,
            Take::Sum => Aggregate::Sum,
            Take::Mean => Aggregate::Mean,
            Take::Max => Aggregate::Max,
        },
    };
    let decisions = Reader::new(open(&args.decisions)?).strict(args.strict);
    let outcomes = Reader::new(open(&args.outcomes)?).strict(args.strict);
    let joined = output(args.out.as_deref(), |to| {
        corral_log::join(decisions, outcomes, Writer::new(to), &options)
            .map_err(|e| Failure::running(valuation::chain(&e)))
    })?;
    let counts = joined.counts;
    say(&format!(
        "{} decisions have an outcome, {} have none; {} further outcomes of one decision, {} outcomes without a decision, \
         {} too late, {} decisions with the key of another",
        counts.joined, counts.without, counts.repeated, counts.orphans, counts.late, counts.duplicates
    ));
    if counts.untimed > 0 {
        say(&format!(
            "{} outcomes count although it is not known how late they are: they or their decisions have no field at",
            counts.untimed
        ));
    }
    for (name, faults) in [("decisions", &joined.decisions), ("outcomes", &joined.outcomes)] {
        for (count, first) in faults.iter() {
            say(&format!("{name}: {count} lines: {}; the first is {first}", first.kind));
        }
    }
    Ok(())
}

/// Has `fill` write a file, or what is printed. A file is there when it is whole: it may be the one that is read.
fn output<T>(
    path: Option<&Path>,
    fill: impl FnOnce(&mut (dyn Write + Send)) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let Some(path) = path else {
        let mut to = BufWriter::new(io::stdout());
        let done = fill(&mut to)?;
        to.flush().map_err(Failure::running)?;
        return Ok(done);
    };
    store::write_with(path, |e| Failure::running(format!("{}: {e}", path.display())), fill)
}

fn convert(args: &ConvertArgs) -> Result<(), Failure> {
    let request = Request { form: args.from, range: args.range, strict: args.strict, ..Request::default() };
    let out = args.out.as_deref();
    if args.to == Form::Parquet {
        Failure::ensure(out.is_some(), "parquet is not printed: name a file with --out")?;
        Failure::ensure(cfg!(feature = "parquet"), valuation::WITHOUT_PARQUET)?;
    }
    let (rows, notes) = output(out, |to| {
        let mut sink: Box<dyn Sink + '_> = match args.to {
            Form::Corral => Box::new(OursOut::new(to)),
            Form::Dsjson => Box::new(DsjsonOut::new(to)),
            Form::Csv => Box::new(CsvOut::new(to)),
            #[cfg(feature = "parquet")]
            Form::Parquet => Box::new(corral_log::parquet::ParquetOut::new(to).map_err(Failure::running)?),
            #[cfg(not(feature = "parquet"))]
            Form::Parquet => return Err(Failure::usage(valuation::WITHOUT_PARQUET)),
        };
        valuation::convert(&args.log, &request, &mut *sink)
            .map_err(|why| Failure::usage(format!("{}: {why}", args.log.display())))
    })?;
    say(&format!("{rows} rows"));
    notes.iter().for_each(|note| say(note));
    Ok(())
}

fn verify(args: &VerifyArgs) -> Result<(), Failure> {
    if let Some(from) = &args.from {
        return verify_from(args, from);
    }
    let mut reader = Reader::new(open(&args.log)?).checked(args.secret);
    while reader.read().map_err(|e| Failure::running(valuation::chain(&e)))?.is_some() {}
    let faults = reader.faults();
    if faults.count() == 0 {
        return print(&format!("{} lines, each follows from the one before\n", reader.lines()));
    }
    let lines =
        faults.iter().map(|(count, first)| format!("{count} lines: {}; the first is {first}", first.kind));
    let found = lines.collect::<Vec<_>>().join("\n");
    // What a crash leaves behind is no reason to doubt the lines before it.
    if faults.count() == faults.of(corral_log::FaultKind::Torn) {
        return print(&format!("{} lines, each follows from the one before\n{found}\n", reader.lines() - 1));
    }
    Err(Failure::running(found))
}

fn verify_from(args: &VerifyArgs, from: &Path) -> Result<(), Failure> {
    let bytes =
        |path: &Path| std::fs::read(path).map_err(|e| Failure::usage(format!("{}: {e}", path.display())));
    let start = bytes(from)?;
    if !SavedBand::is(&start) {
        return verify_served(args, from);
    }
    Failure::ensure(!args.partial, "--partial is for the log of a service")?;
    let saved = |path: &Path, bytes: &[u8]| {
        SavedBand::open(bytes).map_err(|e| Failure::usage(format!("{}: {e}", path.display())))
    };
    let end = args.end.as_deref().map(|end| saved(end, &bytes(end)?)).transpose()?;
    let (plugins, start) = (args.plugins.load(true)?, saved(from, &start)?);
    let found = saved::verify(open(&args.log)?, start, end.as_ref(), &plugins, &mut ())
        .map_err(|e| Failure::running(format!("{}: {e}", args.log.display())))?;
    let before = match found.before {
        0 => String::new(),
        n => format!(", {n} lines are from before the snapshot"),
    };
    let said = format!(
        "{} lines, each follows from the one before; {} decisions and their probabilities come out again to the last bit, and {} \
         outcomes were learned again{before}",
        found.lines, found.decisions, found.learned
    );
    let end = args.end.as_deref().unwrap_or(from).display();
    match found.same_state {
        None => print(&format!("{said}\n")),
        Some(true) => print(&format!("{said}; the state is that of {end} to the last bit\n")),
        Some(false) => Err(Failure::running(format!("{said}; but the state is not that of {end}"))),
    }
}

#[cfg(feature = "serve")]
fn verify_served(args: &VerifyArgs, from: &Path) -> Result<(), Failure> {
    Failure::ensure(
        args.end.is_none(),
        "--end is for bands that Python saved: a store is compared by itself",
    )?;
    let found = corral_serve::verify_from(open(&args.log)?, from, args.partial)
        .map_err(|e| Failure::running(format!("{}: {e}", args.log.display())))?;
    let before = match found.before {
        0 => String::new(),
        n => format!(", {n} that the snapshot had learned"),
    };
    let ahead = match found.ahead {
        0 => String::new(),
        n => format!(", {n} that the store has not learned yet"),
    };
    let made = match (found.made, found.unmade) {
        (0, 0) => "decisions were not made again (log_decisions)".to_owned(),
        (made, 0) => format!("{made} decisions were made again, to the last bit"),
        (made, left) => format!(
            "{made} decisions were made again, to the last bit, and {left} could not be, because others before them were not logged"
        ),
    };
    let said = format!(
        "{} lines, each follows from the one before{before}{ahead}; {} decisions are those of their sealed tickets and were learned again; \
         {made}",
        found.lines, found.learned
    );
    let refused = found
        .refused
        .map(|(line, why)| format!(" (line {line} cannot be learned: {why})"))
        .unwrap_or_default();
    match found.same_state {
        Some(true) => print(&format!("{said}; the state is that of the store to the last bit\n")),
        None => print(&format!(
            "{said}; a part of a log: neither the order of its lines nor the state at the end was compared\n"
        )),
        Some(false) => {
            Err(Failure::running(format!("{said}; but the state is not that of the store{refused}")))
        }
    }
}

#[cfg(not(feature = "serve"))]
fn verify_served(_: &VerifyArgs, _: &Path) -> Result<(), Failure> {
    Err(Failure::usage("this program was built without `corral serve`, whose logs are played again"))
}

fn evaluate(args: &EvaluateArgs) -> Result<(), Failure> {
    Failure::ensure(
        args.alpha > 0.0 && args.alpha < 1.0,
        format!("alpha must be in (0, 1), but is {}", args.alpha),
    )?;
    Failure::ensure(args.clip > 0.0, format!("clip must be positive, but is {}", args.clip))?;
    let chosen = args.estimators.iter().map(|e| match e {
        Estimate::Ips => Estimator::Ips,
        Estimate::Snips => Estimator::Snips,
        Estimate::Clipped => Estimator::Clipped,
        Estimate::CressieRead => Estimator::CressieRead,
        Estimate::Direct => Estimator::Direct,
        Estimate::Dr => Estimator::Dr,
    });
    let request = Request {
        policies: args.policies.clone(),
        form: args.from,
        range: args.range,
        unit: args.unit.clone(),
        strict: args.strict,
        chain: args.chain,
        window: Some(args.window),
        options: Options {
            estimators: if args.estimators.is_empty() { Estimator::ALL.to_vec() } else { chosen.collect() },
            alpha: args.alpha,
            clip: args.clip,
            floor: args.floor,
            units: args.unit.is_some(),
            drift: args.drift,
            looks: args.format == Answer::Html,
            ..Options::default()
        },
    };
    let report = valuation::value(&args.log, &request)
        .map_err(|why| Failure::usage(format!("{}: {why}", args.log.display())))?;
    let text = match args.format {
        Answer::Table => valuation::text(&report, args.out.is_none().then(terminal_width).flatten()),
        Answer::Json => serde_json::to_string_pretty(&report).map_err(Failure::running)? + "\n",
        Answer::Html => page::html(&args.log.display().to_string(), &report),
    };
    match &args.out {
        Some(path) => store::write_whole(path, text.as_bytes()).map_err(Failure::running),
        None => print(&text),
    }
}
