//! Charts of regret against what a spec sweeps: horizons, and keys of learners and environments.

use crate::chart::{Axis, AxisScale, Chart, Mark, Palette, Panel, Point, Series, Style};
use crate::figures::style_of;
use crate::spec::{Level, Setting, Spec, distinct};
use crate::summary::SummaryRow;

/// A row with its place in the sweep. Horizons go with the environment.
struct Observation<'a> {
    row: &'a SummaryRow,
    at: Setting<'a>,
}

/// A chart for every swept key, by its name; and one more for two keys, `first+second`. Horizons are a key like any other.
pub fn charts(spec: &Spec, rows: &[SummaryRow], palette: &mut Palette) -> Vec<(String, Chart)> {
    let seen: Vec<Observation<'_>> =
        rows.iter().filter(|r| r.regret.mean.is_finite()).filter_map(|r| observation(spec, r)).collect();
    let mut keys: Vec<(&str, Vec<Level>)> = Vec::new();
    for (name, value) in seen.iter().flat_map(|o| o.at.keys()) {
        match keys.iter_mut().find(|(known, _)| known == name) {
            Some((_, values)) if values.contains(value) => {}
            Some((_, values)) => values.push(value.clone()),
            None => keys.push((name, vec![value.clone()])),
        }
    }
    keys.retain(|(_, values)| values.len() > 1);
    for (_, values) in &mut keys {
        // Numbers in their order, words in that of the spec.
        values.sort_by(|a, b| match (a.number, b.number) {
            (Some(a), Some(b)) => a.total_cmp(&b),
            _ => std::cmp::Ordering::Equal,
        });
    }
    let mut charts: Vec<(String, Chart)> =
        keys.iter().map(|(key, values)| ((*key).to_owned(), against(key, values, &seen, palette))).collect();
    let swept: Vec<&(&str, Vec<Level>)> = keys.iter().filter(|(key, _)| *key != ROUNDS).collect();
    if let [first, second] = swept.as_slice() {
        charts.push((format!("{}+{}", first.0, second.0), tiles(first, second, &seen)));
    }
    charts
}

const ROUNDS: &str = "rounds";

fn observation<'a>(spec: &'a Spec, row: &'a SummaryRow) -> Option<Observation<'a>> {
    let mut at = spec.setting(&row.environment, &row.label)?;
    if spec.rounds.len() > 1 {
        let level = Level { text: row.rounds.to_string(), number: Some(row.rounds as f64) };
        at.environment.swept.push((ROUNDS, level));
    }
    Some(Observation { row, at })
}

fn names(values: &[Level]) -> AxisScale {
    AxisScale::Names(values.iter().map(|v| v.text.clone()).collect())
}

/// Regret against one key: a panel for each environment, a line for each learner that has it. Of the others those that
/// nothing was swept in are shown, level.
fn against(key: &str, values: &[Level], seen: &[Observation<'_>], palette: &mut Palette) -> Chart {
    let numbers: Option<Vec<f64>> = values.iter().map(|v| v.number).collect();
    let scale = match &numbers {
        Some(x) if x[0] > 0.0 && x[x.len() - 1] >= 10.0 * x[0] => AxisScale::Log,
        Some(_) => AxisScale::Linear,
        None => names(values),
    };
    let place = |value: &Level| match (value.number, &scale) {
        (Some(x), AxisScale::Linear | AxisScale::Log) => x,
        _ => values.iter().position(|v| v == value).unwrap_or(0) as f64,
    };
    let ends = [place(&values[0]), place(&values[values.len() - 1])];
    // A power of the horizon is a straight line where both axes are logarithmic.
    let log = key == ROUNDS && scale == AxisScale::Log && seen.iter().all(|o| o.row.regret.mean > 0.0);
    let shown: Vec<&Observation<'_>> =
        seen.iter().filter(|o| o.at.value(key).is_some() || o.at.learner.swept.is_empty()).collect();
    let world = |o: &Observation<'_>| o.at.environment.without(&[key]);
    let who = |o: &Observation<'_>| o.at.learner.without(&[key]);
    let panels = distinct(shown.iter().map(|o| world(o))).into_iter().map(|environment| {
        let here: Vec<&&Observation<'_>> = shown.iter().filter(|o| world(o) == environment).collect();
        let series = distinct(here.iter().map(|o| who(o))).into_iter().map(|name| {
            // A learner that nothing was swept in has the colour that it has elsewhere.
            let plain = here.iter().find(|o| o.row.label == name);
            let style = match plain {
                Some(o) => style_of(o.row, palette),
                None => palette.style(&format!("sweep {name}")),
            };
            let mut points: Vec<Point> = Vec::new();
            for o in here.iter().filter(|o| who(o) == name) {
                let half = o.row.regret.half_width(o.row.seeds);
                let y = o.row.regret.mean;
                let at = |x: f64| Point { x, y, low: y - half, high: y + half };
                match o.at.value(key) {
                    Some(value) => points.push(at(place(value))),
                    None => points.extend(ends.map(at)),
                }
            }
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            let dots = points.iter().map(|p| (p.x, p.y)).collect();
            Series { name, style, mark: Mark::Line, points, dots }
        });
        Panel { series: series.collect(), name: environment }
    });
    let mut panels: Vec<Panel> = panels.collect();
    if let [one] = panels.as_mut_slice() {
        one.name.clear();
    }
    let caption = "Mean over seeds at the end of each run; the band is its 95% interval.";
    let axis = Axis::new("pseudo-regret", if log { AxisScale::Log } else { AxisScale::Linear });
    Chart::new(&format!("Regret against {key}"), caption, Axis::new(key, scale), axis, panels)
}

/// Regret by two keys, as tiles: a panel for each learner and environment that have both.
fn tiles(first: &(&str, Vec<Level>), second: &(&str, Vec<Level>), seen: &[Observation<'_>]) -> Chart {
    let axes = [first.0, second.0];
    let both: Vec<&Observation<'_>> =
        seen.iter().filter(|o| axes.iter().all(|a| o.at.value(a).is_some())).collect();
    let name =
        |o: &Observation<'_>| format!("{}, {}", o.at.learner.without(&axes), o.at.environment.without(&axes));
    let at = |o: &Observation<'_>, axis: &(&str, Vec<Level>)| {
        axis.1.iter().position(|v| o.at.value(axis.0) == Some(v)).unwrap_or(0) as f64
    };
    let panels = distinct(both.iter().map(|o| name(o)))
        .into_iter()
        .map(|panel| {
            let own = both.iter().filter(|o| name(o) == panel);
            let value = |o: &Observation<'_>| o.row.regret.mean;
            let points =
                own.map(|o| Point { x: at(o, first), y: at(o, second), low: value(o), high: value(o) });
            let series = Series { mark: Mark::Tile, ..Series::line(&panel, Style::Ink, points.collect()) };
            Panel { name: panel, series: vec![series] }
        })
        .collect();
    let title = format!("Regret by {} and {}", axes[0], axes[1]);
    let (x, y) = (Axis::new(axes[0], names(&first.1)), Axis::new(axes[1], names(&second.1)));
    Chart::new(&title, "Mean over seeds; darker is more.", x, y, panels)
}
