//! What holds over all worlds of a spec: gaps to the best base, ranks of masters, wins on data sets.

use maud::html;

use super::Page;
use crate::figures;
use crate::overall::Overall;

/// The parts over all worlds, where there are several.
pub fn parts(page: &mut Page, Overall { gaps, ranks, duels, .. }: &Overall) {
    if let (Some(first), Some(chart)) = (ranks.first(), figures::ranks(ranks)) {
        let chart = page.figure(&chart);
        let body = html! {
            div class="charts" { (chart) }
            p { "The interval is a 95% bootstrap over seeds. Near best: within two standard errors of the best master of a world." }
            div class="scroll" { table {
                thead { tr {
                    th { "master" } th { "mean rank" } th { "95% interval" } th { "near best" }
                    @for (band, _) in &first.by_band { th { (band) } }
                } }
                tbody { @for r in ranks { tr { @for cell in r.cells() { td { (cell) } } } } }
            } }
        };
        page.part("ranks", "Masters ranked", Some(body));
    }
    if let Some(first) = gaps.first() {
        let body = html! {
            p { "Loss per round above that of the best base of each world alone." }
            div class="scroll" { table {
                thead { tr { th { "learner" } th { "mean gap" } th { "worst gap" } th { "in" } } }
                tbody { @for g in gaps { tr { @for cell in g.cells() { td { (cell) } } } } }
            } }
        };
        page.part("gaps", &format!("Over {} worlds", first.worlds), Some(body));
    }
    if !duels.is_empty() {
        let body = html! {
            p { "At 0.05, by the z-test of the contextual bandit bake-off; the numbered columns are wins less losses against that learner." }
            div class="scroll" { table {
                thead { tr {
                    th { "learner" } th { "wins" } th { "losses" } th { "against the best base" }
                    @for n in 1..=duels.len() { th { (n) } }
                } }
                tbody { @for (i, d) in duels.iter().enumerate() {
                    tr {
                        td { (i + 1) " · " (d.label) } td { (d.wins) } td { (d.losses) }
                        td { (d.wins_over_best) "–" (d.losses_to_best) }
                        @for (j, net) in d.net.iter().enumerate() { td { @if i == j { "·" } @else { (net) } } }
                    }
                } }
            } }
        };
        page.part("duels", "Wins and losses on data sets", Some(body));
    }
}
