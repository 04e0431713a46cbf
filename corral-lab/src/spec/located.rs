//! TOML that remembers where it stands, so that an error can name the place.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use corral_core::registry::Unknown;
use toml::de::{DeTable, DeValue};

use super::{Result, SpecError};

/// Where a part of a spec stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// On this line of its file, counted from 1.
    Line(usize),
    /// In this argument of the command line: `--set rounds=0`.
    Argument(Arc<str>),
}

impl Place {
    /// The error `why` about what stands here, unless something `holds`.
    ///
    /// # Errors
    /// It does not hold.
    pub fn ensure(&self, holds: bool, why: impl fmt::Display) -> Result {
        if holds { Ok(()) } else { Err(SpecError::at(self, why)) }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Argument(argument) => f.write_str(argument),
        }
    }
}

/// A value and where it stands.
#[derive(Debug, Clone)]
pub struct Node {
    /// Where it begins.
    pub place: Place,
    /// The value.
    pub value: Value,
}

/// A TOML value whose parts remember their places.
#[derive(Debug, Clone)]
pub enum Value {
    /// Anything that is neither an array nor a table.
    Scalar(toml::Value),
    /// An array.
    Array(Vec<Node>),
    /// A table.
    Table(Table),
}

/// A table whose keys remember their places.
#[derive(Debug, Clone)]
pub struct Table {
    /// Where the table begins.
    pub place: Place,
    /// What it is called in messages: "the spec", "learner 2".
    pub called: String,
    entries: Vec<(String, Place, Node)>,
}

impl Table {
    /// Reads `text`.
    ///
    /// # Errors
    /// It is not TOML.
    pub fn parse(text: &str) -> Result<Self> {
        let starts: Vec<usize> =
            std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i + 1)).collect();
        let line = |offset: usize| Place::Line(starts.partition_point(|start| *start <= offset).max(1));
        let table = DeTable::parse(text)
            .map_err(|e| SpecError { place: e.span().map(|s| line(s.start)), why: e.message().to_owned() })?;
        Ok(Places(&line).table(table.get_ref(), Place::Line(1), "the spec"))
    }

    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries.iter().find(|(k, ..)| k == key).map(|(.., node)| node)
    }

    /// The value of `key`, which must be there.
    ///
    /// # Errors
    /// `why`, where it is not.
    pub fn need(&self, key: &str, why: impl fmt::Display) -> Result<&Node> {
        self.get(key).ok_or_else(|| self.error(why))
    }

    /// Its keys and their values.
    pub fn nodes(&self) -> impl Iterator<Item = (&str, &Node)> {
        self.entries.iter().map(|(k, _, node)| (k.as_str(), node))
    }

    /// Its keys, where they stand, and their values.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Place, &Node)> {
        self.entries.iter().map(|(k, place, node)| (k.as_str(), place, node))
    }

    /// Refuses keys that are not in `known`, with the nearest known ones and the line.
    ///
    /// # Errors
    /// Names the first unknown key.
    pub fn only(&self, known: &[&str]) -> Result {
        match self.entries.iter().find(|(k, ..)| !known.contains(&k.as_str())) {
            Some((key, place, _)) => {
                let unknown = Unknown::new(format!("key of {}", self.called), key, known.iter().copied());
                Err(SpecError::at(place, unknown))
            }
            None => Ok(()),
        }
    }

    /// The text at `key`, if it is there.
    ///
    /// # Errors
    /// It is not a string.
    pub fn text(&self, key: &str) -> Result<Option<String>> {
        self.get(key).map(|node| node.text(key)).transpose()
    }

    /// The truth value at `key`, if it is there.
    ///
    /// # Errors
    /// It is not a boolean.
    pub fn flag(&self, key: &str) -> Result<Option<bool>> {
        let read = |node: &Node| match node.value {
            Value::Scalar(toml::Value::Boolean(b)) => Ok(b),
            _ => Err(node.wrong(key, "true or false")),
        };
        self.get(key).map(read).transpose()
    }

    /// The whole number of at least `least` at `key`, if it is there.
    ///
    /// # Errors
    /// It is not a number, or a smaller one.
    pub fn count(&self, key: &str, least: u64) -> Result<Option<u64>> {
        self.get(key).map(|node| node.count(key, least)).transpose()
    }

    /// The number at `key`, if it is there.
    ///
    /// # Errors
    /// It is not a number that `fits`: one that `must` describes.
    pub fn number(&self, key: &str, must: &str, fits: impl Fn(f64) -> bool) -> Result<Option<f64>> {
        self.get(key).map(|node| node.number(key, must, fits)).transpose()
    }

    /// The elements of the array at `key`, or what is there as the only one.
    pub fn list(&self, key: &str) -> &[Node] {
        self.get(key).map(Node::one_or_many).unwrap_or_default()
    }

    /// The error that this table is wrong: `why`.
    pub fn error(&self, why: impl fmt::Display) -> SpecError {
        SpecError::at(&self.place, why)
    }

    /// The table at `key`, if it is there.
    ///
    /// # Errors
    /// It is not a table.
    pub fn table(&self, key: &str) -> Result<Option<&Table>> {
        self.get(key).map(|node| node.table(key)).transpose()
    }

    /// Puts `node` at the end of `path`, whose steps are keys of tables and, in arrays, numbers counted from 0 or labels;
    /// a key that is not there is made.
    ///
    /// # Errors
    /// The step that leads nowhere.
    pub fn put<'a>(&mut self, path: &[&'a str], node: Node) -> Result<(), &'a str> {
        let [key, rest @ ..] = path else { return Err("") };
        let at = match self.entries.iter().position(|(k, ..)| k == key) {
            Some(at) => at,
            None => {
                let empty =
                    Self { place: node.place.clone(), called: (*key).to_owned(), entries: Vec::new() };
                let made = Node { place: node.place.clone(), value: Value::Table(empty) };
                self.entries.push(((*key).to_owned(), node.place.clone(), made));
                self.entries.len() - 1
            }
        };
        let (_, place, found) = &mut self.entries[at];
        if rest.is_empty() {
            *place = node.place.clone();
        }
        found.put(rest, node, key)
    }

    /// Takes `key` out.
    pub fn remove(&mut self, key: &str) -> Option<Node> {
        let at = self.entries.iter().position(|(k, ..)| k == key)?;
        Some(self.entries.remove(at).2)
    }

    /// Takes over the entries of `other`.
    pub fn extend(&mut self, other: Table) {
        for (key, place, node) in other.entries {
            self.remove(&key);
            self.entries.push((key, place, node));
        }
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
    /// The string that stands here.
    ///
    /// # Errors
    /// It is not a string.
    pub fn text(&self, key: &str) -> Result<String> {
        self.as_str().map(str::to_owned).ok_or_else(|| self.wrong(key, "a string"))
    }

    /// The string that stands here, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        if let Value::Scalar(scalar) = &self.value { scalar.as_str() } else { None }
    }

    /// What `text` says in TOML, of a key `called`, all of it at `place`.
    pub fn parse(text: &str, place: &Place, called: &str) -> Option<Self> {
        let text = format!("v = {text}");
        let table = DeTable::parse(&text).ok()?;
        let (_, value) = table.get_ref().iter().find(|(key, _)| key.get_ref() == "v")?;
        Some(Places(&|_| place.clone()).node(value.get_ref(), place.clone(), called))
    }

    fn put<'a>(&mut self, path: &[&'a str], mut node: Node, called: &str) -> Result<(), &'a str> {
        let [step, rest @ ..] = path else {
            if let Value::Table(table) = &mut node.value {
                table.called = called.to_owned();
            }
            *self = node;
            return Ok(());
        };
        match &mut self.value {
            Value::Table(table) => table.put(path, node),
            Value::Array(items) => {
                let at = position(items, step).ok_or(*step)?;
                let item = items.get_mut(at).ok_or(*step)?;
                item.put(rest, node, &format!("{called} {}", at + 1))
            }
            // A name stands for a table that has only its name.
            Value::Scalar(toml::Value::String(_)) => {
                let named = self.named(called).map_err(|_| *step)?.into_owned();
                self.value = Value::Table(named);
                self.put(path, node, called)
            }
            Value::Scalar(_) => Err(step),
        }
    }

    /// What a table is called: its label, its name, or that of its base or master.
    pub fn label(&self) -> Option<String> {
        let Value::Table(table) = &self.value else { return None };
        let own = ["label", "name", "base", "master"].iter().find_map(|key| table.text(key).ok().flatten());
        own.or_else(|| ["base", "master"].iter().find_map(|key| table.get(key)?.label()))
    }

    /// This node as a table; `key` is its name in a message.
    ///
    /// # Errors
    /// It is something else.
    pub fn table(&self, key: &str) -> Result<&Table> {
        match &self.value {
            Value::Table(table) => Ok(table),
            _ => Err(self.wrong(key, "a table")),
        }
    }

    /// This node as a table with a name, which may stand alone: `base = "exp3"` is `base = { name = "exp3" }`.
    ///
    /// # Errors
    /// It is something else.
    pub fn named(&self, key: &str) -> Result<Cow<'_, Table>> {
        match &self.value {
            Value::Table(table) => Ok(Cow::Borrowed(table)),
            Value::Scalar(toml::Value::String(_)) => Ok(Cow::Owned(Table {
                place: self.place.clone(),
                called: key.to_owned(),
                entries: vec![(String::from("name"), self.place.clone(), self.clone())],
            })),
            _ => Err(self.wrong(key, "a name or a table")),
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
    pub fn count(&self, key: &str, least: u64) -> Result<u64> {
        match &self.value {
            Value::Scalar(toml::Value::Integer(n)) if u64::try_from(*n).is_ok_and(|n| n >= least) => {
                Ok(*n as u64)
            }
            _ => Err(self.wrong(key, &format!("a whole number of at least {least}"))),
        }
    }

    /// This node as a number.
    ///
    /// # Errors
    /// It is not one that `fits`: that `must` describes.
    pub fn number(&self, key: &str, must: &str, fits: impl Fn(f64) -> bool) -> Result<f64> {
        let found = match self.value {
            Value::Scalar(toml::Value::Float(x)) => Some(x),
            Value::Scalar(toml::Value::Integer(n)) => Some(n as f64),
            _ => None,
        };
        found.filter(|x| fits(*x)).ok_or_else(|| self.wrong(key, must))
    }

    /// The error that this node is wrong: `why`.
    pub fn error(&self, why: impl fmt::Display) -> SpecError {
        SpecError::at(&self.place, why)
    }

    /// The error that this node is not what `key` must be.
    pub fn wrong(&self, key: &str, must: &str) -> SpecError {
        let found = match &self.value {
            Value::Scalar(v) => v.to_string(),
            Value::Array(_) => "an array".to_owned(),
            Value::Table(_) => "a table".to_owned(),
        };
        self.error(format_args!("{key} must be {must}, but is {found}"))
    }

    /// Whether `text` stands here, alone or in a list.
    pub fn mentions(&self, text: &str) -> bool {
        self.one_or_many().iter().any(|n| n.as_str() == Some(text))
    }

    /// As plain TOML.
    pub fn plain(&self) -> toml::Value {
        match &self.value {
            Value::Scalar(v) => v.clone(),
            Value::Array(nodes) => toml::Value::Array(nodes.iter().map(Node::plain).collect()),
            Value::Table(table) => toml::Value::Table(table.params(&[])),
        }
    }
}

/// The place of `step` in an array: a number counted from 0, or a label or name.
pub fn position(items: &[Node], step: &str) -> Option<usize> {
    match step.parse::<usize>() {
        Ok(at) => Some(at).filter(|at| *at < items.len()),
        Err(_) => items.iter().position(|item| item.label().as_deref() == Some(step)),
    }
}

/// Where what begins at an offset of the text stands.
struct Places<'a>(&'a dyn Fn(usize) -> Place);

impl Places<'_> {
    fn table(&self, table: &DeTable<'_>, place: Place, called: &str) -> Table {
        let entries = table
            .iter()
            .map(|(key, value)| {
                let name = key.get_ref().to_string();
                let node = self.node(value.get_ref(), (self.0)(value.span().start), &name);
                (name, (self.0)(key.span().start), node)
            })
            .collect();
        Table { place, called: called.to_owned(), entries }
    }

    fn node(&self, value: &DeValue<'_>, place: Place, called: &str) -> Node {
        let value = match value {
            DeValue::Array(items) => Value::Array(
                items
                    .iter()
                    .enumerate()
                    .map(|(i, item)| {
                        let called = format!("{called} {}", i + 1);
                        self.node(item.get_ref(), (self.0)(item.span().start), &called)
                    })
                    .collect(),
            ),
            DeValue::Table(table) => Value::Table(self.table(table, place.clone(), called)),
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
        Node { place, value }
    }
}
