//! What came of a spec, computed once for the table, the JSON and the report.

use crate::claims::{Held, hold};
use crate::duels::{Duels, duels};
use crate::ranks::{Rank, ranks};
use crate::run::{CellRecord, Timings};
use crate::spec::Spec;
use crate::standing::{AgainstBest, Placed, Standing};
use crate::summary::{Gap, SummaryRow, gaps, rows};

/// A spec, its cells, and what follows from them. What holds over several worlds is empty where the spec has too little to
/// compare.
#[derive(Debug, Clone)]
pub struct Findings {
    /// What was asked.
    pub spec: Spec,
    /// What came out.
    pub cells: Vec<CellRecord>,
    /// One for each learner in each world.
    pub rows: Vec<SummaryRow>,
    /// The claims, held against the cells.
    pub held: Vec<Held>,
    /// Gaps to the best base of each world.
    pub gaps: Vec<Gap>,
    /// Masters, best first.
    pub ranks: Vec<Rank>,
    /// Wins and losses on data sets.
    pub duels: Vec<Duels>,
    /// Who is best, by world.
    pub standings: Vec<Standing>,
}

impl Findings {
    /// Of the finished `cells` of `spec`, which took as long as `timings` say.
    pub fn of(spec: Spec, cells: Vec<CellRecord>, timings: &Timings) -> Self {
        let rows = rows(&spec, &cells, timings);
        Self {
            held: hold(&spec, &cells),
            gaps: gaps(&spec, &rows),
            ranks: ranks(&spec, &cells, &rows),
            duels: duels(&spec, &rows),
            standings: Standing::all(&spec, &cells, &rows),
            spec,
            cells,
            rows,
        }
    }

    /// The standing of a learner's world, and its own in it.
    pub fn standing(&self, row: &SummaryRow) -> Option<(&Standing, &Placed)> {
        let here = |s: &&Standing| s.rounds == row.rounds && s.environment == row.environment;
        let standing = self.standings.iter().find(here)?;
        Some((standing, standing.learners.iter().find(|l| l.label == row.label)?))
    }

    /// Where a learner stands in its world.
    pub fn place(&self, row: &SummaryRow) -> Option<AgainstBest> {
        let here = |s: &&Standing| s.rounds == row.rounds && s.environment == row.environment;
        self.standings.iter().find(here)?.place(&row.label)
    }
}
