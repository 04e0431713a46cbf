//! From Python's values to ours and back.

use std::sync::Arc;

use corral_core::{Context, Set, Space};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};
use serde::Serialize;

use crate::errors::{Answer, Error};

/// Writes the numbers of a list or of an array of one dimension behind those of `into`.
pub fn append(x: &Bound<'_, PyAny>, into: &mut Vec<f64>) -> Answer<()> {
    let given =
        x.cast::<PyArray1<f64>>().cloned().or_else(|_| doubles(x)?.cast_into().map_err(|_| one(x)))?;
    match given.try_readonly() {
        Ok(numbers) => into.extend(numbers.as_array().iter()),
        Err(error) => return Err(Error::value(error)),
    }
    Ok(())
}

/// The numbers of an array of two dimensions, row after row, and how long a row is.
pub fn rows(x: &Bound<'_, PyAny>) -> Answer<(Vec<f64>, usize)> {
    let two = || Error::value("an array of two dimensions is needed, a row each");
    let given = x.cast::<PyArray2<f64>>().cloned().or_else(|_| doubles(x)?.cast_into().map_err(|_| two()))?;
    let numbers = given.try_readonly().map_err(Error::value)?;
    Ok((numbers.as_array().iter().copied().collect(), given.shape()[1]))
}

fn one(x: &Bound<'_, PyAny>) -> Error {
    let shape = doubles(x).and_then(|array| Ok(array.getattr("shape")?.to_string())).unwrap_or_default();
    Error::value(format!("an array of one dimension is needed, but the shape is {shape}"))
}

/// `numpy.asarray(x, dtype=float)`.
fn doubles<'py>(x: &Bound<'py, PyAny>) -> Answer<Bound<'py, PyAny>> {
    let numpy = x.py().import(intern!(x.py(), "numpy"))?;
    Ok(numpy.call_method1(intern!(x.py(), "asarray"), (x, x.py().get_type::<PyFloat>()))?)
}

/// A Python value as TOML: what a spec file may hold. `None` is left out.
pub fn toml(value: &Bound<'_, PyAny>) -> Answer<Option<toml::Value>> {
    if value.is_none() {
        return Ok(None);
    }
    let value = match value.getattr_opt(intern!(value.py(), "tolist"))? {
        // A number or an array of numpy.
        Some(plain) => plain.call0()?,
        None => value.clone(),
    };
    Ok(Some(if let Ok(yes) = value.cast::<PyBool>() {
        toml::Value::Boolean(yes.is_true())
    } else if value.is_instance_of::<PyInt>() {
        toml::Value::Integer(value.extract()?)
    } else if value.is_instance_of::<PyFloat>() {
        toml::Value::Float(value.extract()?)
    } else if let Ok(text) = value.cast::<PyString>() {
        toml::Value::String(text.to_str()?.to_owned())
    } else if let Ok(dict) = value.cast::<PyDict>() {
        toml::Value::Table(table(dict)?)
    } else if let Ok(items) = value.try_iter() {
        let mut list = Vec::new();
        for item in items {
            list.extend(toml(&item?)?);
        }
        toml::Value::Array(list)
    } else {
        let kind = value.get_type().name()?;
        return Err(Error::Type(format!("a table holds numbers, texts, lists and tables, but not a {kind}")));
    }))
}

/// A dictionary as a TOML table.
pub fn table(dict: &Bound<'_, PyDict>) -> Answer<toml::Table> {
    let mut table = toml::Table::new();
    for (key, value) in dict {
        if let Some(value) = toml(&value)? {
            table.insert(key.extract()?, value);
        }
    }
    Ok(table)
}

/// The table of a base: a name, or a dictionary.
pub fn base_table(value: &Bound<'_, PyAny>) -> Answer<toml::Table> {
    match value.cast::<PyDict>() {
        Ok(dict) => table(dict),
        Err(_) => Ok([("name".to_owned(), toml::Value::String(value.extract()?))].into_iter().collect()),
    }
}

/// A name, or a dictionary with the key `name`: the name, and the other keys.
pub fn named(what: &str, value: &Bound<'_, PyAny>) -> Answer<(String, toml::Table)> {
    if let Ok(name) = value.cast::<PyString>() {
        return Ok((name.to_str()?.to_owned(), toml::Table::new()));
    }
    let Ok(dict) = value.cast::<PyDict>() else {
        return Err(Error::Type(format!("{what}: a name, or a dictionary with a name, is needed")));
    };
    let mut table = table(dict)?;
    match table.remove("name") {
        Some(toml::Value::String(name)) => Ok((name, table)),
        _ => Err(Error::value(format!("{what}: the key \"name\" is missing"))),
    }
}

/// Anything that serialises, as Python's dictionaries, lists, texts and numbers.
pub fn plain<'py>(py: Python<'py>, value: &impl Serialize) -> Answer<Bound<'py, PyAny>> {
    json(py, &serde_json::to_value(value).map_err(Error::value)?)
}

fn json<'py>(py: Python<'py>, value: &serde_json::Value) -> Answer<Bound<'py, PyAny>> {
    use serde_json::Value;
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(yes) => PyBool::new(py, *yes).to_owned().into_any(),
        Value::Number(n) => match n.as_i64() {
            Some(whole) => whole.into_pyobject(py).map_err(PyErr::from)?.into_any(),
            None => PyFloat::new(py, n.as_f64().unwrap_or(f64::NAN)).into_any(),
        },
        Value::String(text) => PyString::new(py, text).into_any(),
        Value::Array(items) => {
            let list = PyList::empty(py);
            for item in items {
                list.append(json(py, item)?)?;
            }
            list.into_any()
        }
        Value::Object(map) => {
            let dict = PyDict::new(py);
            for (key, item) in map {
                dict.set_item(key, json(py, item)?)?;
            }
            dict.into_any()
        }
    })
}

/// The context of a round, and the names of its actions where the round has its own.
pub fn context(
    (count, features_of, row_features): (usize, usize, usize),
    x: Option<&Bound<'_, PyAny>>,
    actions: Option<&Bound<'_, PyAny>>,
) -> Answer<(Context, Option<Vec<Arc<str>>>)> {
    let mut features = Vec::new();
    if let Some(x) = x {
        features.reserve_exact(features_of);
        append(x, &mut features).map_err(|e| e.of("x"))?;
    }
    let Some(actions) = actions else {
        if row_features > 0 {
            let need =
                format!("this band was built with row_features={}: give actions, a row each", row_features);
            return Err(Error::value(need));
        }
        return Ok((Context::shared(features, count), None));
    };
    if row_features == 0 {
        return Err(Error::value("actions: this band was built without row_features"));
    }
    let (rows, dim, own) = match actions.cast::<PyDict>() {
        Ok(dict) => {
            let own = dict.keys().iter().map(|key| Ok(Arc::from(key.extract::<&str>()?)));
            let own = own.collect::<PyResult<Vec<Arc<str>>>>()?;
            let (rows, dim) =
                rows(PyList::new(dict.py(), dict.values())?.as_any()).map_err(|e| e.of("actions"))?;
            (rows, dim, Some(own))
        }
        Err(_) => {
            let (rows, dim) = rows(actions).map_err(|e| e.of("actions"))?;
            (rows, dim, None)
        }
    };
    Ok((Context::with_rows(features, rows, dim), own))
}

/// What a band decides on: actions with their names, or points.
pub fn space(
    actions: Option<&Bound<'_, PyAny>>,
    points: Option<&Bound<'_, PyDict>>,
) -> Answer<(Space, Arc<[Arc<str>]>)> {
    match (actions, points) {
        (Some(actions), None) => {
            let (count, names) = action_names(actions)?;
            if count == 0 {
                return Err(Error::value("actions: at least one is needed"));
            }
            if u32::try_from(count).is_err() {
                return Err(Error::value(format!("actions: {count} are more than 2^32")));
            }
            Ok((Space::Arms(count), names))
        }
        (None, Some(points)) => {
            let set: Set = table(points)?.try_into().map_err(|e: toml::de::Error| {
                Error::value(e.message()).of("points: a set as in {\"ball\": {\"dim\": 3}} is needed")
            })?;
            Ok((Space::Points(set), Arc::new([])))
        }
        _ => Err(Error::Type("give actions= or points=, one of them".into())),
    }
}

/// Names, or a number.
fn action_names(given: &Bound<'_, PyAny>) -> Answer<(usize, Arc<[Arc<str>]>)> {
    if let Ok(count) = given.extract::<usize>() {
        return Ok((count, Arc::new([])));
    }
    let mut names: Vec<Arc<str>> = Vec::new();
    let refused = || Error::Type("actions: a list of names, or how many there are".into());
    if given.is_instance_of::<PyString>() {
        return Err(refused());
    }
    for name in given.try_iter().map_err(|_| refused())? {
        let name: Arc<str> = Arc::from(name?.extract::<&str>().map_err(|_| refused())?);
        if names.contains(&name) {
            return Err(Error::value(format!("actions: {name:?} is there twice")));
        }
        names.push(name);
    }
    Ok((names.len(), names.into()))
}
