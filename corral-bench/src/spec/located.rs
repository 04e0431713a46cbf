//! TOML that remembers its lines, so that an error can name the place.

use corral_core::catalog::Unknown;
use toml::de::{DeTable, DeValue};

use super::SpecError;

/// A value and the line it stands on.
#[derive(Debug, Clone)]
pub struct Node {
    /// Counted from 1.
    pub line: usize,
    /// The value.
    pub value: Value,
}

/// A TOML value whose parts remember their lines.
#[derive(Debug, Clone)]
pub enum Value {
    /// Anything that is neither an array nor a table.
    Scalar(toml::Value),
    /// An array.
    Array(Vec<Node>),
    /// A table.
    Table(Table),
}

/// A table whose keys remember their lines.
#[derive(Debug, Clone)]
pub struct Table {
    /// The line on which the table begins.
    pub line: usize,
    /// What it is called in messages: "the spec", "learner 2".
    pub called: String,
    entries: Vec<(String, usize, Node)>,
}

impl Table {
    /// Reads `text`.
    ///
    /// # Errors
    /// It is not TOML.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let lines = Lines::of(text);
        let table = DeTable::parse(text).map_err(|e| SpecError {
            line: e.span().map(|s| lines.at(s.start)),
            why: e.message().to_owned(),
        })?;
        Ok(lines.table(table.get_ref(), 1, "the spec"))
    }

    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries.iter().find(|(k, ..)| k == key).map(|(.., node)| node)
    }

    /// Its keys and their values.
    pub fn nodes(&self) -> impl Iterator<Item = (&str, &Node)> {
        self.entries.iter().map(|(k, _, node)| (k.as_str(), node))
    }

    /// Refuses keys that are not in `known`, with the nearest known ones and the line.
    ///
    /// # Errors
    /// Names the first unknown key.
    pub fn only(&self, known: &[&str]) -> Result<(), SpecError> {
        match self.entries.iter().find(|(k, ..)| !known.contains(&k.as_str())) {
            Some((key, line, _)) => {
                let unknown = Unknown::new(format!("key of {}", self.called), key, known.iter().copied());
                Err(SpecError::at(*line, unknown))
            }
            None => Ok(()),
        }
    }

    /// The text at `key`, if it is there.
    ///
    /// # Errors
    /// It is not a string.
    pub fn text(&self, key: &str) -> Result<Option<String>, SpecError> {
        self.get(key)
            .map(|node| match &node.value {
                Value::Scalar(toml::Value::String(s)) => Ok(s.clone()),
                other => Err(node.wrong(key, "a string", other)),
            })
            .transpose()
    }

    /// The truth value at `key`, if it is there.
    ///
    /// # Errors
    /// It is not a boolean.
    pub fn flag(&self, key: &str) -> Result<Option<bool>, SpecError> {
        self.get(key)
            .map(|node| match &node.value {
                Value::Scalar(toml::Value::Boolean(b)) => Ok(*b),
                other => Err(node.wrong(key, "true or false", other)),
            })
            .transpose()
    }

    /// The table at `key`, if it is there.
    ///
    /// # Errors
    /// It is not a table.
    pub fn table(&self, key: &str) -> Result<Option<&Table>, SpecError> {
        self.get(key).map(|node| node.table(key)).transpose()
    }

    /// The keys but those in `without`, as plain TOML for a registry.
    pub fn params(&self, without: &[&str]) -> toml::Table {
        self.entries
            .iter()
            .filter(|(k, ..)| !without.contains(&k.as_str()))
            .map(|(k, _, node)| (k.clone(), node.plain()))
            .collect()
    }
}

impl Node {
    /// This node as a table; `key` is its name in a message.
    ///
    /// # Errors
    /// It is something else.
    pub fn table(&self, key: &str) -> Result<&Table, SpecError> {
        match &self.value {
            Value::Table(table) => Ok(table),
            other => Err(self.wrong(key, "a table", other)),
        }
    }

    /// The elements of an array, or the node itself as the only one.
    pub fn one_or_many(&self) -> &[Node] {
        match &self.value {
            Value::Array(nodes) => nodes,
            _ => std::slice::from_ref(self),
        }
    }

    /// This node as a whole number of at least `least`.
    ///
    /// # Errors
    /// It is not a number, or a smaller one.
    pub fn count(&self, key: &str, least: u64) -> Result<u64, SpecError> {
        match &self.value {
            Value::Scalar(toml::Value::Integer(n)) if u64::try_from(*n).is_ok_and(|n| n >= least) => {
                Ok(*n as u64)
            }
            other => Err(self.wrong(key, &format!("a whole number of at least {least}"), other)),
        }
    }

    /// The error that this node is not what `key` must be.
    pub fn wrong(&self, key: &str, must: &str, found: &Value) -> SpecError {
        let found = match found {
            Value::Scalar(v) => v.to_string(),
            Value::Array(_) => "an array".to_owned(),
            Value::Table(_) => "a table".to_owned(),
        };
        SpecError::at(self.line, format!("{key} must be {must}, but is {found}"))
    }

    fn plain(&self) -> toml::Value {
        match &self.value {
            Value::Scalar(v) => v.clone(),
            Value::Array(nodes) => toml::Value::Array(nodes.iter().map(Node::plain).collect()),
            Value::Table(table) => toml::Value::Table(table.params(&[])),
        }
    }
}

/// Where each line begins.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        Self(std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i + 1)).collect())
    }

    fn at(&self, offset: usize) -> usize {
        self.0.partition_point(|start| *start <= offset).max(1)
    }

    fn table(&self, table: &DeTable<'_>, line: usize, called: &str) -> Table {
        let entries = table
            .iter()
            .map(|(key, value)| {
                let name = key.get_ref().to_string();
                let line = self.at(key.span().start);
                let node = self.node(value.get_ref(), self.at(value.span().start), &name);
                (name, line, node)
            })
            .collect();
        Table { line, called: called.to_owned(), entries }
    }

    fn node(&self, value: &DeValue<'_>, line: usize, called: &str) -> Node {
        let value = match value {
            DeValue::Array(items) => Value::Array(
                items
                    .iter()
                    .enumerate()
                    .map(|(i, item)| {
                        let called = format!("{called} {}", i + 1);
                        self.node(item.get_ref(), self.at(item.span().start), &called)
                    })
                    .collect(),
            ),
            DeValue::Table(table) => Value::Table(self.table(table, line, called)),
            DeValue::String(s) => Value::Scalar(toml::Value::String(s.to_string())),
            DeValue::Boolean(b) => Value::Scalar(toml::Value::Boolean(*b)),
            DeValue::Datetime(d) => Value::Scalar(toml::Value::Datetime(*d)),
            DeValue::Integer(n) => Value::Scalar(match i64::from_str_radix(n.as_str(), n.radix()) {
                Ok(n) => toml::Value::Integer(n),
                // Too large for 64 bits: whoever wanted a count says so.
                Err(_) => toml::Value::String(n.as_str().to_owned()),
            }),
            DeValue::Float(x) => Value::Scalar(match x.as_str().parse() {
                Ok(x) => toml::Value::Float(x),
                Err(_) => toml::Value::String(x.as_str().to_owned()),
            }),
        };
        Node { line, value }
    }
}
