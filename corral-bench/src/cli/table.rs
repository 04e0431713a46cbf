//! Tables for people.

use std::time::Duration;

use crate::claims::{Held, Verdict};
use crate::duels::Duels;
use crate::findings::Findings;
use crate::ranks::Rank;
use crate::run::in_words;
use crate::spec::{RunSpec, Spec};
use crate::standing::{Place, Standing, method, time};
use crate::summary::{Gap, Row, number};

/// A table with aligned columns; columns marked `'r'` in `align` are flushed right.
pub fn aligned(header: &[&str], align: &str, rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let rows: Vec<Vec<String>> = rows.into_iter().collect();
    let width = |s: &str| s.chars().count();
    let widths: Vec<usize> = header
        .iter()
        .enumerate()
        .map(|(i, h)| rows.iter().map(|r| width(&r[i])).chain([width(h)]).max().unwrap_or(0))
        .collect();
    let line = |cells: &[String]| -> String {
        let mut out = String::new();
        for ((cell, w), a) in cells.iter().zip(&widths).zip(align.chars()) {
            let pad = " ".repeat(w - width(cell));
            out.push_str(&if a == 'r' { format!("{pad}{cell}  ") } else { format!("{cell}{pad}  ") });
        }
        out.trim_end().to_owned() + "\n"
    };
    let titles: Vec<String> = header.iter().map(|h| (*h).to_owned()).collect();
    let rule: Vec<String> = widths.iter().map(|w| "-".repeat(*w)).collect();
    let mut out = line(&titles) + &line(&rule);
    rows.iter().for_each(|r| out.push_str(&line(r)));
    out
}

/// Lines of at most `width` characters, broken between words; a word that is longer is cut.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let pieces = text.split_whitespace().flat_map(|word| {
        let letters: Vec<char> = word.chars().collect();
        letters.chunks(width.max(1)).map(|piece| piece.iter().collect()).collect::<Vec<String>>()
    });
    for word in pieces {
        let line = lines.len() - 1;
        let taken = lines[line].chars().count();
        match taken {
            0 => lines[line].push_str(&word),
            _ if taken + 1 + word.chars().count() <= width => {
                lines[line].push(' ');
                lines[line].push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

/// An aligned table whose cells are broken into lines until it is `width` characters wide: the last column first, and no
/// column below 20 characters.
pub fn within(header: &[&str], align: &str, rows: &[Vec<String>], width: usize) -> String {
    const LEAST: usize = 20;
    let wide = |i: usize| rows.iter().map(|r| r[i].chars().count()).max().unwrap_or(0).max(header[i].len());
    let mut widths: Vec<usize> = (0..header.len()).map(wide).collect();
    for i in (0..header.len()).rev() {
        let over = (widths.iter().sum::<usize>() + 2 * (header.len() - 1)).saturating_sub(width);
        if over > 0 && widths[i] > LEAST {
            widths[i] = (widths[i] - over.min(widths[i])).max(LEAST);
        }
    }
    let mut lines: Vec<Vec<String>> = Vec::new();
    for row in rows {
        let cells: Vec<Vec<String>> = row.iter().zip(&widths).map(|(c, w)| wrapped(c, *w)).collect();
        let tall = cells.iter().map(Vec::len).max().unwrap_or(1);
        lines
            .extend((0..tall).map(|k| cells.iter().map(|c| c.get(k).cloned().unwrap_or_default()).collect()));
    }
    aligned(header, align, lines)
}

/// How many characters fit beside each other: those of the terminal, or of `COLUMNS`, or 100.
pub fn page_width() -> usize {
    let said = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let seen = || {
        let terminal = console::Term::stdout();
        terminal.is_term().then(|| usize::from(terminal.size().1))
    };
    said.or_else(seen).unwrap_or(100usize).clamp(60, 200)
}

/// Rounds a second.
fn speed(rounds: f64) -> String {
    if rounds >= 1e6 { format!("{:.2} M", rounds / 1e6) } else { format!("{:.1} k", rounds / 1e3) }
}

/// The columns of a data set.
pub fn columns(table: &corral_envs::data::Table) -> String {
    let lines = table.columns.iter().map(|c| {
        vec![
            c.name.clone(),
            c.kind.to_owned(),
            c.range.map_or("-".to_owned(), |(low, high)| format!("{} to {}", number(low), number(high))),
            c.missing.to_string(),
            c.categories.map_or("many".to_owned(), |n| n.to_string()),
            c.features.to_string(),
        ]
    });
    let dropped = match table.dropped {
        0 => String::new(),
        more => format!(", {more} more passed over for missing cells"),
    };
    let mut out = format!(
        "{}: {} rows{dropped}, {} actions, {} features\n",
        table.file, table.rows, table.actions, table.features
    );
    let header = ["column", "type", "range", "missing", "values", "features"];
    out.push_str(&aligned(&header, "lllrrr", lines));
    table.warnings().iter().for_each(|w| out.push_str(&format!("warning: {w}\n")));
    out.push('\n');
    out
}

/// What a round of every learner takes, as its first rounds did.
pub fn costs(spec: &Spec, costs: &[(RunSpec, Option<f64>)]) -> String {
    let rows = costs.iter().map(|(run, seconds)| {
        let rounds = spec.rounds[run.horizon] as f64;
        vec![
            spec.environments[run.environment].label.clone(),
            spec.learners[run.learner].label.clone(),
            seconds.map_or("-".to_owned(), time),
            seconds.map_or("-".to_owned(), |s| in_words(Duration::from_secs_f64(s * rounds))),
        ]
    });
    aligned(&["environment", "learner", "a round", "a seed"], "llrr", rows) + "\n"
}

/// What a spec is called and what it asks.
pub fn heading(name: &str, asks: Option<&str>) -> String {
    asks.map_or(format!("{name}\n"), |asks| format!("{name}\n{asks}\n"))
}

/// The verdict of a run.
pub fn results(found: &Findings) -> String {
    let spec = &found.spec;
    let mut out = heading(&spec.name, spec.asks.as_deref());
    for (rounds, environment) in spec.worlds() {
        let group: Vec<&Row> =
            found.rows.iter().filter(|r| r.rounds == rounds && r.environment == environment.label).collect();
        if group.is_empty() {
            continue;
        }
        let seeds = group.iter().map(|r| r.seeds).max().unwrap_or(0);
        let from = spec.seeds_begin();
        out.push_str(&format!("\n{}: {rounds} rounds, {seeds} seeds{from}\n", environment.label));
        let lines = group.iter().map(|r| {
            vec![
                if r.alone { format!("{} (alone)", r.label) } else { r.label.clone() },
                number(r.regret.mean),
                format!("± {}", number(r.regret.half_width(r.seeds))),
                number(r.regret.max),
                number(r.loss.mean),
                r.to_best_base().unwrap_or("-".to_owned()),
                found.place(r).map_or("", Place::word).to_owned(),
                r.rounds_per_second.map_or("-".to_owned(), speed),
                if r.failed.is_empty() { String::new() } else { format!("{} failed", r.failed.len()) },
            ]
        });
        let header = ["learner", "regret", "95%", "worst", "loss/round", "to best base", "", "rounds/s", ""];
        out.push_str(&aligned(&header, "lrrrrrlrl", lines));
        for row in &group {
            if let Some(first) = row.benched.first() {
                let times =
                    if row.benched.len() == 1 { "once" } else { &format!("{} times", row.benched.len()) };
                out.push_str(&format!(
                    "{}: {times} a base was benched and the run continued with the others; {first}\n",
                    row.label
                ));
            }
        }
    }
    out
}

/// The answer in words: a line for each world.
pub fn answer(standings: &[Standing]) -> String {
    let Some(method) = method(standings) else { return String::new() };
    let lines: String = standings.iter().map(|s| format!("- {}{}\n", s.words(), s.cost())).collect();
    format!("\nin words\n{lines}{method}\n")
}

/// How far each learner is from the best base of every world.
pub fn gaps(gaps: &[Gap]) -> String {
    let Some(first) = gaps.first() else { return String::new() };
    let header = ["learner", "mean gap", "worst gap", "in"];
    format!("\nloss per round above the best base alone, over {} worlds\n", first.worlds)
        + &aligned(&header, "lrrl", gaps.iter().map(|g| g.cells().to_vec()))
}

/// Wins and losses on data sets.
pub fn duels(duels: &[Duels]) -> String {
    if duels.is_empty() {
        return String::new();
    }
    let numbers: Vec<String> = (1..=duels.len()).map(|n| n.to_string()).collect();
    let mut header = vec!["", "learner", "wins", "losses", "best base"];
    header.extend(numbers.iter().map(String::as_str));
    let rows = duels.iter().enumerate().map(|(i, d)| {
        let best = format!("{}-{}", d.wins_over_best, d.losses_to_best);
        let mut row =
            vec![numbers[i].clone(), d.label.clone(), d.wins.to_string(), d.losses.to_string(), best];
        let net = d.net.iter().enumerate();
        row.extend(net.map(|(j, n)| if i == j { "·".to_owned() } else { n.to_string() }));
        row
    });
    let align: String = "rl".chars().chain("r".repeat(header.len() - 2).chars()).collect();
    String::from(
        "\nwins and losses at 0.05 by the bake-off's z-test, over data sets; against the best base of each set; wins less \
         losses against each learner\n",
    ) + &aligned(&header, &align, rows)
}

/// The masters, best first.
pub fn ranks(ranks: &[Rank]) -> String {
    let Some(first) = ranks.first() else { return String::new() };
    let mut header = vec!["master", "mean rank", "95%", "near best"];
    header.extend(first.by_band.iter().map(|(band, _)| band.as_str()));
    header.push("cost");
    let rows = ranks.iter().map(|r| {
        let mut row = r.cells();
        row.push(r.cost.map_or("-".to_owned(), |cost| format!("{cost:.2}")));
        row
    });
    let align: String = "l".chars().chain("r".repeat(header.len() - 1).chars()).collect();
    let over = if first.by_band.is_empty() { "" } else { ", and over those of each band" };
    format!(
        "\nmasters by mean rank of their regret over {} worlds{over}; cost is time a round to the quickest master's\n",
        first.worlds
    ) + &aligned(&header, &align, rows)
}

/// What was claimed, what was measured, and whether it holds: a claim once, and a line for each who is held to it.
pub fn claims(held: &[Held]) -> String {
    let mut out = published(held);
    let others: Vec<&Held> = held.iter().filter(|h| h.published.is_none()).collect();
    for claim in others.chunk_by(|a, b| (&a.text, &a.unlikely) == (&b.text, &b.unlikely)) {
        out.push_str(&format!("\n{}\n", claim[0].text));
        for h in claim {
            out.push_str(&format!(
                "  {:10}  {}, {}: {} = {} [{}, {}], claimed {}\n",
                h.verdict,
                h.environment,
                h.learner,
                h.figure,
                number(h.measured),
                number(h.low),
                number(h.high),
                h.bound
            ));
        }
        if let Some(why) = &claim[0].unlikely {
            out.push_str(&format!("  not expected to show here: {why}\n"));
        }
    }
    out
}

/// Measured beside published means.
fn published(held: &[Held]) -> String {
    let mut rows = Vec::new();
    let mut notes = String::new();
    for h in held {
        let Some(p) = &h.published else { continue };
        let figure = match h.figure.strip_prefix("regret - regret of ") {
            Some(than) => format!("{} - {than}", h.learner),
            None => h.learner.clone(),
        };
        rows.push(vec![
            figure,
            p.rounds.to_string(),
            format!("{} ± {}", number(h.measured), number(p.own_error)),
            format!("{} ± {}", p.mean, number(p.error)),
            format!("{:+.1}", p.z),
            match h.verdict {
                Verdict::Holds => "agrees".to_owned(),
                Verdict::Fails => "DIFFERS".to_owned(),
                other => other.to_string(),
            },
            h.text.clone(),
        ]);
        if let Some(why) = &h.unlikely {
            notes.push_str(&format!("{}, T = {}: {why}\n", h.learner, p.rounds));
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let header = ["learner", "T", "measured", "published", "z", "", ""];
    let agree = rows.iter().filter(|r| r[5] == "agrees").count();
    format!(
        "\nregret beside published means, ± one standard error: {agree} of {} within 3 combined ones\n",
        rows.len()
    ) + &aligned(&header, "lrrrrll", rows)
        + &notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_broken_where_the_page_ends() {
        let rows =
            [vec!["name".to_owned(), "many words ".repeat(20)], vec!["n".to_owned(), "few".to_owned()]];
        let table = within(&["a", "what it is"], "ll", &rows, 60);
        assert!(table.lines().all(|l| l.chars().count() <= 60) && table.lines().count() > 6, "{table}");
        assert_eq!(within(&["a", "b"], "ll", &rows, 1000), {
            let trimmed =
                [vec!["name".to_owned(), "many words ".repeat(20).trim().to_owned()], rows[1].clone()];
            aligned(&["a", "b"], "ll", trimmed)
        });
        assert_eq!(wrapped("a longer-word b", 4), ["a", "long", "er-w", "ord", "b"]);
    }

    #[test]
    fn columns_line_up() {
        let rows = [vec!["a".to_owned(), "1".to_owned()], vec!["long".to_owned(), "22".to_owned()]];
        assert_eq!(aligned(&["x", "n"], "lr", rows), "x      n\n----  --\na      1\nlong  22\n");
    }
}
