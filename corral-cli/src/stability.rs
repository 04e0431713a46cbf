//! `corral stability`.

use std::sync::atomic::Ordering;

use clap::Args;
use corral_bases::band::BaseRecipe;
use corral_lab::spec::{BaseSpec, Place, value_of};
use corral_lab::stability::{AtRange, Family, Fit, Stability, UnderSchedule, kind_and_alpha};
use corral_lab::store::csv;
use corral_lab::summary::number;
use corral_lab::table::{fitted, paged};
use indicatif::ProgressBar;

use crate::plugins::PluginDir;
use crate::table::terminal_width;
use crate::{Failure, Format, parse_pair, print, signals, supervise};

/// Arguments of `corral stability`.
#[derive(Debug, Args)]
pub struct StabilityArgs {
    /// A base, built in or of a plugin (file-stem/base)
    base: String,
    /// A parameter of the base: scale=0.5
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = parse_pair)]
    set: Vec<(String, String)>,
    /// Rounds of a run [default: 5000 for arms, 20000 else]
    #[arg(long, value_parser = clap::value_parser!(u64).range(2..))]
    rounds: Option<u64>,
    /// Seeds, the same ones at every rho
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u64).range(2..))]
    seeds: u64,
    /// Ranges rho
    #[arg(long, value_delimiter = ',', default_values_t = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0])]
    ranges: Vec<f64>,
    /// Schedules of E'
    #[arg(long, value_delimiter = ',', default_values_t = ["constant", "staircase", "starve-bad"].map(str::to_owned))]
    schedules: Vec<String>,
    #[command(flatten)]
    plugins: PluginDir,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// No progress
    #[arg(long, short)]
    quiet: bool,
}

/// `corral stability`.
///
/// # Errors
/// An unknown base or parameter, or one that fails.
pub fn stability(args: StabilityArgs) -> Result<(), Failure> {
    let plugin = args.base.contains('/').then_some(args.base.as_str());
    if let Some(ended) = supervise::run(plugin.as_slice()) {
        return ended;
    }
    let plugins = args.plugins.load(args.quiet)?;
    let (kind, claimed) = kind_and_alpha(&args.base, &plugins).map_err(Failure::usage)?;
    let world = Family::of_kind(kind);
    let what = Stability {
        base: BaseSpec {
            recipe: BaseRecipe { params: params(&args.set)?, ..BaseRecipe::named(&args.base) },
            ..BaseSpec::named(&args.base, Place::Argument(args.base.as_str().into()))
        },
        world,
        claimed,
        rounds: args.rounds.unwrap_or(if world == Family::Arms { 5_000 } else { 20_000 }),
        seeds: args.seeds,
        ranges: args.ranges,
    };
    let stop = signals::interruptible();
    let total = what.total_rounds() * args.schedules.len() as u64;
    let bar = if args.quiet { ProgressBar::hidden() } else { ProgressBar::new(total) };
    let measured = args
        .schedules
        .iter()
        .map(|schedule| what.measure(schedule, &plugins, &stop, &|n| bar.inc(n)))
        .collect::<Result<Vec<_>, _>>()
        .map_err(Failure::usage)?;
    bar.finish_and_clear();
    if stop.load(Ordering::Relaxed) {
        return Err(Failure { code: 130, message: "interrupted".to_owned() });
    }
    match args.format {
        Format::Json => print(&format!(
            "{:#}\n",
            serde_json::json!({ "base": args.base, "claimed_alpha": claimed, "rounds": what.rounds, "seeds": what.seeds, "schedules": measured })
        ))?,
        Format::Csv => {
            let row = |m: &UnderSchedule, p| [m.schedule.clone()].into_iter().chain(curve_row(p)).collect();
            let rows = measured.iter().flat_map(|m| m.curve.iter().map(move |p| row(m, p)));
            print(&csv(&[&["schedule"], CURVE_HEADER].concat(), rows))?;
        }
        Format::Table => print(&text(&what, &measured))?,
    }
    match measured.iter().find_map(|m| m.failed.as_ref()) {
        Some(why) => Err(Failure::running(format!("some runs failed: {why}"))),
        None => Ok(()),
    }
}

/// The columns of [`curve_row`].
pub(super) const CURVE_HEADER: &[&str] = &["rho", "regret", "se", "gap", "share_of_blind_play", "saturated"];

/// One point of regret against rho, for CSV.
pub(super) fn curve_row(p: &AtRange) -> Vec<String> {
    let numbers = [p.range, p.worst.mean, p.worst.se, p.gap, p.share];
    numbers.iter().map(f64::to_string).chain([p.saturated.to_string()]).collect()
}

fn params(pairs: &[(String, String)]) -> Result<toml::Table, Failure> {
    pairs
        .iter()
        .map(|(key, value)| Ok((key.clone(), value_of(key, value).map_err(Failure::usage)?)))
        .collect()
}

fn text(what: &Stability, measured: &[UnderSchedule]) -> String {
    let width = terminal_width();
    let mut out = format!(
        "{} under E': {} rounds, {} seeds, {:?}\n",
        what.base.recipe.name, what.rounds, what.seeds, what.world
    );
    let exponent = |fit: &Option<Fit>| match fit {
        Some(f) => format!("{:.2} [{:.2}, {:.2}] from {} points", f.alpha, f.low, f.high, f.points),
        None => "cannot be fitted".to_owned(),
    };
    let claim = what.claimed.map_or("none".to_owned(), |a| format!("{a:.2}"));
    for m in measured {
        out.push_str(&format!("\nschedule {}\n", m.schedule));
        let rows = m.curve.iter().map(|p| {
            vec![
                number(p.range),
                number(p.worst.mean),
                format!("± {}", number(p.worst.half_width(what.seeds))),
                number(p.gap),
                format!("{:.0}%", 100.0 * p.share),
                number(p.fixed.mean),
                if p.saturated { "saturated".to_owned() } else { String::new() },
            ]
        });
        let header = ["rho", "worst regret", "95%", "at gap", "of blind play", "at the largest gap", ""];
        out.push_str(&fitted(&header, "rrrrrrl", &rows.collect::<Vec<_>>(), width, &[4, 3]));
        out.push_str(&format!("alpha, worst gap    {}\n", exponent(&m.worst)));
        out.push_str(&format!("alpha, largest gap  {}\n", exponent(&m.fixed)));
        out.push_str(&format!("alpha, claimed      {claim}\n"));
        if m.curve.iter().any(|p| p.saturated) {
            out.push_str(
                "warning: ranges where the worst gap is the largest, and regret more than half of blind play's, are \
                 left out; longer runs would keep them\n",
            );
        }
    }
    out.push_str("\nThe claim is about the worst instance: hold it against the worst gap.\n");
    paged(&out, width)
}
