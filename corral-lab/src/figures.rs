//! The charts of a run, made once for the report and for `corral plot`.

use corral_envs::data::{Chance, Counts};

use crate::chart::{Axis, AxisScale, Chart, Mark, Palette, Panel, Point, Series, Style};
use crate::curves::{self, Curve};
use crate::findings::Findings;
use crate::over_rows::wilson;
use crate::ranks::Rank;
use crate::run::{BandRecord, CellRecord, checkpoints};
use crate::summary::SummaryRow;

/// With more learners than these a chart has a panel for each.
pub const CROWDED: usize = 6;
/// So many panels at most; the others are grey lines in all of them.
const PANELS: usize = 24;
/// So many bases have a line of their own in a chart of probabilities; the others are added up.
const BASES: usize = 7;

/// One environment at one horizon, with what was run in it.
pub struct Setting<'a> {
    /// The environment's label.
    pub environment: &'a str,
    /// The horizon.
    pub rounds: u64,
    /// Its cells.
    pub cells: Vec<&'a CellRecord>,
    /// A row for each learner, and its regret over time.
    pub rows: Vec<(&'a SummaryRow, Option<Curve>)>,
}

impl<'a> Setting<'a> {
    /// The worlds of a spec that have cells, in its order.
    pub fn all(found: &'a Findings) -> Vec<Self> {
        let mut worlds = Vec::new();
        for (rounds, environment) in found.spec.worlds() {
            let here = |t: u64, label: &str| t == rounds && label == environment.label;
            let cells = found.cells.iter().filter(|c| here(c.rounds, &c.environment)).collect();
            let mut world = Self { environment: &environment.label, rounds, cells, rows: Vec::new() };
            let with_curve = |r: &'a SummaryRow| (r, curves::regret(&world.of(&r.label).collect::<Vec<_>>()));
            let rows = found.rows.iter().filter(|r| here(r.rounds, &r.environment));
            world.rows = rows.map(with_curve).collect();
            if !world.rows.is_empty() {
                worlds.push(world);
            }
        }
        worlds
    }

    /// The cells of a learner.
    pub fn of<'s>(&'s self, label: &'s str) -> impl Iterator<Item = &'a CellRecord> + 's {
        self.cells.iter().copied().filter(move |c| c.learner == label)
    }

    /// What happened inside the band of a learner, by seed; nothing for a base alone.
    pub fn bands(&self, label: &str) -> Vec<&'a BandRecord> {
        self.of(label).filter_map(|c| c.band.as_ref()).collect()
    }

    /// Whether there are too many learners for one chart.
    pub fn crowded(&self) -> bool {
        self.rows.len() > CROWDED
    }
}

/// The style of a row's learner. A base alone has the colour that it has inside bands.
pub fn style_of(row: &SummaryRow, palette: &mut Palette) -> Style {
    if row.alone { base_style(&row.label, palette) } else { palette.style(&format!("learner {}", row.label)) }
}

/// The style of a base.
pub fn base_style(label: &str, palette: &mut Palette) -> Style {
    palette.style(&format!("base {label}"))
}

fn time(scale: AxisScale) -> Axis {
    Axis::new("round t", scale)
}

/// Regret over time: lines of all learners, or a panel for each where they are many.
pub fn regret(world: &Setting<'_>, scale: &AxisScale, palette: &mut Palette) -> Chart {
    let (title, caption) = match scale {
        AxisScale::Log => (
            "Regret, both axes logarithmic",
            "A power of t is a straight line; the table has its fitted exponent.",
        ),
        _ => ("Regret", "Mean over seeds; the band is its 95% interval."),
    };
    let axis = Axis::new("pseudo-regret", scale.clone());
    let chart = Chart::new(title, caption, time(scale.clone()), axis, Vec::new());
    over_time(world, chart, palette, |_, mean, half| (mean, mean - half, mean + half))
}

/// The regret of each learner at the end with its interval, the least on top.
pub fn final_regret(world: &Setting<'_>, palette: &mut Palette) -> Chart {
    let caption = "Mean over seeds at the end of each run, with its 95% interval; the least on top.";
    let axis = Axis::new("pseudo-regret", AxisScale::Linear);
    let of = |row: &SummaryRow| {
        let (mean, half) = (row.regret.mean, row.regret.half_width(row.seeds));
        (mean, mean - half, mean + half)
    };
    at_the_end(world, ("Regret at the end", caption), axis, palette, of)
}

/// The mean loss of a row of each learner with its interval over rows, the least on top.
pub fn final_losses(world: &Setting<'_>, chance: &Chance, palette: &mut Palette) -> Chart {
    let caption = "Mean over seeds, with its 95% interval over rows; the least on top.";
    let (title, name, unit) = match chance.counts {
        Counts::Errors => ("Errors at the end", "errors, in per cent", 100.0),
        _ => ("Loss at the end", "loss per row", 1.0),
    };
    let of = |row: &SummaryRow| {
        let (low, high) = row.over_rows_95().unwrap_or((f64::NAN, f64::NAN));
        (unit * row.loss.mean, unit * low, unit * high)
    };
    at_the_end(world, (title, caption), Axis::new(name, AxisScale::Linear), palette, of)
}

/// A row for each learner: its figure, and the ends of its interval. Figures that are no numbers are left out.
fn at_the_end(
    world: &Setting<'_>,
    (title, caption): (&str, &str),
    x: Axis,
    palette: &mut Palette,
    of: impl Fn(&SummaryRow) -> (f64, f64, f64),
) -> Chart {
    let mut rows: Vec<&SummaryRow> = world.rows.iter().map(|(row, _)| *row).collect();
    rows.retain(|row| of(row).0.is_finite());
    rows.sort_by(|a, b| of(b).0.total_cmp(&of(a).0));
    let series = rows.iter().enumerate().map(|(i, row)| {
        let (x, low, high) = of(row);
        // With one seed there is no interval.
        let (low, high) = (if low.is_finite() { low } else { x }, if high.is_finite() { high } else { x });
        let points = vec![Point { x, y: i as f64, low, high }];
        Series { mark: Mark::Whisker, ..Series::line(&row.label, style_of(row, palette), points) }
    });
    let panels = vec![Panel::only(series.collect())];
    let y = Axis::new("learner", AxisScale::Names(rows.iter().map(|row| row.label.clone()).collect()));
    Chart::new(title, caption, x, y, panels)
}

/// What learning nothing costs, by name.
pub fn baselines(chance: &Chance) -> [(String, f64); 2] {
    [(format!("always {}", chance.class), chance.always), ("at random".to_owned(), chance.random)]
}

/// A table: the share of errors among the rows so far, where regret counts them; else by how much a row cost more than it had to.
pub fn running(world: &Setting<'_>, chance: &Chance, palette: &mut Palette) -> Chart {
    let x = Axis::new("row t", AxisScale::Linear);
    let linear = |name: &str| Axis::new(name, AxisScale::Linear);
    if chance.counts != Counts::Errors {
        let (name, best) = match chance.counts {
            Counts::Logged => ("loss above the best action", "by the log's estimates of its actions"),
            _ => ("loss above the best answer of each row", "over the rows so far"),
        };
        let caption = format!("Mean over seeds, {best}; seeds play the same rows.");
        let chart = Chart::new("Loss so far", &caption, x, linear(name), Vec::new());
        return over_time(world, chart, palette, |t, mean, _| (mean / t, mean / t, mean / t));
    }
    let caption = "Mean over seeds; the band is its 95% interval over rows. Level: the same answer always, and answers at random.";
    let chart = Chart::new("Errors", caption, x, linear("errors so far, in per cent"), Vec::new());
    // A row that is played again is no new one.
    let different = if chance.rows == 0 { f64::INFINITY } else { chance.rows as f64 };
    let mut chart = over_time(world, chart, palette, |t, errors, _| {
        let (low, high) = wilson(errors / t, t.min(different));
        (100.0 * errors / t, 100.0 * low, 100.0 * high)
    });
    let ends = |chart: &Chart| {
        let x = chart.drawn().flat_map(|s| &s.points).map(|p| p.x);
        x.fold((f64::INFINITY, 0.0f64), |(low, high), x| (low.min(x), high.max(x)))
    };
    let (from, to) = ends(&chart);
    for (name, error) in baselines(chance).into_iter().filter(|_| from < to) {
        let points = [from, to].map(|x| Point::new(x, 100.0 * error)).to_vec();
        match chart.panels.as_mut_slice() {
            [only] if !world.crowded() => only.series.push(Series::line(&name, palette.style(&name), points)),
            _ => chart.context.push(Series::line(&name, Style::Context, points)),
        }
    }
    chart
}

/// Draws the curves of all learners; `point` makes a value and the ends of its band of a round, its mean and half its interval over
/// seeds.
fn over_time(
    world: &Setting<'_>,
    mut chart: Chart,
    palette: &mut Palette,
    point: impl Fn(f64, f64, f64) -> (f64, f64, f64),
) -> Chart {
    let lines: Vec<(&SummaryRow, Vec<Point>)> = world
        .rows
        .iter()
        .filter_map(|(row, curve)| {
            // Data may end before the horizon.
            let last = row.sample.as_ref().map_or(f64::INFINITY, |s| s.rounds as f64);
            let points = curve.as_ref()?.points.iter().filter(|(x, ..)| *x <= last);
            let point = |(x, y, half): &(f64, f64, f64)| {
                let (y, low, high) = point(*x, *y, *half);
                Point { x: *x, y, low, high }
            };
            Some((*row, points.map(point).collect()))
        })
        .collect();
    if !world.crowded() {
        let series =
            lines.into_iter().map(|(row, points)| Series::line(&row.label, style_of(row, palette), points));
        chart.panels = vec![Panel::only(series.collect())];
        return chart;
    }
    let mean = |p: &Point| Point::new(p.x, p.y);
    chart.context = lines
        .iter()
        .map(|(row, points)| Series::line(&row.label, Style::Context, points.iter().map(mean).collect()))
        .collect();
    let left_out = lines.len().saturating_sub(PANELS);
    let panel = |(row, points): (&SummaryRow, Vec<Point>)| {
        let series = vec![Series::line(&row.label, Style::Ink, points)];
        Panel { name: row.label.clone(), series }
    };
    chart.panels = lines.into_iter().take(PANELS).map(panel).collect();
    chart.caption += " Grey: the other learners.";
    if left_out > 0 {
        chart.caption += &format!(" {left_out} more are grey only; the table has them.");
    }
    chart
}

/// The distribution that bases are drawn from, averaged over the traced seeds: a panel for each of `labels`.
pub fn probabilities(world: &Setting<'_>, labels: &[&str], palette: &mut Palette) -> Chart {
    let x: Vec<f64> = checkpoints(world.rounds).iter().map(|t| *t as f64).collect();
    let traced: Vec<_> = labels
        .iter()
        .filter_map(|label| {
            let bands = world.bands(label);
            let names = bands.first()?.bases.as_slice();
            Some((*label, names, mean_trace(&bands, |b| &b.probabilities)))
        })
        .filter(|(.., trace)| !trace.is_empty())
        .collect();
    // The bases that are likely in any panel, the likeliest first.
    let mut peaks: Vec<(&str, f64)> = Vec::new();
    for (_, names, trace) in &traced {
        for (i, name) in names.iter().enumerate() {
            let peak = trace.iter().filter_map(|row| row.get(i)).fold(0.0, |a: f64, b| a.max(*b));
            match peaks.iter_mut().find(|(known, _)| known == name) {
                Some((_, highest)) => *highest = highest.max(peak),
                None => peaks.push((name, peak)),
            }
        }
    }
    let own = |name: &str, among: &[(&str, f64)]| {
        let higher =
            among.iter().filter(|other| other.1 > among.iter().find(|o| o.0 == name).map_or(0.0, |o| o.1));
        among.len() <= BASES + 1 || higher.count() < BASES
    };
    let panels = traced
        .iter()
        .map(|(label, names, trace)| {
            let points = |share: &dyn Fn(&[f64]) -> f64| {
                x.iter().zip(trace).map(|(x, row)| Point::new(*x, share(row))).collect::<Vec<_>>()
            };
            let (mut series, mut others) = (Vec::new(), Vec::new());
            for (i, name) in names.iter().enumerate() {
                if own(name, &peaks) {
                    let line = points(&|row: &[f64]| row.get(i).copied().unwrap_or(0.0));
                    series.push(Series::line(name, base_style(name, palette), line));
                } else {
                    others.push(i);
                }
            }
            if !others.is_empty() {
                let sum = |row: &[f64]| others.iter().filter_map(|i| row.get(*i)).sum();
                let name = format!("the other {}", others.len());
                series.push(Series::line(&name, palette.style("other bases"), points(&sum)));
            }
            let name = if labels.len() > 1 { (*label).to_owned() } else { String::new() };
            Panel { name, series }
        })
        .collect();
    let caption = "The distribution that bases are drawn from, averaged over the traced seeds.";
    let axis = Axis::new("probability of each base", AxisScale::Linear);
    Chart::new("Probabilities", caption, time(AxisScale::Linear), axis, panels)
}

fn mean_trace(bands: &[&BandRecord], of: impl Fn(&BandRecord) -> &Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let traced: Vec<&Vec<Vec<f64>>> = bands.iter().map(|b| of(b)).filter(|t| !t.is_empty()).collect();
    let Some(first) = traced.first() else { return Vec::new() };
    let same: Vec<_> = traced.iter().filter(|t| t.len() == first.len()).collect();
    (0..first.len())
        .map(|k| {
            (0..first[k].len())
                .map(|i| {
                    same.iter().map(|t| t[k].get(i).copied().unwrap_or(0.0)).sum::<f64>() / same.len() as f64
                })
                .collect()
        })
        .collect()
}

/// The learning rates of a band, in the first traced seed.
pub fn rates(world: &Setting<'_>, label: &str, palette: &mut Palette) -> Option<Chart> {
    let caption = "One seed. A dot marks a change of the base's range.";
    steps(world, label, |b| &b.rates, ("Learning rates", "learning rate eta", caption), palette)
}

/// The ranges of a band, in the first traced seed.
pub fn ranges(world: &Setting<'_>, label: &str, palette: &mut Palette) -> Option<Chart> {
    let caption = "One seed: the largest weight promised to each base. A dot marks a change.";
    steps(world, label, |b| &b.ranges, ("Ranges", "range rho", caption), palette)
}

fn steps(
    world: &Setting<'_>,
    label: &str,
    of: fn(&BandRecord) -> &Vec<Vec<f64>>,
    (title, axis, caption): (&str, &str, &str),
    palette: &mut Palette,
) -> Option<Chart> {
    let band = world.bands(label).into_iter().find(|b| !of(b).is_empty())?;
    let trace = of(band);
    let x: Vec<f64> = checkpoints(world.rounds).iter().map(|t| *t as f64).collect();
    let bases = band.bases.iter().enumerate();
    let series = bases
        .map(|(i, name)| {
            let at = |(x, row): (&f64, &Vec<f64>)| Some(Point::new(*x, *row.get(i)?));
            let points: Vec<Point> = x.iter().zip(trace).filter_map(at).collect();
            let changed = band.range_changes.iter().filter(|(_, base)| *base == i);
            let dots = changed
                .filter_map(|(t, _)| points.iter().find(|p| p.x >= *t as f64).map(|p| (*t as f64, p.y)))
                .collect();
            Series { mark: Mark::Steps, dots, ..Series::line(name, base_style(name, palette), points) }
        })
        .collect();
    let (lo, hi) = trace.iter().flatten().fold((f64::INFINITY, 0.0f64), |(a, b), v| (a.min(*v), b.max(*v)));
    let axis = Axis::new(axis, if hi >= 10.0 * lo { AxisScale::Log } else { AxisScale::Linear });
    Some(Chart::new(title, caption, time(AxisScale::Linear), axis, vec![Panel::only(series)]))
}

/// The mean ranks of masters with their intervals, best on top.
pub fn ranks(ranks: &[Rank]) -> Option<Chart> {
    let first = ranks.first()?;
    let names: Vec<String> = ranks.iter().rev().map(|r| r.label.clone()).collect();
    // With too few seeds there is no interval.
    let end = |r: &Rank, x: f64| if x.is_finite() { x } else { r.mean };
    let point =
        |(i, r): (usize, &Rank)| Point { x: r.mean, y: i as f64, low: end(r, r.low), high: end(r, r.high) };
    let points = ranks.iter().rev().enumerate().map(point).collect();
    let series = Series { mark: Mark::Whisker, ..Series::line("mean rank", Style::Ink, points) };
    let caption =
        format!("Mean rank of the regret over {} worlds with its 95% interval; 1 is best.", first.worlds);
    let (x, y) = (Axis::new("mean rank", AxisScale::Linear), Axis::new("master", AxisScale::Names(names)));
    Some(Chart::new("Masters by mean rank", &caption, x, y, vec![Panel::only(vec![series])]))
}
