//! `corral run` and `corral merge`.

use std::path::{Path, PathBuf};

use clap::Args;
use corral_envs::data::{Counts, Table};
use corral_lab::answer::row_loss;
use corral_lab::experiments;
use corral_lab::findings::Findings;
use corral_lab::model::Model;
use corral_lab::report;
use corral_lab::run::{
    Plugins, Resources, RunError, Timings, about, check_telling, costs, estimate, plugins_here, run as drive,
};
use corral_lab::spec::{LearnerSpec, Spec, SpecError, SpecText, StabilitySpec, Swept};
use corral_lab::store::{self, Results, Shard, results_csv};

use crate::plugins::PluginDir;
use crate::progress::Reporter;
use crate::{
    Failure, Format, emit, exponents, parse_bytes, parse_pair, print, read_text, say, signals, supervise,
    table,
};

/// Arguments of `corral run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// A spec file, or the name of a built-in experiment (see `corral list experiments`)
    #[arg(default_value = "quickstart", value_name = "SPEC|NAME")]
    spec: String,
    /// Validate the spec and stop
    #[arg(long)]
    check: bool,
    /// Use the spec's `fast` preset
    #[arg(long)]
    fast: bool,
    /// Rounds to play, in place of the spec's
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    rounds: Option<u64>,
    /// How many seeds, or which, as in 400..408 (400 to 407), in place of the spec's
    #[arg(long, value_name = "N|FIRST..END")]
    seeds: Option<String>,
    /// Override a key of the spec: environment.means=[0.1,0.2], learner.0.master.rate="fast"
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = parse_pair)]
    set: Vec<(String, String)>,
    /// Cells to run at once [default: one per core]
    #[arg(long, short, value_parser = clap::value_parser!(u64).range(1..=1024))]
    jobs: Option<u64>,
    /// Memory that worlds and learners may take, as in 500MB or 8GB [default: half of the machine's]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    memory: Option<u64>,
    /// Run only part i of n, to be joined by `corral merge`
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Folder for results and report [default: one in corral-out/ that is named after the spec and its values]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    plugins: PluginDir,
    /// How to print the result
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Train the best learner (or the one with this label) on the table once more, and keep it for `corral decide`
    #[arg(long, value_name = "best|LABEL")]
    keep: Option<String>,
    /// Where to keep it
    #[arg(long, value_name = "FILE", default_value = "model.corral", requires = "keep")]
    model: PathBuf,
    /// No progress, only the result
    #[arg(long, short)]
    quiet: bool,
    /// Print a job script that runs this spec in parts, and stop
    #[arg(long, value_enum, value_name = "SYSTEM", conflicts_with_all = ["shard", "check"])]
    emit: Option<emit::System>,
    /// How many parts the job script has
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..))]
    parts: u64,
}

impl RunArgs {
    /// What the run may use of the machine.
    fn resources(&self) -> Resources {
        Resources {
            jobs: self.jobs.map_or_else(Resources::cores, |n| n as usize),
            memory: self.memory.unwrap_or_else(half_of_the_memory),
        }
    }
}

/// `corral run`.
///
/// # Errors
/// See [`Failure`].
pub fn run(args: RunArgs) -> Result<(), Failure> {
    let text = spec_text(&args.spec)?;
    let named = |e: SpecError| Failure::usage(format!("{}: {e}", args.spec));
    let mut pairs = args.set.clone();
    pairs.extend(args.rounds.map(|n| ("rounds".to_owned(), n.to_string())));
    pairs.extend(args.seeds.iter().map(|s| ("seeds".to_owned(), s.clone())));
    let source = SpecText::parse(&text).and_then(|s| s.overridden(args.fast, &pairs)).map_err(named)?;
    if let Some(spec) = StabilitySpec::of(&source).map_err(named)? {
        let bases: Vec<_> = spec.rows.iter().map(|row| LearnerSpec::Base(row.base.clone())).collect();
        if let Some(ended) = supervise::run(&plugins_here(&bases)) {
            return ended;
        }
        return run_stability(&args, &spec);
    }
    let spec = Spec::of(&source).map_err(named)?;
    if let Some(system) = args.emit {
        return print(&emit::script(
            system,
            &args.spec,
            &pairs,
            args.fast,
            args.parts,
            &out_dir(&args, &spec.name, &spec.text),
        ));
    }
    // What cannot be kept is said before anything runs.
    if let Some(label) = &args.keep {
        Model::check(&spec, Some(label.as_str()).filter(|label| *label != "best")).map_err(Failure::usage)?;
    }
    if let Some(ended) = supervise::run(&plugins_here(spec.learners.iter().map(|l| &l.learner))) {
        return ended;
    }
    let plugins = args.plugins.load(args.quiet)?;
    if !args.quiet {
        for warning in corral_lab::advice::warnings(&spec) {
            say(&format!("note: {warning}"));
        }
    }
    if args.check {
        let resources = args.resources();
        // What cannot be printed is no fault of the spec.
        let mut tell = |columns: &Table, rounds: u64| drop(print(&table::columns(columns, rounds)));
        check_telling(&spec, &plugins, resources.memory_of_a_cell(), &mut tell).map_err(named)?;
        print(&table::costs(&spec, &costs(&spec, &plugins, resources)))?;
        let time =
            estimate(&spec, &plugins, resources, 1.0).map_or(String::new(), |t| format!(", {}", about(t)));
        let cells = spec.cells();
        let rounds = spec.rounds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let of = format!("{cells} cell{} of {rounds} rounds{time}", if cells == 1 { "" } else { "s" });
        return print(&format!("{}: fine; {of}\n", args.spec));
    }
    let dir = out_dir(&args, &spec.name, &spec.text);
    let cancel = signals::interruptible();
    let shard = args.shard.unwrap_or(Shard::WHOLE);
    let reporter = Reporter::new(&spec, shard, args.quiet);
    let outcome = drive(&spec, &plugins, &dir, shard, args.resources(), &cancel, &reporter);
    reporter.finish();
    let (cells, timings) = outcome.map_err(|e| failure(&args.spec, e))?;
    let found = Findings::of(spec, cells, &timings);
    answer(&found, &dir, args.format, args.quiet)?;
    args.keep.as_deref().map_or(Ok(()), |label| keep(&found, label, &args.model, &plugins))
}

/// Trains a learner once more and writes it to a file.
fn keep(found: &Findings, label: &str, to: &Path, plugins: &Plugins) -> Result<(), Failure> {
    let tables = Model::tables(&found.spec);
    let Some(table) = tables.first().map(|table| table.label.as_str()) else { return Ok(()) };
    // A model is trained at the longest horizon, and so the best is the best there; with one learner there is no other.
    let rounds = found.spec.rounds.iter().max().copied();
    let here = |environment: &str, own: u64| environment == table && Some(own) == rounds;
    let standing = found.standings.iter().find(|s| !s.everywhere && here(&s.environment, s.rounds));
    let only = found.rows.iter().find(|r| here(&r.environment, r.rounds)).map(|r| r.label.as_str());
    let best = standing.and_then(|s| s.learners.first()).map(|l| l.label.as_str()).or(only);
    let label = if label == "best" { best.unwrap_or(label) } else { label };
    let model = Model::train(&found.spec, Some(table), label, plugins).map_err(Failure::usage)?;
    store::write_whole(to, &model.to_bytes()).map_err(Failure::running)?;
    let loss = row_loss(model.counts, model.loss);
    let what = if model.counts == Counts::Errors {
        format!("{loss} errors")
    } else {
        format!("loss {loss} per row")
    };
    let which = match tables.len() {
        1 => String::new(),
        all => format!(" of {table}, the first of {all} tables"),
    };
    say(&format!(
        "kept {label} in {0}: {1} rows{which}, {what}\n  corral decide {0} NEW.csv",
        to.display(),
        model.rows
    ));
    Ok(())
}

/// A spec that measures stability: its runs are many small specs, each in a folder of its own.
fn run_stability(args: &RunArgs, spec: &StabilitySpec) -> Result<(), Failure> {
    let whole = args.shard.is_none() && args.emit.is_none();
    Failure::ensure(whole, format_args!("{}: a table of stability is not run in parts", args.spec))?;
    let plugins = args.plugins.load(args.quiet)?;
    if args.check {
        let cells = exponents::checked(spec, &plugins, args.resources().memory_of_a_cell())
            .map_err(|e| Failure::usage(format!("{}: {e}", args.spec)))?;
        return print(&format!("{}: fine; {cells} cells\n", args.spec));
    }
    let dir = out_dir(args, &spec.name, &spec.text);
    let answer = exponents::run(
        spec,
        &plugins,
        &dir,
        args.resources(),
        &signals::interruptible(),
        args.format,
        args.quiet,
    )
    .map_err(|e| failure(&args.spec, e))?;
    print(&answer)
}

fn failure(spec: &str, e: RunError) -> Failure {
    match e {
        RunError::Spec(e) => Failure::usage(format!("{spec}: {e}")),
        RunError::Folder(e) => Failure::usage(e),
        RunError::Interrupted { .. } => Failure { code: 130, message: e.to_string() },
        other => Failure::running(other),
    }
}

/// Writes the report and prints the result.
fn answer(found: &Findings, dir: &Path, format: Format, quiet: bool) -> Result<(), Failure> {
    let html = dir.join("report.html");
    store::write_whole(&html, report::html(found).as_bytes()).map_err(Failure::running)?;
    match format {
        Format::Table => {
            print(&report::text(found, table::terminal_width()))?;
            if !quiet {
                print(&format!("\nreport: {}\n", html.display()))?;
            }
        }
        Format::Json => print(&json(found, &html))?,
        Format::Csv => print(&results_csv(&found.spec, &found.cells))?,
    }
    let failed: usize = found.rows.iter().map(|r| r.failed.len()).sum();
    if let Some((row, why)) = found.rows.iter().find_map(|r| r.failed.first().map(|why| (r, why))) {
        let (cells, label) = (found.cells.len(), &row.label);
        return Err(Failure::running(format!("{failed} of {cells} cells failed; {label}, {why}")));
    }
    Ok(())
}

fn json(found: &Findings, report: &Path) -> String {
    let spec = &found.spec;
    let rounds = match spec.rounds.as_slice() {
        [one] => serde_json::json!(one),
        many => serde_json::json!(many),
    };
    let object = serde_json::json!({
        "name": spec.name,
        "rounds": rounds,
        "seeds": spec.seeds,
        "first_seed": spec.first_seed,
        "learners": found.rows,
        "gaps": found.gaps,
        "ranks": found.ranks,
        "duels": found.duels,
        "claims": found.held,
        "sweep": swept(spec),
        "standings": found.standings,
        "answer": corral_lab::answer::words(&found.standings, true),
        "report": report.display().to_string(),
    });
    format!("{object:#}\n")
}

/// What was swept in each learner and environment, for JSON.
fn swept(spec: &Spec) -> serde_json::Value {
    let of = |label: &str, family: &str, swept: &[Swept]| {
        (!swept.is_empty()).then(|| serde_json::json!({ "label": label, "family": family, "swept": swept }))
    };
    let learners: Vec<_> = spec.learners.iter().filter_map(|l| of(&l.label, &l.family, &l.swept)).collect();
    let environments: Vec<_> =
        spec.environments.iter().filter_map(|e| of(&e.label, &e.family, &e.swept)).collect();
    serde_json::json!({ "learners": learners, "environments": environments })
}

/// The spec's text: of a file, or of a built-in experiment.
fn spec_text(name: &str) -> Result<String, Failure> {
    if let Some(text) = experiments::text(name) {
        return Ok(text.to_owned());
    }
    let path = Path::new(name);
    let looks_like_a_file = path.extension().is_some() || path.exists();
    let unknown = format_args!("{}, and there is no such file", experiments::unknown(name));
    Failure::ensure(looks_like_a_file, unknown)?;
    // A file that is not there is no table.
    Failure::ensure(
        !(is_table(path) && path.exists()),
        format_args!("{name} is a table and not a spec: `corral new data {name}` writes a spec for it"),
    )?;
    let text = read_text(path)?;
    Failure::ensure(!text.trim().is_empty(), format_args!("{name}: the file is empty"))?;
    Ok(text)
}

/// Whether a file is data by its name.
fn is_table(path: &Path) -> bool {
    let name = path.to_string_lossy().to_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    [".csv", ".tsv", ".arff", ".libsvm", ".svm", ".vw", ".xlsx", ".parquet"]
        .iter()
        .any(|end| name.ends_with(end))
}

fn out_dir(args: &RunArgs, name: &str, text: &str) -> PathBuf {
    if let Some(dir) = &args.out {
        return dir.clone();
    }
    let stem = if experiments::text(&args.spec).is_some() {
        args.spec.clone()
    } else {
        Path::new(&args.spec)
            .file_stem()
            .map_or_else(|| name.to_owned(), |s| s.to_string_lossy().into_owned())
    };
    let mut slug: String =
        stem.chars().map(|c| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' }).collect();
    // Another spec text is another run: its folder says so, and never gets in the way of the first.
    slug.push_str(&format!("-{:08x}", fingerprint(text)));
    if let Some(shard) = args.shard {
        slug.push_str(&format!(".{}-of-{}", shard.index, shard.of));
    }
    Path::new("corral-out").join(slug)
}

fn fingerprint(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |h, b| (h ^ u32::from(b)).wrapping_mul(0x0100_0193))
}

/// Half of the machine's memory; where that cannot be found out, what a library may take.
fn half_of_the_memory() -> u64 {
    let total = || -> Option<u64> {
        let text = std::fs::read_to_string("/proc/meminfo").ok()?;
        text.lines().find_map(|l| l.strip_prefix("MemTotal:"))?.trim().strip_suffix(" kB")?.parse().ok()
    };
    total().map_or(corral_core::memory::DEFAULT, |kilobytes| kilobytes * 512)
}

/// Arguments of `corral merge`.
#[derive(Debug, Args)]
pub struct MergeArgs {
    /// Folders of shards
    #[arg(required = true, value_name = "DIR")]
    dirs: Vec<PathBuf>,
    /// Folder for the joined results
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// How to print the result
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// `corral merge`.
///
/// # Errors
/// See [`Failure`].
pub fn merge(args: MergeArgs) -> Result<(), Failure> {
    let Results { spec, cells, .. } = store::merge(&args.dirs, &args.out).map_err(Failure::usage)?;
    answer(&Findings::of(spec, cells, &Timings::default()), &args.out, args.format, false)
}
