//! The policies that a log can value.

use crate::{Header, Motion, Row};

/// What is valued: it says with which probability it would have played what was played, from what is in the row and from
/// the rows before it.
pub trait Target {
    /// What it is called in a report.
    fn name(&self) -> &str;

    /// Whether it stands still; one that learns does not.
    fn motion(&self) -> Motion;

    /// The log says what it has: before the first row, and when bases come or go.
    ///
    /// # Errors
    /// The log does not have what the policy needs.
    fn meet(&mut self, _: &Header) -> Result<(), String> {
        Ok(())
    }

    /// After the last row: whether the log ever had what the policy needs. What comes and goes, as bases do, is known only then.
    ///
    /// # Errors
    /// It never had.
    fn met(&self) -> Result<(), String> {
        Ok(())
    }

    /// Its probability of the action that was played; `None` where it is not known.
    fn probability(&mut self, row: &Row) -> Option<f64>;

    /// Its probability of every offered action, appended to `into`; whether it is known.
    fn distribution(&mut self, row: &Row, into: &mut Vec<f64>) -> bool;

    /// Sees what came of the row, after the other methods were asked.
    fn learn(&mut self, _: &Row) {}
}

/// A policy that a log has itself, by its name: `uniform`, `action:NAME`, `base:NAME`, `mix:NAME=SHARE,...`,
/// `column:NAME`, `logger`.
#[derive(Debug, Clone, PartialEq)]
pub struct Named {
    name: String,
    kind: Kind,
    /// The bases that the log has named so far.
    bases: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Uniform,
    Logger,
    Action { name: String, index: u32, offered: bool },
    Mixture(Vec<Part>),
    Column { name: String, index: usize },
}

/// A base in a mixture; no index while the log does not have it.
#[derive(Debug, Clone, PartialEq)]
struct Part {
    name: String,
    share: f64,
    index: Option<usize>,
}

impl Named {
    /// Reads the name of a policy.
    ///
    /// # Errors
    /// It names none.
    pub fn read(text: &str) -> Result<Self, String> {
        let kind = match text.split_once(':') {
            None if text == "uniform" => Kind::Uniform,
            None if text == "logger" => Kind::Logger,
            Some(("action", name)) => Kind::Action { name: name.to_owned(), index: 0, offered: false },
            Some(("column", name)) => Kind::Column { name: name.to_owned(), index: 0 },
            Some(("base", name)) => {
                Kind::Mixture(vec![Part { name: name.to_owned(), share: 1.0, index: None }])
            }
            Some(("mix", parts)) => Kind::Mixture(mixture(parts)?),
            _ => {
                return Err(format!(
                    "a policy is uniform, logger, base:NAME, mix:NAME=SHARE,NAME=SHARE, action:NAME or column:NAME, \
                     but is {text:?}"
                ));
            }
        };
        Ok(Self { name: text.to_owned(), kind, bases: Vec::new() })
    }

    /// The column that it reads.
    pub fn column(&self) -> Option<&str> {
        match &self.kind {
            Kind::Column { name, .. } => Some(name),
            _ => None,
        }
    }

    /// Whether it needs what a log says of its bases.
    pub fn needs_bases(&self) -> bool {
        matches!(self.kind, Kind::Mixture(_))
    }
}

fn mixture(text: &str) -> Result<Vec<Part>, String> {
    let parts: Option<Vec<Part>> = text
        .split(',')
        .map(|part| {
            let (name, share) = part.rsplit_once('=')?;
            let share = share.trim().parse().ok().filter(|s| (0.0..=1.0).contains(s))?;
            Some(Part { name: name.trim().to_owned(), share, index: None })
        })
        .collect();
    let total: f64 = parts.iter().flatten().map(|p| p.share).sum();
    match parts {
        Some(parts) if (total - 1.0).abs() < 1e-9 => Ok(parts),
        Some(_) => Err(format!("the shares of a mixture must add to 1, but add to {total}")),
        None => Err(format!("a mixture is NAME=SHARE,NAME=SHARE with shares in [0, 1], but is {text:?}")),
    }
}

impl Target for Named {
    fn name(&self) -> &str {
        &self.name
    }

    fn motion(&self) -> Motion {
        match self.kind {
            Kind::Uniform | Kind::Action { .. } => Motion::Still,
            _ => Motion::Moves,
        }
    }

    fn meet(&mut self, header: &Header) -> Result<(), String> {
        match &mut self.kind {
            Kind::Uniform | Kind::Logger => {}
            Kind::Action { name, index, .. } => {
                *index = header.find_action(name).ok_or_else(|| missing("action", name, &header.actions))?;
            }
            Kind::Column { name, index } => {
                let found = header.columns.iter().position(|c| c == name);
                *index = found.ok_or_else(|| missing("column", name, &header.columns))?;
            }
            Kind::Mixture(parts) => {
                for part in parts {
                    // The last of its name: a base that was taken out may have come back under it.
                    part.index = header.bases.iter().rposition(|b| *b == part.name);
                }
                for name in &header.bases {
                    if !self.bases.contains(name) {
                        self.bases.push(name.clone());
                    }
                }
            }
        }
        Ok(())
    }

    fn met(&self) -> Result<(), String> {
        match &self.kind {
            Kind::Action { name, offered: false, .. } => {
                Err(format!("the log never offers the action {name:?}"))
            }
            Kind::Mixture(parts) => match parts.iter().find(|part| !self.bases.contains(&part.name)) {
                Some(part) => Err(missing("base", &part.name, &self.bases)),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn probability(&mut self, row: &Row) -> Option<f64> {
        match &mut self.kind {
            Kind::Uniform => {
                row.offered.position(row.action)?;
                Some(1.0 / row.offered.len() as f64)
            }
            Kind::Logger => row.propensity,
            Kind::Action { index, offered, .. } => {
                // Where it is not offered, the policy is not defined.
                row.offered.position(*index)?;
                *offered = true;
                Some(if row.action == *index { 1.0 } else { 0.0 })
            }
            Kind::Column { index, .. } => match row.columns.get(*index)?.as_slice() {
                [one] => Some(*one),
                many if many.len() == row.offered.len() => Some(many[row.offered.position(row.action)?]),
                _ => None,
            },
            Kind::Mixture(parts) => {
                let sum = parts.iter().try_fold(0.0, |sum, part| {
                    let q = row.q.get(part.index?).filter(|q| !q.is_nan())?;
                    Some(sum + part.share * q)
                })?;
                Some(sum)
            }
        }
    }

    fn distribution(&mut self, row: &Row, into: &mut Vec<f64>) -> bool {
        let actions = row.offered.len();
        let from = into.len();
        match &self.kind {
            Kind::Uniform => into.extend((0..actions).map(|_| 1.0 / actions as f64)),
            Kind::Logger => into.extend_from_slice(&row.logger),
            Kind::Action { index, .. } => {
                let Some(at) = row.offered.position(*index) else { return false };
                into.extend((0..actions).map(|a| if a == at { 1.0 } else { 0.0 }));
            }
            Kind::Column { index, .. } => match row.columns.get(*index) {
                Some(many) if many.len() == actions => into.extend_from_slice(many),
                _ => return false,
            },
            Kind::Mixture(parts) => {
                into.resize(from + actions, 0.0);
                for part in parts {
                    let block = part.index.and_then(|i| row.full.get(i * actions..(i + 1) * actions));
                    let Some(block) = block else {
                        into.truncate(from);
                        return false;
                    };
                    into[from..].iter_mut().zip(block).for_each(|(p, own)| *p += part.share * own);
                }
            }
        }
        let known = into.len() == from + actions && into[from..].iter().all(|p| !p.is_nan());
        if !known {
            into.truncate(from);
        }
        known && actions > 0
    }
}

fn missing(what: &str, name: &str, known: &[String]) -> String {
    let mut names: Vec<&str> = known.iter().take(20).map(String::as_str).collect();
    if known.len() > names.len() {
        names.push("...");
    }
    match names.is_empty() {
        true => format!("the log has no {what} {name:?}; it names none"),
        false => format!("the log has no {what} {name:?}; it has: {}", names.join(", ")),
    }
}
