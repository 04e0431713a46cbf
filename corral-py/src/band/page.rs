//! A band as a notebook shows it: its bases, and a picture of their probabilities so far.

use std::fmt::Write;

use crate::inner::Inner;

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 120.0;
const COLOURS: [&str; 8] =
    ["#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951", "#ff8ab7", "#a463f2", "#97bbf5"];

fn safe(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

/// The page; `reward` is the reward of a loss.
pub fn html(inner: &Inner, reward: impl Fn(f64) -> f64) -> String {
    let members = &inner.members;
    let mut page = format!("<p><b>{} rounds</b></p><table><thead><tr>", members.rounds());
    for head in ["", "base", "probability", "plays", "mean reward", ""] {
        let _ = write!(page, "<th style=\"text-align:left\">{head}</th>");
    }
    page.push_str("</tr></thead><tbody>");
    for (i, tally) in members.tallies().into_iter().enumerate() {
        let mean = tally.mean_loss().map_or("–".to_owned(), |loss| format!("{:.4}", reward(loss)));
        let benched = members.benched().iter().find(|b| b.base == i);
        let benched = benched.map_or(String::new(), |b| format!("benched: {}", safe(&b.reason)));
        let (colour, probability) = (COLOURS[i % COLOURS.len()], members.probabilities()[i]);
        let _ = write!(
            page,
            "<tr><td><span style=\"background:{colour}\">&emsp;</span></td><td>{}</td><td>{probability:.4}</td><td>{}</td>\
             <td>{mean}</td><td>{benched}</td></tr>",
            safe(&inner.names[i]),
            tally.plays
        );
    }
    page.push_str("</tbody></table>");
    if let Some(values) = inner.values() {
        let names: Vec<String> = inner.names.iter().map(|n| n.to_string()).collect();
        let _ = write!(page, "<pre>{}</pre>", safe(&values.text(&names)));
    }
    page.push_str(&picture(inner));
    page
}

/// The probabilities of the bases, one above the other, over the rounds.
fn picture(inner: &Inner) -> String {
    let points = &inner.history.points;
    let (Some((first, _)), Some((last, _))) = (points.first(), points.last()) else { return String::new() };
    if first == last {
        return String::new();
    }
    let across = |round: u64| (round - first) as f64 / (last - first) as f64 * WIDTH;
    let bases = inner.members.len();
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {}\" width=\"{WIDTH}\" role=\"img\" aria-label=\"probability of each base over the rounds\">",
        HEIGHT + 16.0
    );
    for base in 0..bases {
        let below = |p: &[f64], upto: usize| p.iter().take(upto).sum::<f64>().min(1.0);
        let edge = |upto: usize| {
            points
                .iter()
                .map(move |(t, p)| format!("{:.1},{:.1} ", across(*t), HEIGHT * (1.0 - below(p, upto))))
        };
        let upper: String = edge(base + 1).collect();
        let lower: Vec<String> = edge(base).collect();
        let lower: String = lower.into_iter().rev().collect();
        let (colour, name) = (COLOURS[base % COLOURS.len()], safe(&inner.names[base]));
        let _ = write!(
            svg,
            "<polygon points=\"{upper}{lower}\" fill=\"{colour}\"><title>{name}</title></polygon>"
        );
    }
    let y = HEIGHT + 12.0;
    let _ = write!(
        svg,
        "<text x=\"0\" y=\"{y}\" font-size=\"11\" fill=\"currentColor\">round {first}</text>\
         <text x=\"{WIDTH}\" y=\"{y}\" font-size=\"11\" text-anchor=\"end\" fill=\"currentColor\">{last}</text></svg>"
    );
    svg
}
