//! The answer in words: which learner is best in every world, by how much, whether that is more than chance, and how that was tested.

use corral_envs::data::Counts;

use crate::standing::{How, LEVEL, Placed, Standing};
use crate::summary::{FEWEST_SEEDS, SummaryRow, number, quoted};

/// So many names are listed in words.
const NAMED: usize = 4;
/// So many worlds are put into words.
const WORLDS: usize = 4;

impl Standing {
    /// Which learner is best, by how much, and whether that is more than chance; first that none is better than learning nothing.
    pub fn words(&self) -> String {
        let [best, others @ ..] = self.learners.as_slice() else { return String::new() };
        let (behind, tied): (Vec<&Placed>, Vec<&Placed>) = others.iter().partition(|l| l.p < LEVEL);
        let played = match (self.how, &self.chance) {
            (How::Tables, _) => String::new(),
            (How::Rows(Counts::Logged), Some(chance)) => format!(", {} rows of the log", chance.rows),
            (How::Seeds, _) => format!(", {} rounds", self.rounds),
            _ => format!(", {} rows", self.rows.unwrap_or(self.rounds)),
        };
        let mut out = format!("{}{played}: ", quoted(&self.environment));
        if let Some(chance) = self.chance.as_ref().filter(|chance| chance.always < best.mean) {
            let (class, what) = (&chance.class, self.shown(chance.always));
            out += &match self.figure {
                "error rate" => {
                    format!("every learner is worse than always {class:?}, which has {what} errors; ")
                }
                _ => format!("every learner is worse than always {class:?}, which costs {what}; "),
            };
        }
        let (name, mean) = (quoted(&best.label), self.shown(best.mean));
        out += &match (self.over != "nothing" && tied.is_empty(), self.figure) {
            (true, figure) => format!("{name} is best, {figure} {mean}"),
            (false, figure) => format!("{name} has the least {figure}, {mean}"),
        };
        if self.over == "nothing" {
            let why = match (self.how, self.seeds) {
                (How::Seeds, 1) => "1 seed is too few to tell it from chance".to_owned(),
                (How::Seeds, seeds) => format!("{seeds} seeds are too few to tell it from chance"),
                (How::Rows(Counts::Losses), _) => "the rows are too few to tell it from chance".to_owned(),
                _ => "seeds play the same rows, and these count unequally".to_owned(),
            };
            return out + &format!("; not tested: {why}.");
        }
        if let [first, ..] = tied.as_slice() {
            let most = tied.iter().map(|l| l.above_best).fold(0.0, f64::max);
            let least = tied.iter().map(|l| l.p).fold(1.0, f64::min);
            out += &match tied.len() {
                1 => format!(
                    "; {} is not distinguishable from it ({} more, p = {})",
                    quoted(&first.label),
                    self.shown(first.above_best),
                    p_value(first.p)
                ),
                _ => format!(
                    "; {} are not distinguishable from it (at most {} more, p >= {})",
                    list(&tied, |l| quoted(&l.label)),
                    self.shown(most),
                    p_value(least)
                ),
            };
        }
        if let Some(first) = behind.first() {
            let p = behind.iter().map(|l| l.p).fold(0.0, f64::max);
            let more = |l: &&Placed| format!("{} (+{})", quoted(&l.label), self.shown(l.above_best));
            let p = if p < 0.001 { "p < 0.001".to_owned() } else { format!("p <= {}", p_value(p)) };
            out += &match behind.len() {
                1 => format!("; {} is worse by {} ({p})", quoted(&first.label), self.shown(first.above_best)),
                _ => format!("; {} are worse ({p})", list(&behind, more)),
            };
        }
        out + "."
    }

    /// A value of the figure, as people write it.
    fn shown(&self, value: f64) -> String {
        if self.figure == "error rate" { percent(value) } else { number(value) }
    }

    /// What a round costs in time: of the best, and of the quickest where that is another; empty where nothing was run.
    pub fn cost(&self) -> String {
        let best = &self.learners[0];
        let timed = self.learners.iter().filter_map(|l| Some((l, l.seconds_per_round?)));
        match (best.seconds_per_round, timed.min_by(|a, b| a.1.total_cmp(&b.1))) {
            (Some(own), Some((least, its))) if least.label != best.label => format!(
                " A round of {} takes {}, of {}, the quickest, {}.",
                quoted(&best.label),
                time(own),
                quoted(&least.label),
                time(its)
            ),
            (Some(own), _) => {
                format!(" A round of {} takes {}, the least of all.", quoted(&best.label), time(own))
            }
            _ => String::new(),
        }
    }
}

/// The answer, a sentence each: what holds over all worlds, and then the first worlds; with what a round costs in time, or
/// without.
pub fn words(standings: &[Standing], cost: bool) -> Vec<String> {
    let over_all = standings.iter().take_while(|s| s.everywhere).count();
    let shown = (over_all + WORLDS).min(standings.len());
    let sentence = |s: &Standing| if cost { s.words() + &s.cost() } else { s.words() };
    let mut words: Vec<String> = standings[..shown].iter().map(sentence).collect();
    if standings.len() > shown {
        words.truncate(shown - 1);
        words.push(format!("{} more worlds: each has its table.", standings.len() - shown + 1));
    }
    words
}

/// How the tests were done, for below the words.
pub fn method(standings: &[Standing]) -> Option<String> {
    let most = standings.iter().map(|s| s.comparisons).max()?;
    let tested = |how: fn(How) -> bool| standings.iter().any(|s| s.over != "nothing" && how(s.how));
    let is = |one: Counts| standings.iter().any(|s| s.over != "nothing" && s.how == How::Rows(one));
    let tests = [
        (tested(|how| how == How::Seeds), "paired t-tests over seeds"),
        (
            is(Counts::Errors),
            "z-tests over rows (those of the contextual bandit bake-off; seeds play the same rows)",
        ),
        (is(Counts::Losses), "paired t-tests over blocks of rows (seeds play the same rows)"),
        (is(Counts::Logged), "z-tests over the rows of the log that each learner used"),
        (tested(|how| how == How::Tables), "z-tests over the rows of all tables together"),
    ];
    let used: Vec<&str> = tests.iter().filter(|(used, _)| *used).map(|(_, words)| *words).collect();
    if used.is_empty() {
        let seeds = standings.iter().any(|s| s.how == How::Seeds);
        return seeds
            .then(|| format!("Nothing is tested with fewer than {FEWEST_SEEDS} seeds."))
            .or_else(|| Some("Nothing is tested.".to_owned()));
    }
    let used = match used.as_slice() {
        [all @ .., last] if !all.is_empty() => format!("{} and {last}", all.join(", ")),
        _ => used.concat(),
    };
    let used = used[..1].to_uppercase() + &used[1..];
    Some(format!(
        "{used} at {LEVEL}, corrected by Holm's method for all pairs of learners of a world (up to {most})."
    ))
}

/// How much of a world was played: its rounds, or the rows of a table.
pub fn extent<'a>(rounds: u64, mut rows: impl Iterator<Item = &'a SummaryRow>) -> String {
    let found = rows.find_map(|row| Some((row.chance.as_ref()?.rows, row.sample.as_ref()?.rounds)));
    match found {
        Some((rows, played)) if rows > 0 && played > rows => format!("{played} rounds over {rows} rows"),
        Some((rows, _)) if rows > 0 && rounds > rows => {
            format!("{rows} rows, where {rounds} rounds were asked for")
        }
        Some((rows, _)) if rows > 0 => format!("{rows} rows"),
        _ => format!("{rounds} rounds"),
    }
}

/// A number of seeds.
pub fn seeds(count: u64) -> String {
    if count == 1 { "1 seed".to_owned() } else { format!("{count} seeds") }
}

/// What a row of a table cost on average: a share of errors in per cent, or a loss.
pub fn row_loss(counts: Counts, loss: f64) -> String {
    if counts == Counts::Errors { percent(loss) } else { number(loss) }
}

/// A share in per cent.
pub fn percent(share: f64) -> String {
    if share.is_nan() { "-".to_owned() } else { format!("{:.1} %", 100.0 * share) }
}

fn list(of: &[&Placed], word: impl Fn(&&Placed) -> String) -> String {
    let named: Vec<String> = of.iter().take(NAMED).map(&word).collect();
    match (of.len() - named.len(), named.as_slice()) {
        (0, [all @ .., last]) if !all.is_empty() => format!("{} and {last}", all.join(", ")),
        (0, _) => named.join(", "),
        (more, _) => format!("{} and {more} more", named.join(", ")),
    }
}

fn p_value(p: f64) -> String {
    match p {
        p if p < 0.001 => "0.000".to_owned(),
        // Beside a sign of order, 1 would be no p-value that is left.
        p if p > 0.995 => "0.99".to_owned(),
        p if p < 0.1 => format!("{p:.3}"),
        p => format!("{p:.2}"),
    }
}

/// A time below a second, in words.
pub fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-6 => format!("{:.0} ns", s * 1e9),
        s if s < 1e-3 => format!("{:.1} µs", s * 1e6),
        s => format!("{:.1} ms", s * 1e3),
    }
}
