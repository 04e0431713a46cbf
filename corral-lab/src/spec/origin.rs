//! Where what is built from a table of a spec came from: a key may stand elsewhere than its table, in a sweep or on the command line.

use corral_core::registry::BuildError;

use super::located::{Node, Place, Table, Value};

/// Where a table of a spec stands, and its keys, those of tables in it as paths such as `prior.beta`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    table: Place,
    keys: Vec<(String, Place)>,
}

impl Origin {
    /// Of `table`.
    pub(super) fn of(table: &Table) -> Self {
        let mut keys = Vec::new();
        collect(table, "", &mut keys);
        Self { table: table.place.clone(), keys }
    }

    /// All of it at `place`.
    pub(super) fn at(place: Place) -> Self {
        Self { table: place, keys: Vec::new() }
    }

    /// Where the table begins.
    pub fn place(&self) -> &Place {
        &self.table
    }

    /// Where what `why` is about stands: a key of the table, where one is to blame.
    pub(super) fn blamed(&self, why: &BuildError) -> &Place {
        let about = match why {
            // A thing that is not known was given by its name.
            BuildError::Unknown(unknown) if !unknown.is_key => Some("name"),
            why => why.key(),
        };
        about.and_then(|key| self.key(key)).unwrap_or(&self.table)
    }

    /// Where `key` stands. Errors name a part of a value as their base calls it: `beta.a` or `a` of `prior.beta.a`.
    fn key(&self, key: &str) -> Option<&Place> {
        let ends = |path: &str, end: &str| path.strip_suffix(end).is_some_and(|rest| rest.ends_with('.'));
        let find = |fits: &dyn Fn(&str) -> bool| self.keys.iter().find(|(path, _)| fits(path));
        find(&|path| path == key)
            .or_else(|| find(&|path| ends(path, key)))
            // The value that it is a part of.
            .or_else(|| find(&|path| key.split('.').any(|part| path == part || ends(path, part))))
            .map(|(_, place)| place)
    }
}

fn collect(table: &Table, above: &str, keys: &mut Vec<(String, Place)>) {
    for (key, place, node) in table.entries() {
        let path = format!("{above}{key}");
        if let Node { value: Value::Table(inner), .. } = node {
            collect(inner, &format!("{path}."), keys);
        }
        keys.push((path, place.clone()));
    }
}
