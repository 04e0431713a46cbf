//! Charts as Vega-Lite, with their data inside, for those who restyle them.

use serde_json::{Value, json};

use super::{Axis, AxisScale, COLOURS, Chart, DASHES, Mark, by_name};

/// The chart as a Vega-Lite specification.
pub fn vega(chart: &Chart) -> Value {
    let mut rows = Vec::new();
    for panel in &chart.panels {
        for series in &panel.series {
            for p in &series.points {
                rows.push(json!({
                    "panel": panel.name, "series": series.name, "x": named(&chart.x, p.x), "y": named(&chart.y, p.y),
                    "low": p.low, "high": p.high,
                }));
            }
        }
    }
    let first = chart.drawn().next();
    let mark = first.map_or(Mark::Line, |s| s.mark);
    let interpolate = if mark == Mark::Steps { "step-after" } else { "linear" };
    let (x, y) = (axis(&chart.x, "x"), axis(&chart.y, "y"));
    let (colour, dash) = styles(chart);
    let layers = match mark {
        Mark::Line | Mark::Steps => json!([
            { "mark": { "type": "area", "opacity": 0.18, "interpolate": interpolate },
              "encoding": { "x": x, "y": { "field": "low", "type": "quantitative", "title": chart.y.name() },
                            "y2": { "field": "high" }, "color": colour } },
            { "mark": { "type": "line", "interpolate": interpolate },
              "encoding": { "x": x, "y": y, "color": colour, "strokeDash": dash } },
        ]),
        Mark::Whisker => json!([
            { "mark": "rule", "encoding": { "x": { "field": "low", "type": "quantitative" }, "x2": { "field": "high" }, "y": y } },
            { "mark": { "type": "point", "filled": true }, "encoding": { "x": x, "y": y } },
        ]),
        Mark::Tile => json!([
            { "mark": "rect", "encoding": { "x": x, "y": y, "color": { "field": "low", "type": "quantitative" } } },
        ]),
    };
    let mut out = json!({
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "title": chart.title,
        "description": chart.caption,
        "data": { "values": rows },
    });
    if chart.panels.len() > 1 {
        out["facet"] = json!({ "field": "panel", "type": "nominal", "title": null });
        out["columns"] = json!(4);
        out["spec"] = json!({ "layer": layers, "width": 150, "height": 100 });
    } else {
        out["layer"] = layers;
        out["width"] = json!(420);
        out["height"] = json!(260);
    }
    out
}

fn named(axis: &Axis, v: f64) -> Value {
    match &axis.scale {
        // What is no place has no name: NaN as an integer would be the first.
        AxisScale::Names(names) => json!(if v >= 0.0 { names.get(v as usize) } else { None }),
        _ => json!(v),
    }
}

fn axis(axis: &Axis, field: &str) -> Value {
    match axis.scale {
        AxisScale::Names(_) => {
            json!({ "field": field, "type": "nominal", "sort": null, "title": axis.title })
        }
        AxisScale::Linear => json!({ "field": field, "type": "quantitative", "title": axis.name() }),
        AxisScale::Log => {
            json!({ "field": field, "type": "quantitative", "scale": { "type": "log" }, "title": axis.name() })
        }
    }
}

/// The colour and the dash of every series, as on paper.
fn styles(chart: &Chart) -> (Value, Value) {
    let of_own = by_name(chart.drawn().filter(|s| s.style.own().is_some()));
    let seen: Vec<(&str, usize)> =
        of_own.into_iter().filter_map(|s| Some((s.name.as_str(), s.style.own()?))).collect();
    if seen.is_empty() {
        return (json!({ "value": "black" }), json!({ "value": [1, 0] }));
    }
    let names: Vec<&str> = seen.iter().map(|s| s.0).collect();
    let colours: Vec<&str> = seen.iter().map(|s| COLOURS[s.1 % COLOURS.len()].0).collect();
    let dashes: Vec<Vec<u32>> = seen
        .iter()
        .map(|s| match DASHES[s.1 % DASHES.len()] {
            "none" => vec![1, 0],
            dash => dash.split(' ').filter_map(|n| n.parse().ok()).collect(),
        })
        .collect();
    let encode = |range: Value| json!({ "field": "series", "type": "nominal", "title": null, "scale": { "domain": names, "range": range } });
    (encode(json!(colours)), encode(json!(dashes)))
}
