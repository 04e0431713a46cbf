//! The report as text: what the program and Python print of a run.

use corral_envs::data::{Chance, Counts};

use crate::answer::{extent, method, row_loss, seeds, words};
use crate::claims::{Held, Verdict};
use crate::duels::Duels;
use crate::findings::Findings;
use crate::spec::Spec;
use crate::standing::{AgainstBest, Standing};
use crate::summary::{Gap, SummaryRow, number};
use crate::table::{fitted, paged};

/// What `corral run` prints: the tables, the claims, and the answer in words. Where lines may have `width` characters at most,
/// tables leave columns out or are broken, and so is text.
pub fn text(found: &Findings, width: Option<usize>) -> String {
    let parts = [
        results(found, width),
        by_key(&found.spec, &found.rows, width),
        gaps(&found.gaps, width),
        ranks(found, width),
        duels(&found.duels, width),
        claims(&found.held, width),
        answer(&found.standings),
    ];
    paged(&parts.concat(), width)
}

/// Rounds a second.
fn speed(rounds: f64) -> String {
    if rounds >= 1e6 { format!("{:.2} M", rounds / 1e6) } else { format!("{:.1} k", rounds / 1e3) }
}

/// What a spec is called and what it asks.
pub fn heading(name: &str, asks: Option<&str>) -> String {
    asks.map_or(format!("{name}\n"), |asks| format!("{name}\n{asks}\n"))
}

/// The verdict of a run.
fn results(found: &Findings, width: Option<usize>) -> String {
    let spec = &found.spec;
    let mut out = heading(&spec.name, spec.asks.as_deref());
    for (rounds, environment) in spec.worlds() {
        let group: Vec<&SummaryRow> =
            found.rows.iter().filter(|r| r.rounds == rounds && r.environment == environment.label).collect();
        if group.is_empty() {
            continue;
        }
        let ended = seeds(group.iter().map(|r| r.seeds).max().unwrap_or(0));
        let (extent, from) = (extent(rounds, group.iter().copied()), spec.seeds_begin());
        out.push_str(&format!("\n{}: {extent}, {ended}{from}\n", environment.label));
        out.push_str(&match group.iter().find_map(|r| r.chance.as_ref()) {
            Some(chance) => in_table(found, &group, chance, width),
            None => by_regret(found, &group, width),
        });
        if environment.name == "logged" {
            out.push_str(&format!("{}\n", super::used(group.iter().copied())));
        }
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

/// The learners of a world by their regret.
fn by_regret(found: &Findings, group: &[&SummaryRow], width: Option<usize>) -> String {
    let lines = group.iter().map(|r| {
        vec![
            if r.alone { format!("{} (alone)", r.label) } else { r.label.clone() },
            number(r.regret.mean),
            match r.regret.half_width(r.seeds) {
                half if half.is_nan() => "-".to_owned(),
                half => format!("± {}", number(half)),
            },
            number(r.regret.max),
            number(r.loss.mean),
            r.to_best_base().unwrap_or("-".to_owned()),
            found.place(r).map_or("", AgainstBest::word).to_owned(),
            r.rounds_per_second.map_or("-".to_owned(), speed),
            if r.failed.is_empty() { String::new() } else { format!("{} failed", r.failed.len()) },
        ]
    });
    let header = ["learner", "regret", "95%", "worst", "loss/round", "to best base", "", "rounds/s", ""];
    let lines: Vec<Vec<String>> = lines.collect();
    let remarks = super::remarks(group.iter().copied()).into_iter().map(|remark| remark + "\n");
    fitted(&header, "lrrrrrlrl", &lines, width, &[7, 3, 4]) + &remarks.collect::<String>()
}

/// The learners of a table, and what learning nothing costs.
fn in_table(found: &Findings, group: &[&SummaryRow], chance: &Chance, width: Option<usize>) -> String {
    let shown = |loss: f64| row_loss(chance.counts, loss);
    let mut lines: Vec<Vec<String>> = group
        .iter()
        .map(|r| {
            vec![
                if r.alone { format!("{} (alone)", r.label) } else { r.label.clone() },
                shown(r.loss.mean),
                r.over_rows_95()
                    .map_or("-".to_owned(), |(low, high)| format!("{} to {}", shown(low), shown(high))),
                shown(r.loss.max),
                found.place(r).map_or("", AgainstBest::word).to_owned(),
                r.rounds_per_second.map_or("-".to_owned(), speed),
                if r.failed.is_empty() { String::new() } else { format!("{} failed", r.failed.len()) },
            ]
        })
        .collect();
    for (name, error) in
        [(format!("always {:?}", chance.class), chance.always), ("at random".to_owned(), chance.random)]
    {
        let blank = || "-".to_owned();
        lines.push(vec![name, shown(error), blank(), blank(), String::new(), blank(), String::new()]);
    }
    let figure = if chance.counts == Counts::Errors { "errors" } else { "loss per row" };
    let header = ["learner", figure, "95%, over rows", "worst seed", "", "rounds/s", ""];
    fitted(&header, "lrrrlrl", &lines, width, &[5, 3])
}

/// The answer in words: a line for each world.
fn answer(standings: &[Standing]) -> String {
    let Some(method) = method(standings) else { return String::new() };
    let lines: String = words(standings, true).iter().map(|line| format!("- {line}\n")).collect();
    format!("\nin words\n{lines}{method}\n")
}

/// How far each learner is from the best base of every world.
fn gaps(gaps: &[Gap], width: Option<usize>) -> String {
    let Some(first) = gaps.first() else { return String::new() };
    let header = ["learner", "mean gap", "worst gap", "in"];
    let rows: Vec<Vec<String>> = gaps.iter().map(|g| g.cells().to_vec()).collect();
    format!("\nloss per round above the best base alone, over {} worlds\n", first.worlds)
        + &fitted(&header, "lrrl", &rows, width, &[])
}

/// Wins and losses on data sets.
fn duels(duels: &[Duels], width: Option<usize>) -> String {
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
    let rows: Vec<Vec<String>> = rows.collect();
    // Those against each learner, from the last one on.
    let less: Vec<usize> = (5..header.len()).rev().collect();
    let align: String = "rl".chars().chain("r".repeat(header.len() - 2).chars()).collect();
    String::from(
        "\nwins and losses at 0.05 by the bake-off's z-test, each pair by itself, over data sets; against the best base of each set; wins less \
         losses against each learner\n",
    ) + &fitted(&header, &align, &rows, width, &less)
}

/// The masters, best first.
fn ranks(Findings { spec, ranks, .. }: &Findings, width: Option<usize>) -> String {
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
    let caption = format!(
        "masters by mean rank of their regret over {} worlds{over}; cost is time a round to the quickest master's",
        first.worlds
    );
    let rows: Vec<Vec<String>> = rows.collect();
    // Those of the bands first, from the last one on.
    let less: Vec<usize> = (4..header.len()).rev().collect();
    let table = fitted(&header, &align, &rows, width, &less);
    let note = super::not_ranked(spec).map_or(String::new(), |text| text + "\n");
    format!("\n{caption}\n{table}{note}")
}

/// What was claimed, what was measured, and whether it holds: a claim once, and a line for each who is held to it.
fn claims(held: &[Held], width: Option<usize>) -> String {
    let mut out = published(held, width);
    let others: Vec<&Held> = held.iter().filter(|h| h.published.is_none()).collect();
    for claim in others.chunk_by(|a, b| (&a.text, &a.unlikely) == (&b.text, &b.unlikely)) {
        out.push_str(&format!("\n{}\n", claim[0].text));
        for h in claim {
            out.push_str(&format!(
                "  {:10}  {}, {}: {} = {}, claimed {}\n",
                h.verdict,
                h.environment,
                h.learner,
                h.figure,
                h.shown(),
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
fn published(held: &[Held], width: Option<usize>) -> String {
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
    ) + &fitted(&header, "lrrrrll", &rows, width, &[])
        + &notes
}

/// For every swept key a table of mean regret per value and learner, over all else that was run.
fn by_key(spec: &Spec, rows: &[SummaryRow], width: Option<usize>) -> String {
    let mut out = String::new();
    for key in spec.swept() {
        // Value, learner, sum of regrets, rows.
        let mut groups: Vec<(String, &str, f64, u32)> = Vec::new();
        for row in rows.iter().filter(|r| r.regret.mean.is_finite()) {
            let Some(setting) = spec.setting(&row.environment, &row.label) else { continue };
            let Some(level) = setting.value(key) else { continue };
            let learner = setting.learner.name;
            match groups.iter_mut().find(|(v, l, ..)| *v == level.text && *l == learner) {
                Some((.., sum, n)) => (*sum, *n) = (*sum + row.regret.mean, *n + 1),
                None => groups.push((level.text.clone(), learner, row.regret.mean, 1)),
            }
        }
        let lines = groups.into_iter().map(|(value, learner, sum, n)| {
            vec![value, learner.to_owned(), number(sum / f64::from(n)), n.to_string()]
        });
        out.push_str(&format!("\nby {key}\n"));
        let lines: Vec<Vec<String>> = lines.collect();
        out.push_str(&fitted(&[key, "learner", "mean regret", "rows"], "rlrr", &lines, width, &[]));
    }
    out
}
