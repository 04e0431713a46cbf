//! Charts as SVG that follows the page's colours: light, dark or printed.

use maud::{Markup, PreEscaped, html};

const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 280.0;
const LEFT: f64 = 54.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 40.0;

/// How many colours the style sheet has; beyond them colours repeat with another dash.
pub const COLOURS: usize = 8;

/// Linear or logarithmic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Equal steps.
    Linear,
    /// Equal ratios; values that are not positive are left out.
    Log,
}

/// One axis.
#[derive(Debug, Clone)]
pub struct Axis {
    /// What it shows, with its unit.
    pub title: String,
    /// Its scale.
    pub scale: Scale,
}

/// A line, with an optional band around it.
#[derive(Debug, Clone)]
pub struct Line {
    /// Which colour and dash.
    pub style: usize,
    /// (x, y), x rising.
    pub points: Vec<(f64, f64)>,
    /// (x, low, high), x rising.
    pub band: Vec<(f64, f64, f64)>,
    /// Points to be marked.
    pub marks: Vec<(f64, f64)>,
    /// Whether the line moves in steps.
    pub steps: bool,
}

/// A stack of areas, each the height of one share.
#[derive(Debug, Clone)]
pub struct Stack {
    /// x per column.
    pub x: Vec<f64>,
    /// Shares per column, summing to 1.
    pub shares: Vec<Vec<f64>>,
}

/// Maps data to the drawing.
struct Frame {
    x: (f64, f64),
    y: (f64, f64),
    scales: (Scale, Scale),
}

impl Frame {
    fn new(x: &Axis, y: &Axis, points: impl Iterator<Item = (f64, f64)> + Clone) -> Option<Self> {
        let usable = |scale: Scale, v: f64| v.is_finite() && (scale == Scale::Linear || v > 0.0);
        let range = |scale: Scale, values: &mut dyn Iterator<Item = f64>| {
            let (lo, hi) = values
                .filter(|v| usable(scale, *v))
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), v| (lo.min(v), hi.max(v)));
            (lo <= hi).then(|| pad(scale, lo, hi))
        };
        let xs = range(x.scale, &mut points.clone().map(|p| p.0))?;
        let mut ys = range(y.scale, &mut points.map(|p| p.1))?;
        if y.scale == Scale::Linear && ys.0 > 0.0 {
            ys.0 = 0.0;
        }
        Some(Self { x: xs, y: ys, scales: (x.scale, y.scale) })
    }

    fn at(&self, (x, y): (f64, f64)) -> Option<(f64, f64)> {
        let place = |scale: Scale, v: f64, (lo, hi): (f64, f64)| match scale {
            Scale::Linear => Some((v - lo) / (hi - lo)),
            Scale::Log if v > 0.0 => Some((v / lo).ln() / (hi / lo).ln()),
            Scale::Log => None,
        };
        let fx = place(self.scales.0, x, self.x)?.clamp(0.0, 1.0);
        let fy = place(self.scales.1, y, self.y)?.clamp(0.0, 1.0);
        (fx.is_finite() && fy.is_finite())
            .then_some((LEFT + fx * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - fy * (HEIGHT - TOP - BOTTOM)))
    }
}

fn pad(scale: Scale, lo: f64, hi: f64) -> (f64, f64) {
    match scale {
        _ if hi > lo => (lo, hi),
        Scale::Linear => (lo - 0.5, hi + 0.5),
        Scale::Log => (lo / 2.0, hi * 2.0),
    }
}

/// A chart of lines. `None` when there is nothing to draw.
pub fn lines(title: &str, x: &Axis, y: &Axis, lines: &[Line]) -> Option<Markup> {
    let all = lines.iter().flat_map(|l| {
        l.points.iter().copied().chain(l.band.iter().flat_map(|&(x, lo, hi)| [(x, lo), (x, hi)]))
    });
    let frame = Frame::new(x, y, all)?;
    Some(drawing(
        title,
        &frame,
        x,
        y,
        &html! {
            @for line in lines {
                @if !line.band.is_empty() {
                    path class={ "band c" (line.style % COLOURS) } d=(band_path(&frame, &line.band)) {}
                }
            }
            @for line in lines {
                path class={ "line c" (line.style % COLOURS) " d" (line.style / COLOURS % 3) } d=(line_path(&frame, line)) {}
                @for (mx, my) in line.marks.iter().filter_map(|m| frame.at(*m)) {
                    circle class={ "mark c" (line.style % COLOURS) } cx=(short(mx)) cy=(short(my)) r="3" {}
                }
            }
        },
    ))
}

/// A chart of stacked shares. `None` when there is nothing to draw.
pub fn stack(title: &str, x: &Axis, y: &Axis, stack: &Stack) -> Option<Markup> {
    let corners = stack.x.iter().flat_map(|x| [(*x, 0.0), (*x, 1.0)]);
    let frame = Frame::new(x, y, corners)?;
    let bases = stack.shares.first()?.len();
    // Data may have ended before the last checkpoint.
    let columns = stack.x.len().min(stack.shares.len());
    let below = |column: usize, base: usize| stack.shares[column][..base].iter().sum::<f64>();
    Some(drawing(
        title,
        &frame,
        x,
        y,
        &html! {
            @for base in 0..bases {
                @let band: Vec<_> = (0..columns).map(|i| (stack.x[i], below(i, base), below(i, base + 1))).collect();
                path class={ "area c" (base % COLOURS) } d=(band_path(&frame, &band)) {}
            }
        },
    ))
}

fn drawing(title: &str, frame: &Frame, x: &Axis, y: &Axis, inside: &Markup) -> Markup {
    let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
    html! {
        svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label=(title) {
            @for t in ticks(frame.scales.1, frame.y) {
                @if let Some((_, py)) = frame.at((frame.x.0, t)) {
                    line class="grid" x1=(LEFT) x2=(right) y1=(short(py)) y2=(short(py)) {}
                    text class="tick" x=(LEFT - 6.0) y=(short(py + 4.0)) text-anchor="end" { (tick(t)) }
                }
            }
            @for t in ticks(frame.scales.0, frame.x) {
                @if let Some((px, _)) = frame.at((t, frame.y.0)) {
                    line class="grid" x1=(short(px)) x2=(short(px)) y1=(TOP) y2=(bottom) {}
                    text class="tick" x=(short(px)) y=(bottom + 15.0) text-anchor="middle" { (tick(t)) }
                }
            }
            (inside)
            line class="axis" x1=(LEFT) x2=(right) y1=(bottom) y2=(bottom) {}
            line class="axis" x1=(LEFT) x2=(LEFT) y1=(TOP) y2=(bottom) {}
            text class="title" x=((LEFT + right) / 2.0) y=(HEIGHT - 6.0) text-anchor="middle" { (x.title) }
            text class="title" transform={ "translate(12 " ((TOP + bottom) / 2.0) ") rotate(-90)" } text-anchor="middle" { (y.title) }
        }
    }
}

fn line_path(frame: &Frame, line: &Line) -> PreEscaped<String> {
    let mut d = String::new();
    let mut last_y = None;
    for (x, y) in line.points.iter().filter_map(|p| frame.at(*p)) {
        match last_y {
            None => d.push_str(&format!("M{} {}", short(x), short(y))),
            Some(_) if line.steps => d.push_str(&format!("H{}V{}", short(x), short(y))),
            Some(_) => d.push_str(&format!("L{} {}", short(x), short(y))),
        }
        last_y = Some(y);
    }
    PreEscaped(d)
}

fn band_path(frame: &Frame, band: &[(f64, f64, f64)]) -> PreEscaped<String> {
    let upper = band.iter().filter_map(|&(x, _, hi)| frame.at((x, hi)));
    let lower = band.iter().rev().filter_map(|&(x, lo, hi)| {
        // On a log scale a band may reach below zero: it then ends at the floor of the chart.
        let floor = if frame.scales.1 == Scale::Log { frame.y.0.min(hi) } else { lo };
        frame.at((x, if lo > 0.0 { lo } else { floor }))
    });
    let mut d = String::new();
    for (i, (x, y)) in upper.chain(lower).enumerate() {
        d.push_str(&format!("{}{} {}", if i == 0 { "M" } else { "L" }, short(x), short(y)));
    }
    d.push('Z');
    PreEscaped(d)
}

/// One decimal is a tenth of a pixel.
fn short(v: f64) -> String {
    let text = format!("{v:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// Round numbers inside a range: 1, 2 or 5 times a power of ten; on a log scale powers of ten.
fn ticks(scale: Scale, (lo, hi): (f64, f64)) -> Vec<f64> {
    match scale {
        Scale::Linear => {
            let rough = (hi - lo) / 5.0;
            let power = 10f64.powf(rough.log10().floor());
            let step =
                [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|s| *s >= rough).unwrap_or(rough);
            let first = (lo / step).ceil() as i64;
            let last = (hi / step).floor() as i64;
            (first..=last.min(first + 12)).map(|k| k as f64 * step).collect()
        }
        Scale::Log => {
            let (first, last) = (lo.log10().ceil() as i32, hi.log10().floor() as i32);
            let every = 1 + (last - first) / 6;
            let powers: Vec<f64> =
                (first..=last).step_by(every.max(1) as usize).map(|k| 10f64.powi(k)).collect();
            if powers.len() >= 2 {
                return powers;
            }
            // Less than two powers of ten: 1, 2, 5 inside; less than two of those: even steps.
            let from = lo.log10().floor() as i32;
            let between: Vec<f64> = (from..=last + 1)
                .flat_map(|k| [1.0, 2.0, 5.0].map(|m| m * 10f64.powi(k)))
                .filter(|t| (lo..=hi).contains(t))
                .collect();
            if between.len() >= 2 { between } else { ticks(Scale::Linear, (lo, hi)) }
        }
    }
}

fn tick(v: f64) -> String {
    let a = v.abs();
    match a {
        _ if a == 0.0 => "0".to_owned(),
        _ if !(1e-3..1e6).contains(&a) => format!("{v:.0e}"),
        _ if a >= 1e3 => format!("{}k", trim(v / 1e3)),
        _ => trim(v),
    }
}

fn trim(v: f64) -> String {
    let text = format!("{v:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(ticks(Scale::Linear, (0.0, 100.0)), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(ticks(Scale::Log, (1.0, 1000.0)), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(ticks(Scale::Log, (3.0, 30.0)), [5.0, 10.0, 20.0]);
        assert_eq!(ticks(Scale::Log, (6.0, 9.0)), [6.0, 7.0, 8.0, 9.0]);
        assert_eq!(tick(20_000.0), "20k");
        assert_eq!(tick(0.05), "0.05");
    }

    #[test]
    fn nothing_to_draw_is_no_chart() {
        let axis = |scale| Axis { title: "x".to_owned(), scale };
        let line = Line { style: 0, points: vec![(1.0, -1.0)], band: vec![], marks: vec![], steps: false };
        assert!(lines("t", &axis(Scale::Log), &axis(Scale::Log), &[line]).is_none());
    }
}
