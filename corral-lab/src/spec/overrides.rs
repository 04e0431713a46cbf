//! A spec's text with other values in it.

use std::sync::Arc;

use super::located::{Node, Place, Table};
use super::{Result, SpecError};

/// The text of a spec, read as TOML, with what the command line says instead.
#[derive(Debug, Clone)]
pub struct SpecText {
    text: String,
    pub(super) table: Table,
}

impl SpecText {
    /// Reads TOML.
    ///
    /// # Errors
    /// It is not TOML.
    pub fn parse(text: &str) -> Result<Self> {
        Ok(Self { text: text.to_owned(), table: Table::parse(text)? })
    }

    /// The text: as it was read, or after overrides as TOML that says the same as they do.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// With the values of its `fast` table, if asked for, and then of `key=value` pairs, whose keys are dotted paths
    /// (`environment.means=[0.1,0.2]`, `learner.0.master.rate="fast"`) and whose values are TOML. What is not overridden
    /// keeps its line.
    ///
    /// # Errors
    /// A value that is not TOML, a path that leads nowhere.
    pub fn overridden(mut self, fast: bool, pairs: &[(String, String)]) -> Result<Self> {
        if !fast && pairs.is_empty() {
            return Ok(self);
        }
        if fast && let Some(faster) = self.table.remove("fast") {
            self.table.extend(faster.table("fast")?.clone());
        }
        for (key, value) in pairs {
            let place = Place::Argument(Arc::from(format!("--set {key}={value}")));
            let node = node(key, value, &place)?;
            let path: Vec<&str> = key.split('.').collect();
            self.table
                .put(&path, node)
                .map_err(|step| SpecError::at(&place, format!("there is no {step:?} on this path")))?;
        }
        self.text = toml::to_string(&self.table.params(&[])).map_err(SpecError::whole)?;
        Ok(self)
    }
}

/// The value of a `key=value` pair: TOML, or else the text itself.
///
/// # Errors
/// Neither.
pub fn value_of(key: &str, value: &str) -> Result<toml::Value> {
    node(key, value, &Place::Argument(Arc::from(""))).map(|node| node.plain())
}

fn node(key: &str, value: &str, place: &Place) -> Result<Node> {
    Node::parse(value, place, key)
        .or_else(|| Node::parse(&format!("{value:?}"), place, key))
        .ok_or_else(|| SpecError::whole(format!("--set {key}={value}: the value is not TOML")))
}
