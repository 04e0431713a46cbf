//! The lines of a chart as paths: few points, short numbers.

use maud::PreEscaped;

use super::frame::Frame;
use super::{AxisScale, Point};

/// How far from its line a point of a curve may be left out, in pixels of the drawing.
const STRAIGHT: f64 = 0.4;

/// The points that can be told from each other, and where they are. Steps keep every change.
pub(super) fn thinned(frame: &Frame, points: &[Point], steps: bool, nearest: f64) -> Vec<(Point, f64, f64)> {
    let placed: Vec<(Point, f64, f64)> =
        points.iter().filter_map(|p| frame.at(p.x, p.y).map(|(x, y)| (*p, x, y))).collect();
    let mut out: Vec<(Point, f64, f64)> = Vec::new();
    for (i, p) in placed.iter().enumerate() {
        let keep = match out.last() {
            _ if i + 1 == placed.len() => true,
            None => true,
            Some(last) if steps => (p.2 - last.2).abs() >= 0.05,
            Some(last) => p.1 - last.1 >= nearest,
        };
        if keep {
            out.push(*p);
        }
    }
    if steps { out } else { straightened(frame, &out) }
}

/// The same without points that the line between their neighbours passes, and so do the edges of its band.
fn straightened(frame: &Frame, points: &[(Point, f64, f64)]) -> Vec<(Point, f64, f64)> {
    // A place that cannot be drawn is NaN, and never passed.
    let height = |p: &Point, y: f64| frame.at(p.x, y).map_or(f64::NAN, |(_, y)| y);
    let heights = |(p, _, y): &(Point, f64, f64)| [*y, height(p, p.low), height(p, p.high)];
    let passed = |from: usize, to: usize| {
        let ((a, b), (start, end)) =
            ((heights(&points[from]), heights(&points[to])), (points[from].1, points[to].1));
        points[from + 1..to].iter().all(|p| {
            let share = (p.1 - start) / (end - start);
            let own = heights(p);
            (0..3).all(|i| (a[i] + share * (b[i] - a[i]) - own[i]).abs() <= STRAIGHT)
        })
    };
    let mut out: Vec<(Point, f64, f64)> = points.first().copied().into_iter().collect();
    let mut from = 0;
    while from + 1 < points.len() {
        let to = (from + 2..points.len()).take_while(|to| passed(from, *to)).last().unwrap_or(from + 1);
        out.push(points[to]);
        from = to;
    }
    out
}

pub(super) fn line_path(points: &[(Point, f64, f64)], steps: bool) -> PreEscaped<String> {
    let corner = |(i, p): (usize, &(Point, f64, f64))| {
        // A step is level up to the new place, and then goes there.
        let before = if steps && i > 0 { Some((p.1, points[i - 1].2)) } else { None };
        before.into_iter().chain([(p.1, p.2)])
    };
    PreEscaped(path(points.iter().enumerate().flat_map(corner)))
}

pub(super) fn band_path(frame: &Frame, points: &[(Point, f64, f64)]) -> PreEscaped<String> {
    // On a log scale a band may reach below zero: it then ends at the floor of the chart.
    let edge =
        |x: f64, v: f64| frame.at(x, if frame.y.scale == AxisScale::Log { v.max(frame.y.lo) } else { v });
    let upper = points.iter().filter_map(|(p, ..)| edge(p.x, p.high));
    let lower = points.iter().rev().filter_map(|(p, ..)| edge(p.x, p.low));
    PreEscaped(path(upper.chain(lower)) + "z")
}

/// A path through places: the first one, and how far it is from each to the next, in tenths of a pixel.
fn path(places: impl Iterator<Item = (f64, f64)>) -> String {
    let mut d = String::new();
    let (mut x, mut y) = (0, 0);
    for (px, py) in places {
        let (to_x, to_y) = ((10.0 * px).round() as i64, (10.0 * py).round() as i64);
        d += match d.len() {
            0 => "M",
            _ if d.contains('l') => "",
            _ => "l",
        };
        for tenths in [to_x - x, to_y - y] {
            let (whole, rest) = (tenths.abs() / 10, tenths.abs() % 10);
            // A sign separates numbers as a space does.
            d += match tenths {
                t if t < 0 => "-",
                _ if d.ends_with(['M', 'l']) => "",
                _ => " ",
            };
            d += &match (whole, rest) {
                (whole, 0) => format!("{whole}"),
                (0, rest) => format!(".{rest}"),
                (whole, rest) => format!("{whole}.{rest}"),
            };
        }
        (x, y) = (to_x, to_y);
    }
    d
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::frame::Span;

    #[test]
    fn a_path_says_how_far_the_next_place_is() {
        let places = [(10.0, 20.04), (10.5, 19.96), (12.0, 18.0), (12.0, 18.3)];
        assert_eq!(path(places.into_iter()), "M10 20l.5 0 1.5-2 0 .3");
        assert_eq!(path([(-0.5, 3.0)].into_iter()), "M-.5 3");
    }

    #[test]
    fn what_a_line_passes_is_left_out_and_a_corner_is_not() {
        let span = |hi| Span { lo: 0.0, hi, scale: AxisScale::Linear, step: None };
        let frame =
            Frame { x: span(100.0), y: span(100.0), left: 0.0, top: 0.0, width: 100.0, height: 100.0 };
        let at = |x: f64, y: f64, wide: f64| Point { x, y, low: y - wide, high: y + wide };
        let corner = |x: f64| if x < 50.0 { x } else { 100.0 - x };
        let points: Vec<Point> = (0..=100).map(f64::from).map(|x| at(x, corner(x), 0.0)).collect();
        let kept = |points: &[Point]| -> Vec<f64> {
            thinned(&frame, points, false, 1.0).iter().map(|(p, ..)| p.x).collect()
        };
        assert_eq!(kept(&points), [0.0, 50.0, 100.0]);
        // So is what the edge of the band passes, and no other.
        let swollen: Vec<Point> =
            points.iter().map(|p| at(p.x, p.y, if p.x == 25.0 { 5.0 } else { 0.0 })).collect();
        assert_eq!(kept(&swollen), [0.0, 24.0, 25.0, 26.0, 50.0, 100.0]);
    }
}
