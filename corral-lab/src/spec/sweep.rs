//! Sweeps: one key of a spec, many values, a learner or an environment for each; and grids: the same for one base of a band.

use std::collections::HashMap;

use corral_core::registry::Unknown;

use super::located::{Node, Place, Table, Value, position};
use super::{Result, SpecError, Swept};

/// The most variants that a sweep makes of one learner or environment.
const MOST_VARIANTS: usize = 10_000;

/// The most bases that one grid makes.
const MOST_BASES: usize = 1_000_000;

/// What may be swept.
const ROOTS: &[&str] = &["rounds", "environment", "induced", "delay", "learner", "bands"];

/// The `sweep` table of a spec.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    axes: Vec<Axis>,
    /// Whether the first values of all keys go together, and the second ones, and so on; else all combinations.
    zipped: bool,
}

/// One key and its values.
#[derive(Debug)]
struct Axis {
    /// The steps to the key; an environment or learner of a list is given by its number.
    path: Vec<String>,
    place: Place,
    values: Vec<Node>,
}

/// A spec in which the keys that concern one learner or environment have one of their values each.
pub(super) struct Variant {
    /// The spec.
    pub table: Table,
    /// What was set.
    pub swept: Vec<Swept>,
    /// Which values, where keys are zipped.
    pub turn: Option<usize>,
}

/// `label`, and what was set.
pub(super) fn label(label: &str, swept: &[Swept]) -> String {
    let set = swept.iter().map(|s| format!(" {}={}", s.name, s.level().text));
    label.to_owned() + &set.collect::<String>()
}

/// Which of the swept keys change what `variants` have made: `made[v]` is that of the variant v.
pub(super) fn changing<T: PartialEq>(variants: &[Variant], made: &[&T]) -> Vec<bool> {
    let axes = variants.first().map_or(0, |v| v.swept.len());
    let others = |variant: &Variant, axis: usize| -> Vec<String> {
        // Zipped keys change together.
        let rest = variant.swept.iter().enumerate().filter(|(i, _)| *i != axis && variant.turn.is_none());
        rest.map(|(_, s)| s.value.to_string()).collect()
    };
    let changes = |axis: usize| {
        // One value alone: it stands in the label as all others do.
        if variants.iter().all(|v| v.swept[axis].value == variants[0].swept[axis].value) {
            return true;
        }
        let mut first = HashMap::new();
        let mut all = variants.iter().zip(made);
        all.any(|(variant, own)| *first.entry(others(variant, axis)).or_insert(own) != own)
    };
    (0..axes).map(changes).collect()
}

impl Sweep {
    pub fn read(spec: &Table) -> Result<Self> {
        let Some(table) = spec.table("sweep")? else { return Ok(Self::default()) };
        let mut sweep = Self::of(table)?;
        for axis in &mut sweep.axes {
            axis.path = resolved(&axis.path, &axis.place, spec)?;
        }
        Ok(sweep)
    }

    /// The keys of `table` and their values.
    fn of(table: &Table) -> Result<Self> {
        let mut sweep = Self { axes: Vec::new(), zipped: table.flag("zip")?.unwrap_or(false) };
        for (key, node) in table.nodes().filter(|(key, _)| *key != "zip") {
            // A path may be written as one quoted key, too.
            let mut path = key.split('.').map(str::to_owned).collect();
            sweep.collect(node, &mut path)?;
        }
        if let (true, Some(first)) = (sweep.zipped, sweep.axes.first()) {
            let long = first.values.len();
            if let Some(other) = sweep.axes.iter().find(|a| a.values.len() != long) {
                let (a, b) = (first.path.join("."), other.path.join("."));
                let why = format!("zip pairs values, but {a} has {long} and {b} has {}", other.values.len());
                return Err(SpecError::at(&other.place, why));
            }
        }
        Ok(sweep)
    }

    /// The keys at and below `node`.
    fn collect(&mut self, node: &Node, path: &mut Vec<String>) -> Result {
        let key = path.join(".");
        let values = match &node.value {
            Value::Array(values) => values.clone(),
            Value::Table(table) if table.get("from").is_some() => range(table, &key)?,
            Value::Table(table) => {
                for (step, inner) in table.nodes() {
                    path.push(step.to_owned());
                    self.collect(inner, path)?;
                    path.pop();
                }
                return Ok(());
            }
            Value::Scalar(_) => return Err(node.wrong(&key, "a list of values, or { from, to, points }")),
        };
        node.place.ensure(!values.is_empty(), format_args!("{key} is swept over an empty list"))?;
        self.axes.push(Axis { path: path.clone(), place: node.place.clone(), values });
        Ok(())
    }

    /// The horizons, where they are swept.
    pub fn rounds(&self) -> Option<&[Node]> {
        self.axes.iter().find(|a| a.path == ["rounds"]).map(|a| a.values.as_slice())
    }

    /// Where its first key stands.
    pub fn place(&self) -> Option<Place> {
        self.axes.first().map(|axis| axis.place.clone())
    }

    /// Whether horizons are zipped with other keys.
    pub fn zips_rounds(&self) -> bool {
        self.zipped && self.rounds().is_some()
    }

    /// The variants of the environment of this number.
    pub fn environments(&self, spec: &Table, number: usize) -> Result<Vec<Variant>> {
        let number = number.to_string();
        self.variants(spec, |path| match path {
            [root, at, ..] if root == "environment" => *at == number,
            [root, ..] => root == "induced" || root == "delay",
            [] => false,
        })
    }

    /// The variants of the learner of this number, which has bases of the bands of which `over` is true.
    pub fn learners(&self, spec: &Table, number: usize, over: impl Fn(&str) -> bool) -> Result<Vec<Variant>> {
        let number = number.to_string();
        self.variants(spec, |path| match path {
            [root, at, ..] if root == "learner" => *at == number,
            [root, band, ..] if root == "bands" => over(band),
            _ => false,
        })
    }

    fn variants(&self, spec: &Table, concerns: impl Fn(&[String]) -> bool) -> Result<Vec<Variant>> {
        let axes: Vec<&Axis> = self.axes.iter().filter(|a| concerns(&a.path)).collect();
        let [first, ..] = axes.as_slice() else {
            return Ok(vec![Variant { table: spec.clone(), swept: Vec::new(), turn: None }]);
        };
        let count = if self.zipped {
            Some(first.values.len())
        } else {
            axes.iter().try_fold(1usize, |n, a| n.checked_mul(a.values.len()))
        };
        let Some(count) = count.filter(|n| *n <= MOST_VARIANTS) else {
            let sizes: Vec<String> = axes.iter().map(|a| a.values.len().to_string()).collect();
            let why =
                format!("the sweep makes {} variants; at most {MOST_VARIANTS} are made", sizes.join(" x "));
            return Err(SpecError::at(&first.place, why));
        };
        (0..count)
            .map(|turn| {
                let mut table = spec.clone();
                let mut swept = Vec::with_capacity(axes.len());
                for (i, axis) in axes.iter().enumerate() {
                    // The last key turns fastest.
                    let faster = || axes[i + 1..].iter().map(|a| a.values.len()).product::<usize>();
                    let pick = if self.zipped { turn } else { turn / faster() % axis.values.len() };
                    let node = axis.values[pick].clone();
                    let key = axis.path.join(".");
                    let mut path: Vec<&str> = axis.path.iter().map(String::as_str).collect();
                    let lone = |node: &Node| matches!(node.value, Value::Table(_));
                    if matches!(path[0], "environment" | "learner") && spec.get(path[0]).is_some_and(lone) {
                        // The number of the only one.
                        path.remove(1);
                    }
                    swept.push(Swept { name: name(axis, &axes), key, value: node.plain() });
                    let lost = |step| format!("there is no {step:?} on the path {}", path.join("."));
                    table.put(&path, node).map_err(|step| SpecError::at(&axis.place, lost(step)))?;
                }
                Ok(Variant { table, swept, turn: self.zipped.then_some(turn) })
            })
            .collect()
    }
}

/// The path that was meant, where one goes through the bases of a learner that are the name of a band: into that band.
fn into_the_band(learner: &Node, path: &[String]) -> Option<String> {
    let at = path.iter().position(|step| step == "bases")?;
    let mut node = learner;
    for step in &path[..=at] {
        node = match &node.value {
            Value::Table(table) => table.get(step)?,
            Value::Array(items) => &items[position(items, step)?],
            Value::Scalar(_) => return None,
        };
    }
    let Value::Scalar(band) = &node.value else { return None };
    let rest = path.get(at + 1..).filter(|rest| !rest.is_empty())?;
    Some(format!("bands.{}.{}", band.as_str()?, rest.join(".")))
}

/// The bases that the table of one base stands for, with what sets them apart: where it has a `grid`, a base for every
/// combination of values. A list of grids is a grid of grids, each of which may be zipped.
pub(super) fn grid(base: &Table) -> Result<Vec<(Table, String)>> {
    let mut plain = base.clone();
    let Some(grid) = plain.remove("grid") else { return Ok(vec![(plain, String::new())]) };
    let mut made = vec![(plain, String::new())];
    for node in grid.one_or_many() {
        let axes = Sweep::of(node.table("grid")?)?;
        let mut next = Vec::new();
        for (table, label) in &made {
            for variant in axes.variants(table, |_| true)? {
                next.push((variant.table.clone(), self::label(label, &variant.swept)));
            }
            let few = next.len() <= MOST_BASES;
            node.place.ensure(few, format_args!("the grid makes more than {MOST_BASES} bases"))?;
        }
        made = next;
    }
    Ok(made)
}

/// The shortest end of an axis's path that no other of `axes` ends with.
fn name(axis: &Axis, axes: &[&Axis]) -> String {
    let end = |a: &Axis, n: usize| a.path[a.path.len().saturating_sub(n)..].join(".");
    let alone = |n: &usize| axes.iter().filter(|a| end(a, *n) == end(axis, *n)).count() == 1;
    let n = (1..=axis.path.len()).find(alone).unwrap_or(axis.path.len());
    end(axis, n)
}

/// The path with the numbers of environments and learners in place of their labels.
fn resolved(path: &[String], place: &Place, spec: &Table) -> Result<Vec<String>> {
    let [root, rest @ ..] = path else { return Ok(Vec::new()) };
    let known = ROOTS.contains(&root.as_str());
    place.ensure(known, Unknown::new("key to sweep", root, ROOTS.iter().copied()))?;
    let no_key = format!("{} cannot be swept: name a key of it", path.join("."));
    place.ensure((root == "rounds") == rest.is_empty(), &no_key)?;
    let Some(node) = spec.get(root).filter(|_| root == "environment" || root == "learner") else {
        return Ok(path.to_vec());
    };
    let (number, rest) = match &node.value {
        Value::Array(items) => {
            let step = rest.first().map(String::as_str).unwrap_or_default();
            let number = position(items, step).ok_or_else(|| {
                let labels: Vec<String> = items.iter().filter_map(Node::label).collect();
                SpecError::at(place, Unknown::new(root.as_str(), step, labels.iter().map(String::as_str)))
            })?;
            (number, &rest[1..])
        }
        // The only one, which a path may name all the same.
        _ => match rest {
            [step, key @ ..] if !key.is_empty() && (step == "0" || node.label().as_ref() == Some(step)) => {
                (0, key)
            }
            _ => (0, rest),
        },
    };
    place.ensure(!rest.is_empty(), no_key)?;
    let one = match &node.value {
        Value::Array(items) => &items[number],
        _ => node,
    };
    if let Some(meant) = into_the_band(one, rest) {
        let why = format!("the bases on the path {} are those of a band: {meant} is the key", path.join("."));
        return Err(SpecError::at(place, why));
    }
    Ok([root.clone(), number.to_string()].into_iter().chain(rest.iter().cloned()).collect())
}

/// `points` values from `from` to `to`, evenly in logarithm, or evenly; whole numbers where both ends are.
fn range(table: &Table, key: &str) -> Result<Vec<Node>> {
    table.only(&["from", "to", "points", "scale"]).map_err(|mut e| {
        e.why += ": a range has from, to, points and scale";
        e
    })?;
    let need = |name: &str| table.need(name, format_args!("the range of {key} has no {name}"));
    let end = |name: &str| -> Result<(f64, bool)> {
        let node = need(name)?;
        let whole = matches!(node.value, Value::Scalar(toml::Value::Integer(_)));
        Ok((node.number(name, "a finite number", f64::is_finite)?, whole))
    };
    let ((from, whole_from), (to, whole_to)) = (end("from")?, end("to")?);
    let points = need("points")?.count("points", 2)?;
    let scale = table.text("scale")?.unwrap_or_else(|| "log".to_owned());
    let known = ["log", "linear"];
    table.place.ensure(known.contains(&&*scale), Unknown::new("scale", &scale, known))?;
    let log = scale == "log";
    let why = format_args!("a range in logarithm needs positive ends, not {from} and {to}");
    table.place.ensure(!log || (from > 0.0 && to > 0.0), why)?;
    let why = format_args!("{points} points of {key}; at most {MOST_VARIANTS} are made");
    table.place.ensure(points <= MOST_VARIANTS as u64, why)?;
    let mut values: Vec<toml::Value> = (0..points)
        .map(|i| {
            let part = i as f64 / (points - 1) as f64;
            let x = match i {
                0 => from,
                _ if i == points - 1 => to,
                _ if log => (from.ln() + part * (to / from).ln()).exp(),
                _ => from + part * (to - from),
            };
            if whole_from && whole_to {
                toml::Value::Integer(x.round() as i64)
            } else {
                toml::Value::Float(rounded(x))
            }
        })
        .collect();
    values.dedup();
    Ok(values.into_iter().map(|v| Node { place: table.place.clone(), value: Value::Scalar(v) }).collect())
}

/// To six significant digits: what a label shows is what is run.
fn rounded(x: f64) -> f64 {
    format!("{x:.5e}").parse().unwrap_or(x)
}
