//! What holds over all worlds of a spec, computed once for the table, the JSON and the report.

use crate::duels::{Duels, duels};
use crate::ranks::{Rank, ranks};
use crate::run::CellRecord;
use crate::spec::Spec;
use crate::standing::{Place, Standing};
use crate::summary::{Gap, Row, gaps};

/// Each is empty where the spec has too little to compare.
#[derive(Debug, Clone)]
pub struct Overall {
    /// Gaps to the best base of each world.
    pub gaps: Vec<Gap>,
    /// Masters, best first.
    pub ranks: Vec<Rank>,
    /// Wins and losses on data sets.
    pub duels: Vec<Duels>,
    /// Who is best, by world.
    pub standings: Vec<Standing>,
}

impl Overall {
    /// Where a learner stands in its world.
    pub fn place(&self, row: &Row) -> Option<Place> {
        let here = |s: &&Standing| s.rounds == row.rounds && s.environment == row.environment;
        self.standings.iter().find(here)?.place(&row.label)
    }

    /// Of the finished `cells` of `spec`.
    pub fn of(spec: &Spec, cells: &[CellRecord], rows: &[Row]) -> Self {
        Self {
            gaps: gaps(spec, rows),
            ranks: ranks(spec, cells, rows),
            duels: duels(spec, rows),
            standings: Standing::all(spec, cells, rows),
        }
    }
}
