//! Charts as SVG: on a page, where the style sheet has the colours, and on paper, where the drawing has them itself.

use std::collections::BTreeSet;

use maud::{Markup, PreEscaped, html};

use super::frame::{Frame, Span};
use super::line::{band_path, line_path, thinned};
use super::{AxisScale, COLOURS, Chart, DASHES, Mark, Panel, Point, Series, Style, by_name};
use crate::choice::Choice;
use crate::harmless;

/// The size of a drawing area in pixels, 96 to the inch, and of its text.
#[derive(Debug, Clone, Copy)]
struct Look {
    width: f64,
    height: f64,
    font: f64,
    /// About how many ticks are along, and up.
    ticks: (usize, usize),
    /// Points nearer than this to the last one are not drawn.
    nearest: f64,
    /// Whether the axes' names stand in the drawing.
    names: bool,
}

impl Look {
    /// As tall as the chart needs it: a row for each name along y.
    fn fitting(self, chart: &Chart) -> Self {
        let AxisScale::Names(names) = &chart.y.scale else { return self };
        let height = (names.len() as f64 * self.font * 1.7 + self.font * 4.5).max(self.height / 2.0);
        Self { height, ..self }
    }
}

/// A chart of its own: on a phone it is drawn at least at this size, so that its text has 12 pixels.
const WHOLE: Look =
    Look { width: 320.0, height: 216.0, font: 12.0, ticks: (5, 5), nearest: 2.5, names: true };
/// One of several panels; two fit beside each other on a phone.
const SMALL: Look =
    Look { width: 160.0, height: 104.0, font: 12.0, ticks: (2, 3), nearest: 5.0, names: false };
/// The width of a character, in heights; digits of wide fonts have 0.64.
const CHARACTER: f64 = 0.64;

/// The chart on a page; `id` names it there, and `None` says that there is nothing to draw.
pub fn page(chart: &Chart, id: &str) -> Option<Markup> {
    let (x, y) = Frame::spans(chart)?;
    if let [panel] = chart.panels.as_slice() {
        let look = WHOLE.fitting(chart);
        let frame = frame(&look, x, y);
        return Some(html! {
            svg viewBox={ "0 0 " (look.width) " " (look.height) } role="img" aria-label=(chart.title) data-f=(data(&frame)) {
                (backdrop(chart, &frame, &WHOLE))
                (titles(chart, &frame, &WHOLE))
                @for s in chart.context.iter().chain(&panel.series) { (series(&frame, s, WHOLE.nearest, None)) }
            }
        });
    }
    let tiles = chart.tiled();
    // A map has names on both axes, and a number in each tile.
    let look = if tiles { Look { names: false, ..WHOLE } } else { SMALL };
    let look = look.fitting(chart);
    let frame = frame(&look, x, y);
    Some(html! {
        p class="axes" { (chart.y.name()) "; " (chart.x.name()) }
        // What is in every panel is drawn once.
        svg class="shared" width="0" height="0" aria-hidden="true" { defs { g id=(id) {
            (backdrop(chart, &frame, &look))
            @for s in &chart.context { (series(&frame, s, look.nearest, None)) }
        } } }
        div class=(if tiles { "panels wide" } else { "panels" }) data-f=(data(&frame)) {
            @for panel in &chart.panels {
                figure class="panel" {
                    figcaption { (panel.name) }
                    svg viewBox={ "0 0 " (look.width) " " (short(look.height)) } role="img"
                        aria-label={ (chart.title) ": " (panel.name) } {
                        use href={ "#" (id) } {}
                        @for s in &panel.series { (series(&frame, s, look.nearest, None)) }
                    }
                }
            }
        }
    })
}

/// How wide a figure for paper is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Columns {
    /// One column of a two-column page: 3.3 inches
    One,
    /// The whole width: 6.9 inches
    Two,
}

impl Choice for Columns {
    const ALL: &[(Self, &str, &str)] = &[
        (Self::One, "one", "One column of a two-column page: 3.3 inches"),
        (Self::Two, "two", "The whole width: 6.9 inches"),
    ];
}

/// What a figure for paper looks like.
#[derive(Debug, Clone, PartialEq)]
pub struct Sheet {
    /// Its width in inches.
    pub width: f64,
    /// Its height in inches; unset: as its panels and its legend need it.
    pub height: Option<f64>,
    /// A heading above it.
    pub title: Option<String>,
    /// The family of its font; unset: the reader's sans serif.
    pub font: Option<String>,
    /// The size of its font in points.
    pub points: f64,
}

impl From<Columns> for Sheet {
    fn from(columns: Columns) -> Self {
        let width = if columns == Columns::One { 3.3 } else { 6.9 };
        Self { width, height: None, title: None, font: None, points: 10.5 * 0.75 }
    }
}

/// The chart as a file of its own, with a legend; `None` when there is nothing to draw. Lines differ by dash and mark too,
/// so that a grey print can be read. Text is text.
pub fn paper(chart: &Chart, sheet: &Sheet) -> Option<String> {
    let (x, y) = Frame::spans(chart)?;
    let inches = sheet.width;
    let (across, tall) = if inches < 5.0 { (2, 2.1) } else { (4, 2.6) };
    // A map has a number in each tile, and takes twice the width.
    let across = if chart.tiled() { across / 2 } else { across };
    let (width, font) = (inches * 96.0, sheet.points / 0.75);
    let one = chart.panels.len() == 1;
    let across = if one { 1 } else { across.min(chart.panels.len()).max(1) };
    let down = chart.panels.len().div_ceil(across);
    let name = if one { 0.0 } else { font * 1.5 };
    let legend = legend(chart, width, font);
    // Panels share one line with the names of the axes, below all of them.
    let axes = if one { 0.0 } else { font * 1.6 };
    let heading = if sheet.title.is_some() { font * 1.8 } else { 0.0 };
    let around = heading + axes + legend.as_ref().map_or(0.0, |l| l.1);
    let given = sheet.height.map(|h| (h * 96.0 - around) / down as f64 - name);
    let whole = Look {
        width: width / across as f64,
        height: given.unwrap_or(tall * 96.0),
        font,
        ticks: (5, 5),
        nearest: 2.0,
        names: one,
    };
    let look = if one { whole } else { Look { height: given.unwrap_or(104.0), ticks: (3, 3), ..whole } };
    let look = look.fitting(chart);
    let frame = frame(&look, x, y);
    let below = name + look.height;
    let drawn = heading + below * down as f64 + axes;
    let total = below * down as f64 + around;
    // Where names do not fit, what all of them begin with is left out.
    let space = frame.width + 8.0;
    let long = chart.panels.iter().any(|p| fitting(&p.name, space, font) != p.name);
    let shared = if long { shared_start(chart.panels.iter().map(|p| p.name.as_str())) } else { 0 };
    let inside = |panel: &Panel| {
        html! { @for (i, s) in chart.context.iter().chain(&panel.series).enumerate() { (series(&frame, s, look.nearest, Some(i))) } }
    };
    let markup = html! {
        svg xmlns="http://www.w3.org/2000/svg" width={ (inches) "in" } height={ (short(total / 96.0)) "in" }
            viewBox={ "0 0 " (short(width)) " " (short(total)) } {
            title { (sheet.title.as_ref().unwrap_or(&chart.title)) }
            style { (PreEscaped(rules(chart, sheet))) }
            rect width="100%" height="100%" fill="#fff" {}
            @if let Some(title) = &sheet.title {
                text x=(short(width / 2.0)) y=(short(font * 1.3)) text-anchor="middle" { (fitting(title, width, font)) }
            }
            @for (i, panel) in chart.panels.iter().enumerate() {
                @let (column, row) = ((i % across) as f64, (i / across) as f64);
                g transform={ "translate(" (short(column * look.width)) " " (short(heading + row * below + name)) ")" } {
                    @if !one {
                        text x=(short(frame.left)) y=(short(-font * 0.3)) { (fitting(&panel.name[shared..], space, font)) }
                    }
                    (backdrop(chart, &frame, &look))
                    @if one { (titles(chart, &frame, &look)) }
                    (inside(panel))
                }
            }
            @if !one {
                text x=(short(width / 2.0)) y=(short(heading + below * down as f64 + font)) text-anchor="middle" {
                    (chart.y.name()) " against " (chart.x.name())
                }
            }
            @if let Some((legend, _)) = legend { g transform={ "translate(0 " (short(drawn)) ")" } { (legend) } }
        }
    };
    Some(harmless::markup(markup.into_string()))
}

/// The colours and dashes of a figure for paper.
fn rules(chart: &Chart, sheet: &Sheet) -> String {
    let font = sheet.points / 0.75;
    let family = sheet.font.as_ref().map_or(String::new(), |name| format!("'{name}',"));
    let mut out = format!(
        "text{{font-family:{family}Helvetica,Arial,'Liberation Sans','DejaVu Sans',sans-serif;font-size:{font}px;fill:#000}}\
         .grid{{stroke:#ddd;stroke-width:.6}}.axis{{stroke:#444;stroke-width:.8}}.line{{fill:none;stroke-width:1.4}}\
         .band{{opacity:.18;stroke:none}}.dot{{stroke:#fff;stroke-width:.5}}.tile{{fill:#0072b2}}\
         .line.ink{{stroke:#000}}.band.ink,.dot.ink{{fill:#000}}.line.ctx{{stroke:#aaa;stroke-width:.8}}.band.ctx,.dot.ctx{{fill:#aaa}}"
    );
    for i in chart.series().filter_map(|s| s.style.own()).collect::<BTreeSet<_>>() {
        let (colour, dash) = (COLOURS[i % COLOURS.len()].0, DASHES[i % DASHES.len()]);
        out += &format!(
            ".line.s{i}{{stroke:{colour};stroke-dasharray:{dash}}}.band.s{i},.dot.s{i}{{fill:{colour}}}"
        );
    }
    out
}

/// Names and samples of the lines, in rows; and how tall that is.
fn legend(chart: &Chart, width: f64, font: f64) -> Option<(Markup, f64)> {
    let line = |s: &&Series| matches!((s.style, s.mark), (Style::Own(_), Mark::Line | Mark::Steps));
    let shown = by_name(chart.drawn().filter(line));
    if shown.len() < 2 {
        return None;
    }
    let (mut x, mut y, line) = (6.0, font * 1.2, font * 1.5);
    let mut rows = Vec::new();
    for s in shown {
        let wide = 30.0 + s.name.chars().count() as f64 * font * 0.56 + 10.0;
        if x > 6.0 && x + wide > width {
            (x, y) = (6.0, y + line);
        }
        rows.push((s, x, y));
        x += wide;
    }
    let markup = html! {
        @for (s, x, y) in &rows {
            @let middle = y - font * 0.35;
            path class={ "line " (s.style.class()) } d={ "M" (short(*x)) " " (short(middle)) "h24" } {}
            (shape(s.style, x + 12.0, middle))
            text x=(short(x + 29.0)) y=(short(*y)) { (fitting(&s.name, width - x - 32.0, font)) }
        }
    };
    Some((markup, y + font * 0.6))
}

fn frame(look: &Look, x: Span, y: Span) -> Frame {
    // Where the axis up has names, it is the other one that has the values.
    let (x, y) = if matches!(y.scale, AxisScale::Names(_)) {
        (x.rounded(look.ticks.0), y)
    } else {
        (x, y.rounded(look.ticks.1))
    };
    let wide = |text: &str| text.chars().count() as f64 * look.font * CHARACTER;
    let widest = |ticks: Vec<(f64, String)>| ticks.iter().map(|t| wide(&t.1)).fold(0.0, f64::max);
    // Names may take half of the width, and are cut there.
    let left = (widest(y.ticks(look.ticks.1)) + 8.0).min(look.width / 2.0);
    let right = (widest(x.ticks(look.ticks.0)) / 2.0).clamp(4.0, 20.0);
    let top = if look.names { look.font * 1.9 } else { look.font * 0.6 };
    let bottom = look.font * if look.names { 2.9 } else { 1.7 };
    Frame { x, y, left, top, width: look.width - left - right, height: look.height - top - bottom }
}

/// What the script of a page needs to tell values from places.
fn data(frame: &Frame) -> String {
    let scale = |s: &AxisScale| if *s == AxisScale::Log { "log" } else { "lin" };
    let span = |s: &Span| format!("{} {} {}", s.lo, s.hi, scale(&s.scale));
    let area = [frame.left, frame.top, frame.width, frame.height].map(short).join(" ");
    format!("{} {} {area}", span(&frame.x), span(&frame.y))
}

/// Grid, ticks and axes.
fn backdrop(chart: &Chart, frame: &Frame, look: &Look) -> Markup {
    let end = frame.top + frame.height;
    let [left, top, bottom, right] = [frame.left, frame.top, end, frame.left + frame.width].map(short);
    let along = |v: f64| frame.at(v, frame.y.lo).map(|(px, _)| px);
    let up = |v: f64| frame.at(frame.x.lo, v).map(|(_, py)| py);
    let row = |(v, label): (f64, String)| Some((up(v)?, fitting(&label, frame.left - 6.0, look.font)));
    let rows: Vec<(f64, String)> = frame.y.ticks(look.ticks.1).into_iter().filter_map(row).collect();
    // Names of an axis along are cut, and values and names that are many are thinned, until they fit beside each other.
    let mut ticks = frame.x.ticks(look.ticks.0);
    let space = frame.width / ticks.len() as f64 - 6.0;
    if matches!(frame.x.scale, AxisScale::Names(_)) && space >= 6.0 * look.font * CHARACTER {
        ticks.iter_mut().for_each(|t| t.1 = cut(&t.1, (space / (look.font * CHARACTER)) as usize));
    }
    let wide =
        ticks.iter().map(|t| t.1.chars().count()).max().unwrap_or(0) as f64 * look.font * CHARACTER + 6.0;
    let every = ((wide * ticks.len() as f64 / frame.width).ceil() as usize).max(1);
    let column = |(v, label): (f64, String)| Some((along(v)?, label));
    let columns: Vec<(f64, String)> = ticks.into_iter().step_by(every).filter_map(column).collect();
    let across = rows.iter().map(|(py, _)| format!("M{left} {}H{right}", short(*py)));
    let down = columns.iter().map(|(px, _)| format!("M{} {top}V{bottom}", short(*px)));
    let grid: String = across.chain(down).collect();
    let mut axis = format!("M{left} {top}V{bottom}H{right}");
    if chart.panels.len() == 1 {
        let minor = frame.x.between().into_iter().filter_map(along);
        axis.extend(minor.map(|px| format!("M{} {bottom}v-4", short(px))));
        let minor = frame.y.between().into_iter().filter_map(up);
        axis.extend(minor.map(|py| format!("M{left} {}h4", short(py))));
    }
    html! {
        @if !chart.tiled() { path class="grid" d=(grid) {} }
        path class="axis" fill="none" d=(axis) {}
        @for (py, label) in rows {
            text class="tick" x=(short(frame.left - 5.0)) y=(short(py + look.font * 0.35)) text-anchor="end" { (label) }
        }
        @for (px, label) in columns {
            text class="tick" x=(short(px)) y=(short(end + look.font * 1.3)) text-anchor="middle" { (label) }
        }
    }
}

fn titles(chart: &Chart, frame: &Frame, look: &Look) -> Markup {
    html! {
        text x="2" y=(short(look.font)) { (fitting(&chart.y.name(), look.width - 4.0, look.font)) }
        text x=(short(look.width - 4.0)) y=(short(frame.top + frame.height + look.font * 2.5)) text-anchor="end" { (chart.x.name()) }
    }
}

/// How many bytes of whole words all names begin with.
fn shared_start<'a>(mut names: impl Iterator<Item = &'a str>) -> usize {
    let first = names.next().unwrap_or_default();
    let same = |name: &str| first.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
    let same = names.map(same).min().unwrap_or(0);
    first.as_bytes()[..same].iter().rposition(|b| *b == b' ').map_or(0, |space| space + 1)
}

/// A name, cut where it does not fit.
fn fitting(name: &str, space: f64, font: f64) -> String {
    cut(name, (space / (font * 0.56)).max(3.0) as usize)
}

/// A name of at most so many characters.
fn cut(name: &str, most: usize) -> String {
    match name.chars().count() > most {
        true => name.chars().take(most - 1).chain(['…']).collect(),
        false => name.to_owned(),
    }
}

/// The band, the line and the dots of a series. On paper `place` moves its shapes away from those of the others.
fn series(frame: &Frame, s: &Series, nearest: f64, place: Option<usize>) -> Markup {
    let class = s.style.class();
    match s.mark {
        Mark::Line | Mark::Steps => {
            let points = thinned(frame, &s.points, s.mark == Mark::Steps, nearest);
            let sure = points.iter().all(|p| p.0.low == p.0.y && p.0.high == p.0.y);
            let path = line_path(&points, s.mark == Mark::Steps);
            html! {
                @if !sure && s.style != Style::Context { path class={ "band " (class) } d=(band_path(frame, &points)) {} }
                @if s.style == Style::Context {
                    path class="line ctx" d=(path) {}
                } @else {
                    path class={ "line " (class) } d=(path) { title { (s.name) } }
                }
                @for (px, py) in s.dots.iter().filter_map(|d| frame.at(d.0, d.1)) {
                    circle class={ "dot " (class) } cx=(short(px)) cy=(short(py)) r="3" {}
                }
                @if let Some(place) = place { (shapes(&points, s.style, place)) }
            }
        }
        Mark::Whisker => html! {
            @for p in &s.points {
                @if let (Some(at), Some(from), Some(to)) = (frame.at(p.x, p.y), frame.at(p.low, p.y), frame.at(p.high, p.y)) {
                    path class={ "line " (class) } d={ "M" (short(from.0)) " " (short(from.1)) "H" (short(to.0)) } {}
                    circle class={ "dot " (class) } cx=(short(at.0)) cy=(short(at.1)) r="3.5" {}
                }
            }
        },
        Mark::Tile => tiles(frame, &s.points),
    }
}

fn tiles(frame: &Frame, points: &[Point]) -> Markup {
    let values = points.iter().map(|p| p.low).filter(|v| v.is_finite());
    let (least, most) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
    // Halves, whose difference is finite. What is infinite is as dark as the largest, or as light as the least.
    let long = most / 2.0 - least / 2.0;
    let share = |v: f64| (v.max(least).min(most) / 2.0 - least / 2.0) / long;
    let (width, height) = (frame.width / (frame.x.hi - frame.x.lo), frame.height / (frame.y.hi - frame.y.lo));
    html! {
        @for p in points {
            @if let Some((px, py)) = frame.at(p.x, p.y) {
                // Never darker than this: the number on it must be read.
                @let shade = if long > 0.0 && !p.low.is_nan() { 0.05 + 0.4 * share(p.low) } else { 0.2 };
                @let value = crate::summary::number(p.low);
                rect class="tile" opacity=(format!("{shade:.2}")) x=(short(px - width / 2.0)) y=(short(py - height / 2.0))
                    width=(short(width - 1.0)) height=(short(height - 1.0)) { title { (value) } }
                @if width >= value.len() as f64 * 12.0 * CHARACTER && height >= 14.0 {
                    text x=(short(px)) y=(short(py + 4.0)) text-anchor="middle" { (value) }
                }
            }
        }
    }
}

/// Shapes along a line, for prints without colour; those of other lines stand elsewhere.
fn shapes(points: &[(Point, f64, f64)], style: Style, place: usize) -> Markup {
    const APART: f64 = 48.0;
    let mut next = points.first().map_or(0.0, |p| p.1) + 12.0 + 7.0 * (place % 5) as f64;
    let mut chosen = Vec::new();
    for (_, x, y) in points {
        if *x >= next {
            next = x + APART;
            chosen.push((*x, *y));
        }
    }
    html! { @for (x, y) in chosen { (shape(style, x, y)) } }
}

/// The shape of a style: none for the first four, which differ by their dash.
fn shape(style: Style, x: f64, y: f64) -> Markup {
    let Some(i) = style.own() else { return html! {} };
    let (class, r) = (format!("dot s{i}"), 2.6);
    match i / DASHES.len() % 4 {
        0 => html! {},
        1 => html! { circle class=(class) cx=(short(x)) cy=(short(y)) r=(r) {} },
        2 => {
            html! { rect class=(class) x=(short(x - r)) y=(short(y - r)) width=(2.0 * r) height=(2.0 * r) {} }
        }
        _ => html! { path class=(class) d={ "M" (short(x)) " " (short(y - 1.2 * r)) "l3 5h-6Z" } {} },
    }
}

/// One decimal is a tenth of a pixel.
fn short(v: f64) -> String {
    let text = format!("{v:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::super::{Axis, Palette};
    use super::*;

    fn chart(panels: usize, names: usize) -> Chart {
        let mut palette = Palette::default();
        let line = |name: String, palette: &mut Palette| {
            let points = (1..=100).map(|t| {
                let y = f64::from(t).sqrt();
                Point { x: f64::from(t), y, low: y - 1.0, high: y + 1.0 }
            });
            Series::line(&name, palette.style(&name), points.collect())
        };
        let series: Vec<Series> =
            (0..names).map(|i| line(format!("line <{i}> & co"), &mut palette)).collect();
        let panel = |i| Panel { name: format!("panel {i}"), series: series.clone() };
        Chart {
            title: "t".to_owned(),
            caption: String::new(),
            x: Axis::new("round t", AxisScale::Linear),
            y: Axis::new("regret", AxisScale::Log),
            panels: (0..panels).map(panel).collect(),
            context: Vec::new(),
        }
    }

    #[test]
    fn a_figure_for_paper_is_whole_and_differs_without_colour() {
        for (panels, columns) in [(1, Columns::One), (1, Columns::Two), (7, Columns::One), (7, Columns::Two)]
        {
            let text = paper(&chart(panels, 9), &columns.into()).unwrap();
            assert!(text.starts_with("<svg xmlns="), "{}", &text[..80]);
            assert!(text.contains("line &lt;8&gt; &amp; co") && text.contains("in\" viewBox="));
            assert!(
                text.contains("regret, log scale") && text.contains("round t") && !text.contains("linear")
            );
            // Nine lines: four dashes without a shape, four with circles, one with squares.
            assert!(text.contains("<circle class=\"dot s4\"") && text.contains("<rect class=\"dot s8\""));
            for dash in DASHES {
                assert!(text.contains(&format!("stroke-dasharray:{dash}")), "{dash}");
            }
        }
    }

    #[test]
    fn control_characters_of_labels_leave_it_xml() {
        let mut chart = chart(2, 2);
        let label = "a\u{0}\u{1b}[2J\u{b}<b>\u{ffff}";
        chart.title = label.to_owned();
        chart.y.title = label.to_owned();
        for panel in &mut chart.panels {
            panel.name = label.to_owned();
            panel.series.iter_mut().for_each(|s| s.name = format!("{label} {}", s.name));
        }
        let text = paper(&chart, &Columns::Two.into()).unwrap();
        let illegal =
            |c: char| c < ' ' && !matches!(c, '\t' | '\n' | '\r') || matches!(c, '\u{fffe}' | '\u{ffff}');
        assert!(!text.contains(illegal) && text.contains("a\\u{0}\\u{1b}[2J\\u{b}&lt;b&gt;"), "{text}");
    }

    #[test]
    fn nothing_to_draw_is_no_chart() {
        let mut empty = chart(1, 1);
        empty.panels[0].series[0].points = vec![Point::new(1.0, -1.0)];
        assert!(page(&empty, "x").is_none() && paper(&empty, &Columns::One.into()).is_none());
    }

    #[test]
    fn panels_share_their_backdrop() {
        let text = page(&chart(20, 1), "here").unwrap().into_string();
        assert_eq!(text.matches("<use href=\"#here\"").count(), 20);
        assert_eq!(text.matches("class=\"axis\"").count(), 1);
    }
}
