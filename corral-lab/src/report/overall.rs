//! What holds over all worlds of a spec: gaps to the best base, ranks of masters, wins on data sets.

use maud::html;

use super::{Page, table};
use crate::figures;
use crate::findings::Findings;

/// The parts over all worlds, where there are several.
pub fn parts(page: &mut Page, Findings { spec, gaps, ranks, duels, .. }: &Findings) {
    if let (Some(first), Some(chart)) = (ranks.first(), figures::ranks(ranks)) {
        let chart = page.figure(&chart);
        let bands = first.by_band.iter().map(|(band, _)| band.as_str());
        let header = ["master", "mean rank", "95% interval", "near best"].into_iter().chain(bands);
        let lines = html! { @for r in ranks { tr { @for cell in r.cells() { td { (cell) } } } } };
        let body = html! {
            div class="charts" { (chart) }
            p { "The interval is a 95% bootstrap over seeds. Near best: within two standard errors of the best master of a world." }
            (table(header, &lines))
            @if let Some(text) = super::not_ranked(spec) { p { (text) } }
        };
        page.part("ranks", "Masters ranked", Some(body));
    }
    if let Some(first) = gaps.first() {
        let lines = html! { @for g in gaps { tr { @for cell in g.cells() { td { (cell) } } } } };
        let body = html! {
            p { "Loss per round above that of the best base of each world alone." }
            (table(["learner", "mean gap", "worst gap", "in"], &lines))
        };
        page.part("gaps", &format!("Over {} worlds", first.worlds), Some(body));
    }
    if !duels.is_empty() {
        let numbers: Vec<String> = (1..=duels.len()).map(|n| n.to_string()).collect();
        let header = ["learner", "wins", "losses", "against the best base"].into_iter();
        let lines = html! { @for (i, d) in duels.iter().enumerate() {
            tr {
                td { (i + 1) " · " (d.label) } td { (d.wins) } td { (d.losses) }
                td { (d.wins_over_best) "–" (d.losses_to_best) }
                @for (j, net) in d.net.iter().enumerate() { td { @if i == j { "·" } @else { (net) } } }
            }
        } };
        let body = html! {
            p { "At 0.05, by the z-test of the contextual bandit bake-off; the numbered columns are wins less losses against that learner." }
            (table(header.chain(numbers.iter().map(String::as_str)), &lines))
        };
        page.part("duels", "Wins and losses on data sets", Some(body));
    }
}
