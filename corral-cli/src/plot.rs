//! `corral plot`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use corral_core::registry::Unknown;
use corral_lab::chart::paper::{self, Fonts};
use corral_lab::chart::svg::{self, Columns, Sheet};
use corral_lab::chart::{AxisScale, Chart, Palette, vega};
use corral_lab::figures::{self, Setting};
use corral_lab::findings::Findings;
use corral_lab::store;
use corral_lab::summary::quoted;

use crate::{Failure, choice, folder, print, say};

/// Arguments of `corral plot`.
#[derive(Debug, Args)]
pub struct PlotArgs {
    /// A results folder
    dir: PathBuf,
    /// Which chart
    #[arg(long, value_enum)]
    kind: Kind,
    /// Where to write it: .svg, or .pdf or .png where the program was built with them; a Vega-Lite .vl.json goes beside it
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,
    /// In which environment, where there are several
    #[arg(long, value_name = "LABEL")]
    environment: Option<String>,
    /// At which horizon [default: the longest]
    #[arg(long)]
    rounds: Option<u64>,
    /// Only these learners
    #[arg(long = "learner", value_name = "LABEL")]
    learners: Vec<String>,
    /// Which swept key, where there are several; rounds where horizons are
    #[arg(long, value_name = "NAME")]
    key: Option<String>,
    /// As wide as one column of a page (3.3 in), or as both (6.9 in)
    #[arg(long, value_parser = choice::<Columns>(), default_value = "one")]
    width: Columns,
    /// Exactly as large, in inches: 5x3, say, in place of --width
    #[arg(long, value_name = "WIDTHxHEIGHT", value_parser = size, conflicts_with = "width")]
    size: Option<(f64, f64)>,
    /// A heading above the chart
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// What the chart calls a learner, a base or a panel; can be repeated
    #[arg(long = "label", value_name = "LABEL=NAME", value_parser = renamed)]
    labels: Vec<(String, String)>,
    /// The font, and its size in points [default: the reader's sans serif, 7.9 points]
    #[arg(long, value_name = "FAMILY[:POINTS]", value_parser = font)]
    font: Option<(String, Option<f64>)>,
    /// Scale of the axes of a chart of regret
    #[arg(long, value_parser = choice::<AxisScale>(), default_value = "linear")]
    scale: AxisScale,
    /// Text as text, its font embedded in a PDF; or drawn as outlines
    #[arg(long, value_parser = choice::<Fonts>(), default_value = "text")]
    fonts: Fonts,
    /// Plot what is there of an unfinished run
    #[arg(long)]
    partial: bool,
}

/// Inches within what paper has.
fn size(text: &str) -> Result<(f64, f64), String> {
    let inches = |text: &str| text.trim().parse().ok().filter(|inches| (0.5..=50.0).contains(inches));
    let both = text.split_once('x').and_then(|(width, height)| inches(width).zip(inches(height)));
    both.ok_or_else(|| "a width and a height from 0.5 to 50 inches, such as 5x3".to_owned())
}

fn renamed(text: &str) -> Result<(String, String), String> {
    let both = text.rsplit_once('=').map(|(label, name)| (label.to_owned(), name.to_owned()));
    both.ok_or_else(|| "a label and a name with = between them".to_owned())
}

fn font(text: &str) -> Result<(String, Option<f64>), String> {
    let (family, points) = match text.rsplit_once(':') {
        Some((family, points)) => {
            let number = points.trim().parse().ok().filter(|points| (2.0..=72.0).contains(points));
            (family, Some(number.ok_or_else(|| format!("{points:?} is no size from 2 to 72 points"))?))
        }
        None => (text, None),
    };
    let plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '.');
    let fine = !family.trim().is_empty() && family.chars().all(plain);
    if fine {
        Ok((family.trim().to_owned(), points))
    } else {
        Err(format!("{family:?} is no name of a font"))
    }
}

/// Which chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Regret over time, a line or a panel for each learner
    Regret,
    /// Of a table: the share of errors (or the loss) over time, with its interval over rows
    Errors,
    /// The distribution of a master over its bases
    Probabilities,
    /// Regret against a swept key
    Sweep,
    /// Mean ranks of masters over worlds
    Ranks,
}

/// `corral plot`.
///
/// # Errors
/// The folder has no such chart, or it cannot be written.
pub fn plot(args: PlotArgs) -> Result<(), Failure> {
    let form = paper::Form::of(&args.out).map_err(Failure::usage)?;
    let found = folder::read(&args.dir, args.partial)?;
    let refuse = |why: String| Failure::usage(format!("{}: {why}", args.dir.display()));
    let mut chart = chart(&args, &found).map_err(refuse)?;
    for (label, name) in &args.labels {
        if !chart.rename(label, name) {
            let names = chart.names();
            let names = names.iter().map(String::as_str);
            return Err(refuse(Unknown::new("label", label, names).to_string()));
        }
    }
    let sheet = sheet(&args);
    let svg = svg::paper(&chart, &sheet).ok_or_else(|| refuse("there is nothing to draw".to_owned()))?;
    let bytes = form.render(svg, args.fonts, sheet.font.as_deref()).map_err(Failure::usage)?;
    let beside = args.out.with_extension("vl.json");
    let vega = format!("{:#}\n", vega::vega(&chart));
    let write = |path: &Path, bytes: &[u8]| store::write_whole(path, bytes).map_err(Failure::running);
    write(&args.out, &bytes)?;
    write(&beside, vega.as_bytes())?;
    if let Some(out) = chart.left_out() {
        say(&out);
    }
    print(&format!("{}\n{}\n", args.out.display(), beside.display()))
}

/// What the figure looks like.
fn sheet(args: &PlotArgs) -> Sheet {
    let usual = Sheet::from(args.width);
    let (width, height) = args.size.map_or((usual.width, None), |(width, height)| (width, Some(height)));
    let (font, points) = args.font.clone().unzip();
    Sheet { width, height, font, points: points.flatten().unwrap_or(usual.points), title: args.title.clone() }
}

fn known(what: &str, label: &str, among: &[&str]) -> Result<(), String> {
    let unknown = || Unknown::new(what, label, among.iter().copied()).to_string();
    if among.contains(&label) { Ok(()) } else { Err(unknown()) }
}

/// Regret against a swept key, over all worlds unless one is named.
fn sweep(args: &PlotArgs, found: &Findings) -> Result<Chart, String> {
    let mut rows = found.rows.clone();
    rows.retain(|r| args.environment.as_ref().is_none_or(|e| *e == r.environment));
    rows.retain(|r| args.learners.is_empty() || args.learners.contains(&r.label));
    let mut charts = corral_lab::sweeps::charts(&found.spec, &rows, &mut Palette::default());
    let names: Vec<String> = charts.iter().map(|(name, _)| name.clone()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    match (&args.key, names.as_slice()) {
        (_, []) => return Err("nothing was swept: one horizon, and no [sweep] in the spec".to_owned()),
        (Some(key), names) => known("swept key", key, names)?,
        (None, [_]) => {}
        (None, names) => {
            return Err(format!("several keys were swept; name one with --key: {}", names.join(", ")));
        }
    }
    charts.retain(|(name, _)| args.key.as_ref().is_none_or(|key| key == name));
    charts.pop().map(|(_, chart)| chart).ok_or_else(|| "there is nothing to draw".to_owned())
}

fn chart(args: &PlotArgs, found: &Findings) -> Result<Chart, String> {
    let none = "there are no ranks: they need three masters and three worlds, all finished";
    match args.kind {
        Kind::Ranks => figures::ranks(&found.ranks).ok_or_else(|| none.to_owned()),
        Kind::Sweep => sweep(args, found),
        Kind::Regret | Kind::Errors | Kind::Probabilities => in_world(args, found),
    }
}

/// A chart of one environment at one horizon.
fn in_world(args: &PlotArgs, found: &Findings) -> Result<Chart, String> {
    let mut palette = Palette::default();
    let spec = &found.spec;
    let environments: Vec<&str> = spec.environments.iter().map(|e| e.label.as_str()).collect();
    let environment = match (&args.environment, environments.as_slice()) {
        (Some(label), _) => label.as_str(),
        (None, [one]) => one,
        (None, all) => {
            return Err(format!(
                "there are {} environments; name one with --environment: {}",
                all.len(),
                all.iter().map(|label| quoted(label)).collect::<Vec<_>>().join(", ")
            ));
        }
    };
    known("environment", environment, &environments)?;
    let rounds = args.rounds.or(spec.rounds.iter().max().copied()).unwrap_or(0);
    if !spec.rounds.contains(&rounds) {
        return Err(format!("{rounds} rounds were not run, but {:?}", spec.rounds));
    }
    let mut worlds = Setting::all(found);
    worlds.retain(|w| w.environment == environment && w.rounds == rounds);
    let Some(mut world) = worlds.pop() else {
        return Err(format!("no cell of {environment} with {rounds} rounds has ended"));
    };
    let learners: Vec<&str> = world.rows.iter().map(|(r, _)| r.label.as_str()).collect();
    for label in &args.learners {
        known("learner", label, &learners)?;
    }
    if !args.learners.is_empty() {
        world.rows.retain(|(r, _)| args.learners.contains(&r.label));
    }
    if args.kind == Kind::Errors {
        let chance = world.rows.iter().find_map(|(r, _)| r.chance.clone());
        let none = || format!("{environment} is no table: --kind regret draws what was lost there");
        return Ok(figures::running(&world, &chance.ok_or_else(none)?, &mut palette));
    }
    if args.kind == Kind::Regret {
        if world.rows.iter().any(|(r, _)| r.chance.is_some()) {
            say(
                "note: of a table --kind errors draws the errors (or the loss) per row, with intervals over rows",
            );
        }
        return Ok(figures::regret(&world, &args.scale, &mut palette));
    }
    let masters = world.rows.iter().map(|(r, _)| r.label.as_str());
    match masters.filter(|label| !world.bands(label).is_empty()).collect::<Vec<_>>().as_slice() {
        [] => Err(format!("no master over bases in {environment}")),
        masters => Ok(figures::probabilities(&world, masters, &mut palette)),
    }
}
