//! The lines of a log: `docs/log-format.md` says what each field means.

use corral_core::{Arm, Context, Point, Scale, Ticket, TicketId};
use serde::{Deserialize, Serialize};

use crate::{chain, id};

/// The version of the format that this library writes. It reads no other.
pub const VERSION: u32 = 1;

/// One line.
#[derive(Debug, Clone, PartialEq)]
pub enum Record {
    /// The first line: what the log is of.
    Start(Start),
    /// A decision whose outcome is a line of its own, if it comes.
    Decision(Decided),
    /// What came of a decision.
    Outcome(RewardLine),
    /// A decision together with its outcome.
    Both(Both),
    /// A base came or went.
    Member(Member),
    /// A decision whose outcome is no longer waited for.
    Expire(Expire),
}

/// What a log is of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// The version of the format.
    pub version: u32,
    /// The band, as in the ids of its tickets.
    #[serde(with = "hex")]
    pub band: u64,
    /// A digest of what the band was built from, where it is known: logs of one model can be evaluated together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The names of the bases, in the order of every list that has a number for each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bases: Vec<String>,
    /// The names of the actions; an action is an index into them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<String>,
    /// Where outcomes lie; unset: in [0, 1].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<Scale>,
    /// What the chain begins with: 0, or the last value of the log that this one continues.
    #[serde(with = "chain::text")]
    pub first: u128,
}

impl Start {
    /// The start of a log of a band, with nothing else known.
    pub fn new(band: u64) -> Self {
        Self {
            version: VERSION,
            band,
            model: None,
            bases: Vec::new(),
            actions: Vec::new(),
            scale: None,
            first: 0,
        }
    }
}

/// What was played.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Played {
    /// An action, by its index.
    Arm(u32),
    /// A point.
    Point(Vec<f64>),
}

impl Played {
    /// What a decision of a round says: an action that is offered by its number gets that number.
    pub fn of<D>(decision: &D, x: &Context) -> Self
    where
        for<'a> Self: From<&'a D>,
    {
        match Self::from(decision) {
            Self::Arm(place) => Self::Arm(x.number(place as usize) as u32),
            point => point,
        }
    }
}

impl From<&Arm> for Played {
    fn from(arm: &Arm) -> Self {
        Self::Arm(arm.0)
    }
}

impl From<&Point> for Played {
    fn from(point: &Point) -> Self {
        Self::Point(point.0.to_vec())
    }
}

/// Which actions could have been played.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Offered {
    /// Actions 0 to n - 1; 0 where points are played.
    First(u32),
    /// These.
    These(Vec<u32>),
}

impl Offered {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::First(n) => *n as usize,
            Self::These(list) => list.len(),
        }
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The action at a place among them.
    pub fn at(&self, place: usize) -> Option<u32> {
        match self {
            Self::First(n) => u32::try_from(place).ok().filter(|place| place < n),
            Self::These(list) => list.get(place).copied(),
        }
    }

    /// Where an action stands among them.
    pub fn position(&self, action: u32) -> Option<usize> {
        match self {
            Self::First(n) => (action < *n).then_some(action as usize),
            Self::These(list) => list.iter().position(|a| *a == action),
        }
    }
}

impl From<&Context> for Offered {
    fn from(x: &Context) -> Self {
        x.offer().map_or(Self::First(x.actions() as u32), |numbers| Self::These(numbers.to_vec()))
    }
}

/// A decision and the probabilities that it was made with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decided {
    /// Which one: band, copy and round.
    #[serde(with = "id")]
    pub id: TicketId,
    /// When, in milliseconds since 1970, by the clock of whoever wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u64>,
    /// What was played.
    pub action: Played,
    /// What could have been played.
    pub offered: Offered,
    /// The probability with which the action was played; unset where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub propensity: Option<f64>,
    /// Whether the propensity is the probability itself, not an estimate of it.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub exact: bool,
    /// Whether no policy made it (a round of the guard): evaluation leaves it out.
    #[serde(default, skip_serializing_if = "is_false")]
    pub forced: bool,
    /// The base that was followed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<u32>,
    /// The probability of each base of being followed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pbar: Vec<f64>,
    /// Each base's own probability of the action; NaN (`null` in the line) for a base that cannot say it.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "nan")]
    pub q: Vec<f64>,
    /// Each base's own probability of every offered action, one base after the other, where that was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "nan")]
    pub full: Vec<f64>,
    /// What was seen before deciding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Context>,
    /// A digest of it, where it is kept elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The probability with which this decision was kept in the log; 1 unless the log is a sample.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub keep: f64,
    /// What decisions are grouped by: a user, a session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// A key by which outcomes from elsewhere know this decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The sealed ticket, where the state is to follow from the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket: Option<String>,
    /// After how many folds of a service the state was that it was made from, so that it can be made again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fold: Option<u64>,
}

impl Decided {
    /// A decision of which nothing else is known: `offered` actions, no propensity.
    pub fn new(id: TicketId, action: Played, offered: u32) -> Self {
        Self {
            id,
            at: None,
            action,
            offered: Offered::First(offered),
            propensity: None,
            exact: true,
            forced: false,
            base: None,
            pbar: Vec::new(),
            q: Vec::new(),
            full: Vec::new(),
            context: None,
            digest: None,
            keep: 1.0,
            unit: None,
            key: None,
            ticket: None,
            fold: None,
        }
    }

    /// What a ticket says of its decision; `pbar` is the distribution of the master when it was made.
    pub fn of<D>(ticket: &Ticket<D>, pbar: &[f64], x: &Context) -> Self
    where
        for<'a> Played: From<&'a D>,
    {
        Self {
            offered: Offered::from(x),
            propensity: ticket.propensity(),
            forced: ticket.is_forced(),
            base: Some(ticket.base() as u32),
            pbar: pbar.to_vec(),
            q: ticket.likelihoods().to_vec(),
            full: ticket.whole().to_vec(),
            context: Some(x.clone()),
            ..Self::new(ticket.id(), Played::of(&ticket.decision, x), 0)
        }
    }
}

/// What came of a decision: a reward or a loss, in the units of the log's scale.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Given {
    /// The reward: larger is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reward: Option<f64>,
    /// Or the loss: smaller is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
    /// The weight that it was learned with; unset: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
}

impl Given {
    /// A reward.
    pub fn reward(value: f64) -> Self {
        Self { reward: Some(value), ..Self::default() }
    }

    /// A loss.
    pub fn loss(value: f64) -> Self {
        Self { loss: Some(value), ..Self::default() }
    }

    /// A loss, or a reward.
    pub(crate) fn of(value: f64, is_loss: bool) -> Self {
        if is_loss { Self::loss(value) } else { Self::reward(value) }
    }

    /// The number, and whether it is a loss.
    pub(crate) fn value(&self) -> Option<(f64, bool)> {
        let reward = self.reward.map(|reward| (reward, false));
        reward.or(self.loss.map(|loss| (loss, true)))
    }
}

/// What came of a decision, as a line of its own. Outcomes from elsewhere, which know a decision by its key alone, are no lines of
/// a log: [`join`](crate::join) finds their decisions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RewardLine {
    /// Which decision.
    #[serde(with = "id")]
    pub id: TicketId,
    /// When it came, in milliseconds since 1970, by the clock of whoever wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<u64>,
    /// The key by which it was known elsewhere: that of its decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// What came of it.
    #[serde(flatten)]
    pub given: Given,
}

impl RewardLine {
    /// What came of a decision, at a time that is not known.
    pub fn new(id: TicketId, given: Given) -> Self {
        Self { id, at: None, key: None, given }
    }
}

/// A decision together with what came of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Both {
    /// The decision.
    #[serde(flatten)]
    pub decision: Decided,
    /// What came of it.
    #[serde(flatten)]
    pub given: Given,
}

/// What became of a base.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// It was added, as the last one.
    Add,
    /// It was taken out.
    Retire,
    /// Another learner took its place.
    Replace,
    /// It was put back.
    Reinstate,
}

/// A base came or went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// What happened.
    pub change: Change,
    /// Its index.
    pub base: u32,
    /// Its name.
    pub name: String,
    /// The probability with which it is followed at first; unset for one that retires or replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Its parameters, for one that is new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<serde_json::Value>,
}

/// A decision whose outcome is no longer waited for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Expire {
    /// Which decision.
    #[serde(with = "id")]
    pub id: TicketId,
    /// What was learned in place of an outcome, in the units of the log's scale; unset: nothing was learned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
}

/// A line that is not a record.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// It is not JSON, or a field is missing or of another type.
    #[error("not a record: {0}")]
    Json(String),
    /// It is of a kind that does not exist.
    #[error(
        "the kind of a record is start, decision, outcome, both, member or expire, but is {}",
        corral_core::text::visible(.0)
    )]
    Kind(String),
    /// It is of another version.
    #[error("version {0} of the format; this library reads version {VERSION}")]
    Version(u32),
}

impl From<serde_json::Error> for RecordError {
    fn from(error: serde_json::Error) -> Self {
        Self::Json(error.to_string())
    }
}

impl Record {
    /// The word that its line begins with.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Start(_) => "start",
            Self::Decision(_) => "decision",
            Self::Outcome(_) => "outcome",
            Self::Both(_) => "both",
            Self::Member(_) => "member",
            Self::Expire(_) => "expire",
        }
    }

    /// Appends its line without the closing brace.
    pub(crate) fn write(&self, line: &mut Vec<u8>) -> serde_json::Result<()> {
        line.extend_from_slice(b"{\"kind\":\"");
        line.extend_from_slice(self.kind().as_bytes());
        line.extend_from_slice(b"\",");
        let brace = line.len();
        match self {
            Self::Start(start) => serde_json::to_writer(&mut *line, start),
            Self::Decision(decision) => serde_json::to_writer(&mut *line, decision),
            Self::Outcome(outcome) => serde_json::to_writer(&mut *line, outcome),
            Self::Both(both) => serde_json::to_writer(&mut *line, both),
            Self::Member(member) => serde_json::to_writer(&mut *line, member),
            Self::Expire(expire) => serde_json::to_writer(&mut *line, expire),
        }?;
        // Every record has a field, so its own braces go and nothing else.
        line.remove(brace);
        line.pop();
        Ok(())
    }

    /// Reads a line. Fields that it does not know are passed over.
    ///
    /// # Errors
    /// It is not a record, or of another version.
    pub fn read(line: &[u8]) -> Result<Self, RecordError> {
        #[derive(Deserialize)]
        struct Kind<'a> {
            #[serde(borrow)]
            kind: std::borrow::Cow<'a, str>,
        }
        #[derive(Deserialize)]
        struct Id {
            #[serde(with = "id")]
            id: TicketId,
            #[serde(default)]
            at: Option<u64>,
            #[serde(default)]
            key: Option<String>,
        }
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let kind = serde_json::from_slice::<Kind<'_>>(line)?.kind;
        // Lines of two parts are read once for each: no part is held in between.
        let given = || -> Result<Given, RecordError> {
            let given: Given = serde_json::from_slice(line)?;
            match (given.reward, given.loss) {
                (Some(_), Some(_)) => {
                    Err(RecordError::Json("an outcome has a reward or a loss, not both".into()))
                }
                (None, None) => Err(RecordError::Json("an outcome has a reward or a loss".into())),
                _ => Ok(given),
            }
        };
        Ok(match &*kind {
            "start" => match serde_json::from_slice::<Version>(line)?.version {
                VERSION => Self::Start(serde_json::from_slice(line)?),
                other => return Err(RecordError::Version(other)),
            },
            "decision" => Self::Decision(serde_json::from_slice(line)?),
            "outcome" => {
                let Id { id, at, key } = serde_json::from_slice(line)?;
                Self::Outcome(RewardLine { id, at, key, given: given()? })
            }
            "both" => Self::Both(Both { decision: serde_json::from_slice(line)?, given: given()? }),
            "member" => Self::Member(serde_json::from_slice(line)?),
            "expire" => Self::Expire(serde_json::from_slice(line)?),
            other => return Err(RecordError::Kind(other.to_owned())),
        })
    }
}

fn yes() -> bool {
    true
}

fn one() -> f64 {
    1.0
}

fn is_true(value: &bool) -> bool {
    *value
}

fn is_false(value: &bool) -> bool {
    !*value
}

fn is_one(value: &f64) -> bool {
    *value == 1.0
}

/// 64 bits as sixteen hexadecimal digits.
mod hex {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(value: &u64, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&format_args!("{value:016x}"))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(from)?;
        let value = u64::from_str_radix(&text, 16).ok().filter(|_| text.len() == 16);
        value.ok_or_else(|| D::Error::custom(format!("a band is 16 hexadecimal digits, but is {text:?}")))
    }
}

/// Numbers that may be unknown: NaN is `null`.
mod nan {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(values: &[f64], to: S) -> Result<S::Ok, S::Error> {
        // serde_json writes NaN as null.
        values.serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f64>, D::Error> {
        let values = Vec::<Option<f64>>::deserialize(from)?;
        Ok(values.into_iter().map(|value| value.unwrap_or(f64::NAN)).collect())
    }
}
