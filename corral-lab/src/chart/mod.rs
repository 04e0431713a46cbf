//! Charts: what they show (here), where it goes ([`frame`]), and how it is drawn: as SVG for the page and for paper
//! ([`svg`]), or as Vega-Lite for those who restyle ([`vega`]). Reports and `corral plot` share them.

pub mod frame;
mod line;
pub mod paper;
pub mod svg;
pub mod vega;

use std::collections::{BTreeSet, HashSet};

use crate::choice::Choice;
use crate::summary::quoted;

/// How an axis maps values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AxisScale {
    /// Equal steps; begins at 0 or below.
    Linear,
    /// Equal ratios; values that are not positive are left out.
    Log,
    /// One place for each name, at 0, 1, 2 and so on.
    Names(Vec<String>),
}

/// What can be asked for.
impl Choice for AxisScale {
    const ALL: &[(Self, &str, &str)] =
        &[(Self::Linear, "linear", "Equal steps"), (Self::Log, "log", "Equal ratios, both axes")];
}

/// One axis.
#[derive(Debug, Clone)]
pub struct Axis {
    /// What it shows, with its unit.
    pub title: String,
    /// Its scale.
    pub scale: AxisScale,
}

impl Axis {
    /// An axis.
    pub fn new(title: &str, scale: AxisScale) -> Self {
        Self { title: title.to_owned(), scale }
    }

    /// Its title, with its scale where that is logarithmic.
    pub fn name(&self) -> String {
        match self.scale {
            AxisScale::Log => format!("{}, log scale", self.title),
            AxisScale::Linear | AxisScale::Names(_) => self.title.clone(),
        }
    }
}

/// The colour and the dash of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// A colour of its own on the page.
    Own(usize),
    /// Black on white: what a panel is about.
    Ink,
    /// Grey: for comparison.
    Context,
}

impl Style {
    /// The number of a colour of its own.
    pub fn own(self) -> Option<usize> {
        if let Self::Own(i) = self { Some(i) } else { None }
    }

    /// Its class in a drawing.
    pub fn class(self) -> String {
        match self {
            Self::Own(i) => format!("s{i}"),
            Self::Ink => "ink".to_owned(),
            Self::Context => "ctx".to_owned(),
        }
    }
}

/// How points are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// A line, and a band between low and high.
    Line,
    /// A line that moves in steps.
    Steps,
    /// A dot, and a line from low to high along x.
    Whisker,
    /// A tile whose shade and number are `low`.
    Tile,
}

/// A point, and how far it is sure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Along.
    pub x: f64,
    /// Up.
    pub y: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Point {
    /// Without an interval.
    pub fn new(x: f64, y: f64) -> Self {
        Self { x, y, low: y, high: y }
    }
}

/// One line, or one set of marks.
#[derive(Debug, Clone)]
pub struct Series {
    /// What it is of.
    pub name: String,
    /// Its colour and dash.
    pub style: Style,
    /// How it is drawn.
    pub mark: Mark,
    /// Its points, x rising.
    pub points: Vec<Point>,
    /// Places on it that are dotted.
    pub dots: Vec<(f64, f64)>,
}

impl Series {
    /// A line through points.
    pub fn line(name: &str, style: Style, points: Vec<Point>) -> Self {
        Self { name: name.to_owned(), style, mark: Mark::Line, points, dots: Vec::new() }
    }
}

/// One drawing area.
#[derive(Debug, Clone)]
pub struct Panel {
    /// What it is of; empty where there is one panel.
    pub name: String,
    /// What is drawn in it.
    pub series: Vec<Series>,
}

/// A chart: one panel, or several small ones with the same axes.
#[derive(Debug, Clone)]
pub struct Chart {
    /// Its heading.
    pub title: String,
    /// What to know when reading it.
    pub caption: String,
    /// Along.
    pub x: Axis,
    /// Up.
    pub y: Axis,
    /// The panels.
    pub panels: Vec<Panel>,
    /// Drawn in grey in every panel.
    pub context: Vec<Series>,
}

impl Panel {
    /// The only panel of a chart, which needs no name.
    pub fn only(series: Vec<Series>) -> Self {
        Self { name: String::new(), series }
    }
}

impl Chart {
    /// Panels without anything behind them.
    pub fn new(title: &str, caption: &str, x: Axis, y: Axis, panels: Vec<Panel>) -> Self {
        Self { title: title.to_owned(), caption: caption.to_owned(), x, y, panels, context: Vec::new() }
    }

    /// What [`rename`](Self::rename) can find.
    pub fn names(&self) -> BTreeSet<String> {
        let panels = self.panels.iter().map(|p| &p.name).filter(|name| !name.is_empty());
        let axes = [&self.x.scale, &self.y.scale].into_iter().filter_map(|scale| match scale {
            AxisScale::Names(names) => Some(names),
            _ => None,
        });
        self.series().map(|s| &s.name).chain(panels).chain(axes.flatten()).cloned().collect()
    }

    /// Calls lines, panels and names on the axes that are called `label` by another name; whether there was one.
    pub fn rename(&mut self, label: &str, name: &str) -> bool {
        let mut found = false;
        let axes = [&mut self.x.scale, &mut self.y.scale].into_iter().filter_map(|scale| match scale {
            AxisScale::Names(names) => Some(names),
            _ => None,
        });
        let panels = self.panels.iter_mut().flat_map(|panel| {
            panel.series.iter_mut().map(|s| &mut s.name).chain(std::iter::once(&mut panel.name))
        });
        let lines = self.context.iter_mut().map(|s| &mut s.name).chain(panels);
        for own in lines.chain(axes.flatten()).filter(|own| *own == label) {
            name.clone_into(own);
            found = true;
        }
        found
    }

    /// What a logarithmic axis has no place for, by line: values that are not above 0.
    pub fn left_out(&self) -> Option<String> {
        const NAMED: usize = 6;
        let beyond = |axis: &Axis, v: f64| axis.scale == AxisScale::Log && !(v > 0.0);
        let count =
            |s: &Series| s.points.iter().filter(|p| beyond(&self.x, p.x) || beyond(&self.y, p.y)).count();
        let lines = self.drawn().map(|s| (s, count(s))).filter(|(_, out)| *out > 0);
        let mut words: Vec<String> = lines
            .map(|(s, out)| format!("{out} of the {} points of {}", s.points.len(), quoted(&s.name)))
            .collect();
        if words.len() > NAMED {
            let more = words.len() - NAMED;
            words.truncate(NAMED);
            words.push(format!("and of {more} more"));
        }
        (!words.is_empty())
            .then(|| format!("Not above 0, and so left out of a logarithmic axis: {}.", words.join(", ")))
    }

    /// Whether it is a map.
    pub fn tiled(&self) -> bool {
        self.series().any(|s| s.mark == Mark::Tile)
    }

    /// Every series, those of the context once.
    pub fn series(&self) -> impl Iterator<Item = &Series> + Clone {
        self.context.iter().chain(self.drawn())
    }

    /// Those of the panels.
    pub fn drawn(&self) -> impl Iterator<Item = &Series> + Clone {
        self.panels.iter().flat_map(|p| &p.series)
    }
}

/// The first series of each name.
pub fn by_name<'a>(series: impl Iterator<Item = &'a Series>) -> Vec<&'a Series> {
    let mut seen = HashSet::new();
    series.filter(|s| seen.insert(&s.name)).collect()
}

/// The colours of a page, light and dark. Beyond them they come again with another dash.
pub const COLOURS: [(&str, &str); 8] = [
    ("#0072b2", "#4ba3e3"),
    ("#d55e00", "#ff8c42"),
    ("#00875f", "#2fc79a"),
    ("#b5488b", "#e59ac4"),
    ("#8f6a00", "#e6b800"),
    ("#6a3d9a", "#b58ae0"),
    ("#1b93c9", "#8fd0f7"),
    ("#7a1f1f", "#ff9d8f"),
];

/// The dashes of lines.
pub const DASHES: [&str; 4] = ["none", "7 3", "2 3", "8 3 2 3"];

/// Gives every name of a page a style of its own: one colour, one meaning.
#[derive(Debug, Default)]
pub struct Palette(Vec<String>);

impl Palette {
    /// The style of a name, the same one whenever it is asked for.
    pub fn style(&mut self, name: &str) -> Style {
        let at = self.0.iter().position(|n| n == name).unwrap_or_else(|| {
            self.0.push(name.to_owned());
            self.0.len() - 1
        });
        Style::Own(at)
    }

    /// How many styles were given.
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logarithmic_axis_says_what_it_leaves_out() {
        let line = |name: &str, values: &[f64]| {
            let points = values.iter().enumerate().map(|(i, y)| Point::new(i as f64 + 1.0, *y)).collect();
            Series::line(name, Style::Ink, points)
        };
        let chart = |scale: AxisScale| {
            let panels =
                vec![Panel::only(vec![line("a", &[1.0, -2.0, 0.0, f64::NAN]), line("b", &[1.0, 2.0])])];
            Chart::new("t", "", Axis::new("x", AxisScale::Linear), Axis::new("y", scale), panels)
        };
        assert_eq!(chart(AxisScale::Linear).left_out(), None);
        let said = chart(AxisScale::Log).left_out().unwrap();
        assert_eq!(said, "Not above 0, and so left out of a logarithmic axis: 3 of the 4 points of a.");
    }
}
