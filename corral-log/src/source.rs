//! Where rows come from: our log, Vowpal Wabbit's dsjson, or CSV.

pub(crate) use crate::faults::Refused;
use crate::{FaultKind, Faults, Header, ReadError, Row};

/// Rows of a log, one after the other.
pub trait RowSource {
    /// Reads the next decision into `row`; `false` at the end.
    ///
    /// # Errors
    /// The log cannot be read, or a line has a fault and the reader is strict.
    fn next(&mut self, row: &mut Row) -> Result<bool, ReadError>;

    /// What is known of the whole log; it may grow while the log is read.
    fn header(&self) -> &Header;

    /// What was wrong with lines so far.
    fn faults(&self) -> &Faults;

    /// Further things to say about the lines.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// What lines said that rows do not: a log that is made of the rows does not have it.
    fn not_in_rows(&self) -> Vec<String> {
        Vec::new()
    }
}

/// What of a row is asked for; what is not is passed over.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Wants {
    /// Each base's probability of being followed.
    pub pbar: bool,
    /// Each base's own probability of the action.
    pub q: bool,
    /// Whole distributions over the offered actions.
    pub full: bool,
    /// The context.
    pub context: bool,
    /// What a log is written again with: the key of a decision, the base that was followed, the digest, the ticket, the weight of
    /// its outcome; and its unit where no field is named for it.
    pub labels: bool,
    /// The field that decisions are grouped by.
    pub unit: Option<String>,
    /// Further fields: probabilities of policies.
    pub columns: Vec<String>,
}

impl Wants {
    /// The field that says the unit, where it is asked for.
    pub(crate) fn unit_field(&self) -> Option<&str> {
        self.unit.as_deref().or(self.labels.then_some("unit"))
    }
}

/// The most actions that a decision may offer: a list over them is made for differences and models.
const MOST_OFFERED: usize = 1 << 20;

/// Holds what every door must hold: the propensity and the keep-probability are probabilities, the action was offered.
/// Written so that NaN fails.
pub(crate) fn check(row: &Row) -> Result<(), Refused> {
    if let Some(p) = row.propensity
        && !(p > 0.0 && p <= 1.0 + 1e-6)
    {
        return Err((FaultKind::Propensity, format!("a propensity must be in (0, 1], but is {p}")));
    }
    if !(row.keep > 0.0 && row.keep <= 1.0) {
        return Err((
            FaultKind::Propensity,
            format!("a keep-probability must be in (0, 1], but is {}", row.keep),
        ));
    }
    if row.offered.len() > MOST_OFFERED {
        let why = format!("at most {MOST_OFFERED} actions are offered, but these are {}", row.offered.len());
        return Err((FaultKind::Action, why));
    }
    match row.offered.position(row.action) {
        Some(_) => Ok(()),
        None => {
            Err((FaultKind::Action, format!("action {} is not among those that were offered", row.action)))
        }
    }
}
