//! From data to places: spans, ticks, and the area between the axes.

use super::{AxisScale, Chart, Mark};

/// Ends of axes keep away from where f64 ends, so that ticks, steps and their labels are numbers too. What is beyond is
/// drawn at the edge.
const LARGEST: f64 = 1e300;
/// The shortest linear axis, and the first value of a logarithmic one.
const LEAST: f64 = 1e-300;

/// The values that an axis covers.
#[derive(Debug, Clone)]
pub struct Span {
    /// At its beginning.
    pub lo: f64,
    /// At its end.
    pub hi: f64,
    /// How it maps.
    pub scale: AxisScale,
    /// The distance of its ticks, where it was rounded to them.
    pub step: Option<f64>,
}

impl Span {
    /// Covers `values`; `None` where none can be shown.
    pub fn of(scale: &AxisScale, values: impl Iterator<Item = f64>) -> Option<Self> {
        let shown = |v: &f64| v.is_finite() && (*scale != AxisScale::Log || *v > 0.0);
        let (lo, hi) = values
            .filter(shown)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), v| (lo.min(v), hi.max(v)));
        if lo > hi {
            return None;
        }
        let (lo, hi) = match scale {
            AxisScale::Names(names) => (-0.5, names.len() as f64 - 0.5),
            AxisScale::Linear => {
                let (lo, hi) = (lo.clamp(-LARGEST, 0.0), hi.clamp(0.0, LARGEST));
                if hi - lo >= LEAST { (lo, hi) } else { (-0.5, 0.5) }
            }
            AxisScale::Log => two_powers(lo.clamp(LEAST, LARGEST), hi.clamp(LEAST, LARGEST)),
        };
        Some(Self { lo, hi, scale: scale.clone(), step: None })
    }

    /// The same, with ticks at its ends, where a linear axis grows by less than a fifth for that.
    pub fn rounded(mut self, most: usize) -> Self {
        if self.scale == AxisScale::Linear {
            let (long, step) = (self.hi - self.lo, step((self.hi - self.lo) / most as f64));
            let (below, above) =
                ((self.lo / step + 1e-9).floor() * step, (self.hi / step - 1e-9).ceil() * step);
            self.lo = if self.lo - below < 0.2 * long { below } else { self.lo };
            self.hi = if above - self.hi < 0.2 * long { above } else { self.hi };
            self.step = Some(step);
        }
        self
    }

    /// The share of the axis at which `v` is, in [0, 1].
    pub fn place(&self, v: f64) -> Option<f64> {
        if !v.is_finite() || (self.scale == AxisScale::Log && v <= 0.0) {
            return None;
        }
        let v = v.max(self.lo).min(self.hi);
        let share = match self.scale {
            AxisScale::Linear | AxisScale::Names(_) => (v - self.lo) / (self.hi - self.lo),
            // Not the logarithm of a ratio: 1e300/1e-300 is no number.
            AxisScale::Log => (v.ln() - self.lo.ln()) / (self.hi.ln() - self.lo.ln()),
        };
        share.is_finite().then_some(share.clamp(0.0, 1.0))
    }

    /// Round values at even distances, at most about `most` of them, with their labels.
    pub fn ticks(&self, most: usize) -> Vec<(f64, String)> {
        match &self.scale {
            AxisScale::Names(names) => names.iter().enumerate().map(|(i, n)| (i as f64, n.clone())).collect(),
            AxisScale::Linear => {
                let step = self.step.unwrap_or_else(|| step((self.hi - self.lo) / most as f64));
                let (first, last) =
                    ((self.lo / step - 1e-9).ceil() as i64, (self.hi / step + 1e-9).floor() as i64);
                let largest = self.lo.abs().max(self.hi.abs());
                (first..=last).map(|k| k as f64 * step).map(|v| (v, linear_label(v, step, largest))).collect()
            }
            AxisScale::Log => {
                // A power of ten that is met up to rounding is inside.
                let first = (self.lo.log10() - 1e-9).ceil() as i32;
                let last = (self.hi.log10() + 1e-9).floor() as i32;
                let every = 1 + (last - first).max(0) as usize / most;
                (first..=last).step_by(every).map(|k| (10f64.powi(k), power_label(k))).collect()
            }
        }
    }

    /// On a log scale the 2 to 9 times between powers of ten, where these are few.
    pub fn between(&self) -> Vec<f64> {
        if self.scale != AxisScale::Log || self.hi / self.lo > 1e4 {
            return Vec::new();
        }
        let (first, last) = (self.lo.log10().floor() as i32, self.hi.log10().ceil() as i32);
        (first..=last)
            .flat_map(|k| (2..=9).map(move |m| f64::from(m) * 10f64.powi(k)))
            .filter(|v| (self.lo..=self.hi).contains(v))
            .collect()
    }
}

/// A range with two powers of ten in it, so that its ticks show what its scale is.
fn two_powers(lo: f64, hi: f64) -> (f64, f64) {
    let (below, above) = (10f64.powf(lo.log10().floor()), 10f64.powf(hi.log10().ceil()));
    let inside = hi.log10().floor() - lo.log10().ceil();
    match inside {
        _ if below == above => (lo / 10.0, hi * 10.0),
        i if i >= 1.0 => (lo, hi),
        // One power is inside: the nearer end goes out to the next.
        i if i == 0.0 && lo / below < above / hi => (below, hi),
        0.0 => (lo, above),
        _ => (below, above),
    }
}

/// 1, 2 or 5 times a power of ten, at least `rough`.
fn step(rough: f64) -> f64 {
    let power = 10f64.powf(rough.log10().floor());
    [1.0, 2.0, 5.0]
        .map(|m| m * power)
        .into_iter()
        .find(|s| *s >= rough * (1.0 - 1e-9))
        .unwrap_or(10.0 * power)
}

/// All labels of an axis have the same unit and the same decimals.
fn linear_label(v: f64, step: f64, largest: f64) -> String {
    let (unit, name) = match largest {
        l if l >= 1e7 => (1e6, "M"),
        l if l >= 1e4 => (1e3, "k"),
        _ => (1.0, ""),
    };
    if v == 0.0 {
        return "0".to_owned();
    }
    if largest >= 1e13 || step < 1e-6 {
        // As many digits as tell one tick from the next.
        let digits = (v.abs().log10().floor() - step.log10().floor()).clamp(0.0, 6.0) as usize;
        return format!("{v:.digits$e}");
    }
    let decimals = (-(step / unit).log10().floor()).clamp(0.0, 6.0) as usize;
    format!("{:.decimals$}{name}", v / unit)
}

fn power_label(power: i32) -> String {
    match power {
        0..=3 => format!("{}", 10i64.pow(power as u32)),
        4..=5 => format!("{}k", 10i64.pow(power as u32 - 3)),
        6..=8 => format!("{}M", 10i64.pow(power as u32 - 6)),
        -4..=-1 => format!("{:.*}", power.unsigned_abs() as usize, 10f64.powi(power)),
        _ => format!("1e{power}"),
    }
}

/// The values of both axes, and the area between them in the drawing.
#[derive(Debug, Clone)]
pub struct Frame {
    /// Along.
    pub x: Span,
    /// Up.
    pub y: Span,
    /// Left edge.
    pub left: f64,
    /// Upper edge.
    pub top: f64,
    /// From left to right.
    pub width: f64,
    /// From top to bottom.
    pub height: f64,
}

impl Frame {
    /// The spans of a chart: every series of every panel fits. `None` when there is nothing to draw.
    pub fn spans(chart: &Chart) -> Option<(Span, Span)> {
        let along = |whisker: bool| {
            chart.series().flat_map(move |s| {
                let wide = (s.mark == Mark::Whisker) == whisker && s.mark != Mark::Tile;
                s.points.iter().flat_map(move |p| if wide { [p.low, p.high] } else { [f64::NAN; 2] })
            })
        };
        let points = chart.series().flat_map(|s| &s.points);
        let x = Span::of(&chart.x.scale, points.clone().map(|p| p.x).chain(along(true)))?;
        let y = Span::of(&chart.y.scale, points.map(|p| p.y).chain(along(false)))?;
        Some((x, y))
    }

    /// Where a point is drawn; at the edge where it is outside.
    pub fn at(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        let (fx, fy) = (self.x.place(x)?, self.y.place(y)?);
        Some((self.left + fx * self.width, self.top + (1.0 - fy) * self.height))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(scale: AxisScale, values: &[f64]) -> Span {
        Span::of(&scale, values.iter().copied()).unwrap()
    }

    fn labels(scale: AxisScale, values: &[f64], most: usize) -> Vec<String> {
        span(scale, values).ticks(most).into_iter().map(|t| t.1).collect()
    }

    #[test]
    fn ticks_are_round_even_and_inside() {
        assert_eq!(labels(AxisScale::Linear, &[1.0, 100.0], 5), ["0", "20", "40", "60", "80", "100"]);
        assert_eq!(labels(AxisScale::Linear, &[1.0, 20_000.0], 5), ["0", "5k", "10k", "15k", "20k"]);
        assert_eq!(labels(AxisScale::Linear, &[-137.0, 2400.0], 3), ["0", "1000", "2000"]);
        assert_eq!(labels(AxisScale::Linear, &[0.0, 0.3], 3), ["0", "0.1", "0.2", "0.3"]);
        assert_eq!(labels(AxisScale::Linear, &[0.0, 1.0], 3), ["0", "0.5", "1.0"]);
        assert_eq!(labels(AxisScale::Log, &[1.0, 20_000.0], 6), ["1", "10", "100", "1000", "10k"]);
        assert_eq!(labels(AxisScale::Log, &[0.002, 3e9], 6).len(), 6);
        assert_eq!(
            labels(AxisScale::Linear, &[0.0, 2.5e-9], 5),
            ["0", "5e-10", "1.0e-9", "1.5e-9", "2.0e-9", "2.5e-9"]
        );
        assert_eq!(labels(AxisScale::Linear, &[f64::MAX], 3), ["0", "5e299", "1.0e300"]);
        for (lo, hi) in [(6.0, 9.0), (3.0, 30.0), (30.0, 300.0), (1.0, 1.0), (0.5, 2.0), (99.0, 101.0)] {
            let span = span(AxisScale::Log, &[lo, hi]);
            assert!(span.lo <= lo && span.hi >= hi && span.ticks(6).len() >= 2, "{lo} to {hi}: {span:?}");
        }
    }

    #[test]
    fn a_rounded_axis_begins_and_ends_at_ticks() {
        for (values, most, ends, ticks) in [
            (&[0.0, 0.99][..], 5, (0.0, 1.0), (0.0, 1.0)),
            (&[0.0, 145.0], 3, (0.0, 150.0), (0.0, 150.0)),
            (&[-20.0, 145.0], 3, (-20.0, 145.0), (0.0, 100.0)),
            (&[0.0, 150.0], 5, (0.0, 150.0), (0.0, 150.0)),
            // Half of the axis would be empty.
            (&[0.0, 202.0], 3, (0.0, 202.0), (0.0, 200.0)),
        ] {
            let span = span(AxisScale::Linear, values).rounded(most);
            assert_eq!((span.lo, span.hi), ends, "{values:?}");
            let found = span.ticks(most);
            assert_eq!((found[0].0, found[found.len() - 1].0), ticks, "{values:?}");
        }
        let log = span(AxisScale::Log, &[2.0, 700.0]);
        assert_eq!(log.clone().rounded(5).hi, log.hi);
    }

    #[test]
    fn an_axis_keeps_away_from_where_numbers_end() {
        let tiny = span(AxisScale::Linear, &[5e-324]);
        assert_eq!((tiny.lo, tiny.hi, tiny.place(5e-324)), (-0.5, 0.5, Some(0.5)));
        let wide = span(AxisScale::Linear, &[f64::MIN, f64::MAX]).rounded(5);
        assert_eq!(
            (wide.place(f64::MIN), wide.place(0.0), wide.place(f64::MAX)),
            (Some(0.0), Some(0.5), Some(1.0))
        );
        let log = span(AxisScale::Log, &[5e-324, f64::MAX]);
        assert_eq!((log.place(5e-324), log.place(f64::MAX)), (Some(0.0), Some(1.0)));
        assert!((log.place(1.0).unwrap() - 0.5).abs() < 1e-12 && log.ticks(6).len() >= 2);
        assert_eq!((log.place(0.0), log.place(f64::NAN), log.place(f64::INFINITY)), (None, None, None));
    }

    #[test]
    fn nothing_to_show_has_no_span() {
        assert!(Span::of(&AxisScale::Log, [-1.0, 0.0, f64::NAN].into_iter()).is_none());
        let flat = span(AxisScale::Linear, &[0.0]);
        assert_eq!((flat.lo, flat.hi), (-0.5, 0.5));
        assert!(Span::of(&AxisScale::Linear, [f64::INFINITY, f64::NAN].into_iter()).is_none());
        assert_eq!(span(AxisScale::Linear, &[3.0]).place(3.0), Some(1.0));
    }
}
