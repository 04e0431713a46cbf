//! Charts of values that no run should give, and some do: every f64 is drawn or left out, and none is a panic.

use corral_lab::chart::svg::{Columns, page, paper};
use corral_lab::chart::vega::vega;
use corral_lab::chart::{Axis, AxisScale, Chart, Mark, Panel, Point, Series, Style};
use proptest::prelude::*;

/// Any f64, and often one at which arithmetic ends.
fn value() -> impl Strategy<Value = f64> {
    const EDGES: &[f64] = &[
        0.0,
        -0.0,
        1.0,
        5e-324,
        -5e-324,
        1e-308,
        f64::MIN_POSITIVE,
        1e-300,
        1e300,
        1e308,
        -1e308,
        f64::MAX,
        f64::MIN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    prop_oneof![any::<f64>(), any::<u64>().prop_map(f64::from_bits), prop::sample::select(EDGES), -10.0..10.0]
}

fn points() -> impl Strategy<Value = Vec<Point>> {
    let free = (value(), value(), value(), value()).prop_map(|(x, y, low, high)| Point { x, y, low, high });
    let equal = (value(), 1..4usize).prop_map(|(v, n)| vec![Point::new(v, v); n]);
    prop_oneof![prop::collection::vec(free, 0..6), equal]
}

fn scale() -> impl Strategy<Value = AxisScale> {
    let names = (0..3).map(|n| AxisScale::Names(vec!["a name".to_owned(); n]));
    prop::sample::select([AxisScale::Linear, AxisScale::Log].into_iter().chain(names).collect::<Vec<_>>())
}

fn series() -> impl Strategy<Value = Series> {
    let mark = prop::sample::select(vec![Mark::Line, Mark::Steps, Mark::Whisker, Mark::Tile]);
    let style = prop::sample::select(vec![Style::Own(0), Style::Own(9), Style::Ink, Style::Context]);
    let dots = prop::collection::vec((value(), value()), 0..3);
    (mark, style, points(), dots).prop_map(|(mark, style, points, dots)| Series {
        mark,
        dots,
        ..Series::line("a", style, points)
    })
}

fn chart() -> impl Strategy<Value = Chart> {
    let panel = prop::collection::vec(series(), 0..3).prop_map(Panel::only);
    let panels = prop::collection::vec(panel, 0..4);
    (scale(), scale(), panels, prop::collection::vec(series(), 0..2)).prop_map(|(x, y, panels, context)| {
        Chart { context, ..Chart::new("t", "", Axis::new("x", x), Axis::new("y", y), panels) }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_value_is_drawn_or_left_out(chart in chart()) {
        let drawn = [
            page(&chart, "id").map(|m| m.into_string()),
            paper(&chart, &Columns::One.into()),
            paper(&chart, &Columns::Two.into()),
        ];
        for text in drawn.into_iter().flatten() {
            prop_assert!(!text.contains("NaN"), "{}", &text[text.find("NaN").map_or(0, |at| at.saturating_sub(300))..]);
            prop_assert!(text.len() < 100_000, "{} bytes", text.len());
        }
        prop_assert!(vega(&chart).is_object());
    }
}
