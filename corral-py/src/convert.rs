//! From Python's values to ours and back.

use std::collections::HashSet;
use std::sync::Arc;

use corral_bases::band::{MasterRecipe, Spend};
use corral_core::registry::Unknown;
use corral_core::{Context, FeatureRange, Scale, Set, Space};
use corral_lab::saved::Actions;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};
use serde::Serialize;

use crate::args::{Ranged, real};
use crate::errors::{Answer, Error};
use crate::exit;

/// The range of features, and what becomes of those outside.
pub fn feature_range(given: Option<Ranged>, outside: &str) -> Answer<FeatureRange> {
    let bounded: fn(Vec<(f64, f64)>) -> FeatureRange = match outside {
        "clip" => FeatureRange::Clip,
        "refuse" => FeatureRange::Refuse,
        other => return Err(Unknown::new("outside", other, ["clip", "refuse"]).into()),
    };
    Ok(match given {
        None => FeatureRange::Any,
        Some(Ranged::Word(word)) if word == "learned" => FeatureRange::Learned,
        Some(Ranged::Word(word)) => return Err(Unknown::new("feature_range", &word, ["learned"]).into()),
        Some(Ranged::Pairs(pairs)) => bounded(pairs),
    })
}

/// Writes the numbers of a list or of an array of one dimension behind those of `into`.
pub fn append(x: &Bound<'_, PyAny>, into: &mut Vec<f64>) -> Answer<()> {
    let given = match plain_array(x).and_then(|x| x.cast::<PyArray1<f64>>().ok()) {
        Some(given) => given.clone(),
        None => doubles(x)?.cast_into().map_err(|_| one(x))?,
    };
    match given.try_readonly() {
        Ok(numbers) => into.extend(numbers.as_array().iter()),
        Err(error) => return Err(Error::value(error)),
    }
    Ok(())
}

/// The numbers of an array of two dimensions, row after row, and how long a row is.
pub fn rows(x: &Bound<'_, PyAny>) -> Answer<(Vec<f64>, usize)> {
    let two = || Error::value("an array of two dimensions is needed, a row each");
    let given = match plain_array(x).and_then(|x| x.cast::<PyArray2<f64>>().ok()) {
        Some(given) => given.clone(),
        None => doubles(x)?.cast_into().map_err(|_| two())?,
    };
    let numbers = given.try_readonly().map_err(Error::value)?;
    Ok((numbers.as_array().iter().copied().collect(), given.shape()[1]))
}

/// A data frame with its columns in the order of `names`; `None` where nothing has names. Other columns than these are refused: its
/// numbers would be those of other actions.
pub fn by_name<'py>(frame: &Bound<'py, PyAny>, names: &[Arc<str>]) -> Answer<Option<Bound<'py, PyAny>>> {
    let Some(columns) = frame.getattr_opt(intern!(frame.py(), "columns"))?.filter(|_| !names.is_empty())
    else {
        return Ok(None);
    };
    let found = columns.try_iter()?.map(|name| Ok(name?.str()?.to_string())).collect::<PyResult<Vec<_>>>()?;
    let own = |name: &String| names.iter().any(|known| **known == **name);
    let same = found.len() == names.len()
        && found.iter().collect::<HashSet<_>>().len() == names.len()
        && found.iter().all(own);
    let why = format_args!(
        "the columns are {found:?}, but the actions are {names:?}: name them so, or give an array in their order"
    );
    Error::unless(same, why)?;
    Ok(Some(frame.get_item(PyList::new(frame.py(), names.iter().map(|name| &**name))?)?))
}

/// Whether it has two dimensions.
pub fn is_table(x: &Bound<'_, PyAny>) -> bool {
    match x.getattr(intern!(x.py(), "ndim")) {
        Ok(dimensions) => dimensions.extract::<usize>().is_ok_and(|n| n == 2),
        Err(_) => x.get_item(0).is_ok_and(|first| first.try_iter().is_ok()),
    }
}

fn one(x: &Bound<'_, PyAny>) -> Error {
    let shape = doubles(x).and_then(|array| Ok(array.getattr("shape")?.to_string())).unwrap_or_default();
    Error::value(format!("an array of one dimension is needed, but the shape is {shape}"))
}

/// An array of numpy, and not of a class of its own, which may mean something else by its numbers: a mask, say.
fn plain_array<'a, 'py>(x: &'a Bound<'py, PyAny>) -> Option<&'a Bound<'py, PyAny>> {
    x.is_exact_instance_of::<PyUntypedArray>().then_some(x)
}

/// `numpy.asarray(x, dtype=float)`, of what is a real number each: numpy would drop masks and imaginary parts, and count days.
fn doubles<'py>(x: &Bound<'py, PyAny>) -> Answer<Bound<'py, PyAny>> {
    exit::call(x.py(), || as_doubles(x))
}

fn as_doubles<'py>(x: &Bound<'py, PyAny>) -> Answer<Bound<'py, PyAny>> {
    let py = x.py();
    let numpy = py.import(intern!(py, "numpy"))?;
    if plain_array(x).is_none() {
        unmasked(&numpy, x, None)?;
    }
    let array = numpy.call_method1(intern!(py, "asarray"), (x,)).map_err(|error| {
        let ragged = error.is_instance_of::<PyValueError>(py);
        if ragged {
            Error::value(format!("numbers in rows of one length are needed: {}", error.value(py)))
        } else {
            error.into()
        }
    })?;
    let kind = array.getattr(intern!(py, "dtype"))?;
    let of = |what: &str| Err(Error::value(format!("numbers are needed, but these are {what} ({kind})")));
    match kind.getattr(intern!(py, "kind"))?.extract::<char>()? {
        'b' | 'i' | 'u' | 'f' => {}
        'c' => return of("complex"),
        'M' => return of("dates"),
        'm' => return of("times"),
        'U' | 'S' | 'T' => return of("texts"),
        'O' => numbers(&array)?,
        _ => return of("something else"),
    }
    Ok(numpy.call_method1(intern!(py, "asarray"), (array, py.get_type::<PyFloat>()))?)
}

/// Refuses a masked value of an array, or of an array in a list, whose place is `row`.
fn unmasked(numpy: &Bound<'_, PyModule>, x: &Bound<'_, PyAny>, row: Option<usize>) -> Answer<()> {
    if let (Ok(items), None) = (x.cast::<PyList>(), row) {
        let own =
            |item: &Bound<'_, PyAny>| !item.is_instance_of::<PyFloat>() && !item.is_instance_of::<PyInt>();
        let mut rows = items.iter().enumerate().filter(|(_, item)| own(item));
        return rows.try_for_each(|(i, item)| unmasked(numpy, &item, Some(i)));
    }
    let ma = numpy.getattr(intern!(x.py(), "ma"))?;
    if !x.is_instance(&ma.getattr(intern!(x.py(), "MaskedArray"))?)? {
        return Ok(());
    }
    let mask = ma.call_method1(intern!(x.py(), "getmaskarray"), (x,))?;
    let flags: Vec<bool> = mask.call_method0(intern!(x.py(), "ravel"))?.extract()?;
    let Some(first) = flags.iter().position(|masked| *masked) else { return Ok(()) };
    let at = place(first, &mask.getattr(intern!(x.py(), "shape"))?.extract::<Vec<usize>>()?, row);
    Err(Error::value(format!("the number at place {at} is masked")))
}

/// Refuses an array of objects unless they are numbers: whole ones of any size, or those of a table whose cells may be empty.
fn numbers(array: &Bound<'_, PyAny>) -> Answer<()> {
    let shape: Vec<usize> = array.getattr(intern!(array.py(), "shape"))?.extract()?;
    for (i, item) in array.getattr(intern!(array.py(), "flat"))?.try_iter()?.enumerate() {
        let item = item?;
        if item.is_instance_of::<PyInt>() {
            real(&item).map_err(|e| e.of(format_args!("the number at place {}", place(i, &shape, None))))?;
        } else if !item.is_instance_of::<PyFloat>() {
            let (at, kind) = (place(i, &shape, None), item.get_type().name()?);
            return Err(Error::value(format!("numbers are needed, but at place {at} is an object ({kind})")));
        }
    }
    Ok(())
}

/// Where the `flat`-th number of an array is, which may itself be a row.
fn place(mut flat: usize, shape: &[usize], row: Option<usize>) -> String {
    let mut places = Vec::new();
    for length in shape.iter().rev() {
        places.push((flat % length).to_string());
        flat /= length;
    }
    places.extend(row.map(|row| row.to_string()));
    places.reverse();
    if let [one] = places.as_slice() { one.clone() } else { format!("({})", places.join(", ")) }
}

/// How deep tables and lists may be nested.
const DEEPEST: usize = 64;

/// Says how an object with `propose` is named in a table.
pub type Names<'a> = &'a mut dyn FnMut(&Bound<'_, PyAny>) -> Answer<toml::Table>;

/// A dictionary as a TOML table: what a spec file may hold. `None` is left out.
pub fn table(dict: &Bound<'_, PyDict>) -> Answer<toml::Table> {
    let refuse = |object: &Bound<'_, PyAny>| {
        let kind = object.get_type().name()?;
        Err(Error::Type(format!("a {kind}: Python objects are bases of a band, and not of a band inside it")))
    };
    table_naming(dict, &mut { refuse })
}

/// The same, where objects may be bases: they are named.
pub fn table_naming(dict: &Bound<'_, PyDict>, names: Names<'_>) -> Answer<toml::Table> {
    table_at(dict, DEEPEST, names)
}

fn table_at(dict: &Bound<'_, PyDict>, deeper: usize, names: Names<'_>) -> Answer<toml::Table> {
    let mut table = toml::Table::new();
    for (key, value) in dict {
        let Ok(key) = key.extract::<String>() else {
            return Err(Error::Type(format!("the keys of a table are texts, but one is {}", key.repr()?)));
        };
        let whole = |e: Error| if deeper == DEEPEST { e.of(&key) } else { e };
        if let Some(value) = toml(&value, deeper, names).map_err(whole)? {
            table.insert(key, value);
        }
    }
    Ok(table)
}

fn toml(value: &Bound<'_, PyAny>, deeper: usize, names: Names<'_>) -> Answer<Option<toml::Value>> {
    if value.is_none() {
        return Ok(None);
    }
    let Some(deeper) = deeper.checked_sub(1) else {
        return Err(Error::value(format!("tables and lists are nested more than {DEEPEST} deep")));
    };
    if let Some(path) = frame(value)? {
        return Ok(Some(toml::Value::String(path)));
    }
    if value.hasattr(intern!(value.py(), "propose"))? {
        return Ok(Some(toml::Value::Table(names(value)?)));
    }
    let value = match value.getattr_opt(intern!(value.py(), "tolist"))? {
        // A number or an array of numpy.
        Some(plain) => plain.call0()?,
        None => value.clone(),
    };
    Ok(Some(if let Ok(yes) = value.cast::<PyBool>() {
        toml::Value::Boolean(yes.is_true())
    } else if value.is_instance_of::<PyInt>() {
        let whole = value.extract().map_err(|_| Error::value(format!("{value} takes more than 64 bits")))?;
        toml::Value::Integer(whole)
    } else if value.is_instance_of::<PyFloat>() {
        toml::Value::Float(value.extract()?)
    } else if let Ok(text) = value.cast::<PyString>() {
        toml::Value::String(text.to_str()?.to_owned())
    } else if let Ok(dict) = value.cast::<PyDict>() {
        toml::Value::Table(table_at(dict, deeper, names)?)
    } else if let Ok(items) = value.try_iter() {
        let mut list = Vec::new();
        for item in items {
            list.extend(toml(&item?, deeper, names)?);
        }
        toml::Value::Array(list)
    } else {
        let kind = value.get_type().name()?;
        return Err(Error::Type(format!("a table holds numbers, texts, lists and tables, but not a {kind}")));
    }))
}

/// Where a data frame is kept as a file, for whatever reads files.
fn frame(value: &Bound<'_, PyAny>) -> Answer<Option<String>> {
    for writer in ["to_csv", "write_csv"] {
        if value.hasattr(writer)? {
            let kept = value.py().import("corral._frames")?.call_method1("kept", (value,))?;
            return Ok(Some(kept.extract()?));
        }
    }
    Ok(None)
}

/// The table of a base: a name, or a dictionary.
pub fn base_table(value: &Bound<'_, PyAny>) -> Answer<toml::Table> {
    match value.cast::<PyDict>() {
        Ok(dict) => table(dict),
        Err(_) => Ok([("name".to_owned(), toml::Value::String(value.extract()?))].into_iter().collect()),
    }
}

/// Bands of the same `bases` under these masters, as dictionaries.
pub fn bands<'py>(bases: &Bound<'py, PyAny>, masters: Vec<MasterRecipe>) -> Answer<Vec<Bound<'py, PyAny>>> {
    let py = bases.py();
    let bases = PyList::new(py, bases.try_iter()?.collect::<Result<Vec<_>, _>>()?)?;
    let band = |master: MasterRecipe| -> Answer<Bound<'py, PyAny>> {
        let own = plain(py, &master.keys())?;
        own.set_item("name", &master.name)?;
        master.cut.map_or(Ok(()), |cut| own.set_item("cut", cut))?;
        master.guard.map_or(Ok(()), |guard| own.set_item("guard", guard))?;
        if let Some(feed) = master.feed {
            own.set_item("feed", plain(py, &feed)?)?;
        }
        if let Some(credit) = master.credit {
            own.set_item("credit", plain(py, &credit)?)?;
        }
        master.price.map_or(Ok(()), |price| own.set_item("price", price))?;
        let band = PyDict::new(py);
        let priced = master.price.map(|price| format!("{} at price {price:.3}", master.name));
        band.set_item("label", priced.as_ref().unwrap_or(&master.name))?;
        band.set_item("master", own)?;
        band.set_item("bases", &bases)?;
        Ok(band.into_any())
    };
    masters.into_iter().map(band).collect()
}

/// The range of rewards: a pair, or "learned".
pub fn reward_range(given: Option<&Bound<'_, PyAny>>) -> Answer<Scale> {
    let Some(given) = given else { return Ok(Scale::rewards(0.0, 1.0)) };
    if given.extract::<&str>().is_ok_and(|word| word == "learned") {
        return Ok(Scale::learned());
    }
    let must = || Error::Type("reward_range: (low, high), or \"learned\"".into());
    let (low, high) = crate::args::pair(given).ok_or_else(must)?;
    Ok(Scale::rewards(low, high))
}

/// A budget: what a decision may cost on average, or a dictionary that says it.
pub fn spend(given: &Bound<'_, PyAny>) -> Answer<Spend> {
    if let Ok(per_round) = given.extract::<f64>() {
        return Ok(Spend { per_round });
    }
    let must = || Error::Type("budget: what a decision may cost on average, or {\"per_round\": that}".into());
    let table = table(given.cast::<PyDict>().map_err(|_| must())?)?;
    table.try_into().map_err(|_| must())
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
    let text = serde_json::to_string(value).map_err(Error::value)?;
    Ok(py.import("json")?.call_method1("loads", (text,))?)
}

/// A page in a frame, as a notebook shows it.
pub fn framed(page: &str) -> String {
    let page = page.replace('&', "&amp;").replace('"', "&quot;");
    format!("<iframe srcdoc=\"{page}\" style=\"width:100%;height:40em;border:0\"></iframe>")
}

/// The context of a round, and the names of its actions where they are not all of the band's.
pub fn context(
    (count, features_of, row_features): (usize, usize, usize),
    band: &Actions,
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
        return Ok(offering(Context::shared(features, count), band, band.offer.to_vec()));
    };
    if row_features == 0 {
        let rows =
            "actions: a row for each, but this band was built without row_features: give a list of names";
        Error::unless(!actions.is_instance_of::<PyDict>(), rows)?;
        return Ok(offering(Context::shared(features, count), band, listed(actions, band)?));
    }
    let labelled = labelled_rows(actions)?;
    if let Some(dict) = labelled.as_ref().or(actions.cast::<PyDict>().ok()) {
        let (own, numbers, given) = offered(dict, band)?;
        let (rows, dim) = rows(&given).map_err(|e| e.of("actions"))?;
        let (context, _) = offering(Context::with_rows(features, rows, dim), band, numbers);
        return Ok((context, Some(own)));
    }
    let (rows, dim) = rows(actions).map_err(|e| e.of("actions"))?;
    let context = Context::with_rows(features, rows, dim);
    let (found, live) = (context.actions(), band.live().len());
    // An array has no names: in a band that has some it has a row for each action that is there.
    if live > 0 && found != live {
        let names = "give a dictionary of names and rows to offer some of them";
        return Err(Error::value(format!(
            "actions: {found} rows, but the band offers {live} actions: {names}"
        )));
    }
    Ok(offering(context, band, band.offer.to_vec()))
}

/// The rows of a data frame by the texts of its index, where it has such.
fn labelled_rows<'py>(frame: &Bound<'py, PyAny>) -> Answer<Option<Bound<'py, PyDict>>> {
    let py = frame.py();
    let Some(index) = frame.getattr_opt(intern!(py, "index"))?.filter(|index| !index.is_callable()) else {
        return Ok(None);
    };
    let labels = index.try_iter()?.collect::<PyResult<Vec<_>>>()?;
    if !labels.iter().any(|label| label.is_instance_of::<PyString>()) {
        return Ok(None);
    }
    let dict = PyDict::new(py);
    let rows = py.import(intern!(py, "numpy"))?.call_method1(intern!(py, "asarray"), (frame,))?;
    for (label, row) in labels.into_iter().zip(rows.try_iter()?) {
        Error::unless(!dict.contains(&label)?, format_args!("actions: {label:?} is there twice"))?;
        dict.set_item(label, row?)?;
    }
    Ok(Some(dict))
}

/// The context where these actions are offered, by number, and their names. Without numbers, or with the first ones, it is as it was.
fn offering(x: Context, band: &Actions, numbers: Vec<u32>) -> (Context, Option<Vec<Arc<str>>>) {
    if numbers.is_empty() {
        return (x, None);
    }
    let own = numbers.iter().map(|number| Arc::clone(&band.names[*number as usize])).collect();
    let first = numbers.last().is_some_and(|last| *last as usize + 1 == numbers.len());
    let all = first && x.row_dim() == 0 && numbers.len() == x.actions();
    (if all || (first && x.row_dim() > 0) { x } else { x.offering(numbers) }, Some(own))
}

/// The number of an action that the band offers.
fn number(name: &str, band: &Actions) -> Answer<u32> {
    let live = band.live();
    let known = |of: &u32| &*band.names[*of as usize];
    let found = live.iter().find(|of| known(of) == name);
    found.copied().ok_or_else(|| Unknown::new("action", name, live.iter().map(known)).into())
}

/// The numbers of the actions that a list names, in their order.
fn listed(actions: &Bound<'_, PyAny>, band: &Actions) -> Answer<Vec<u32>> {
    let must = "actions: a list of names of the band's actions is needed (feature rows need row_features)";
    let listed = !band.names.is_empty() && !actions.is_instance_of::<PyString>();
    let items = actions.try_iter().map_err(|_| Error::Type(must.into()))?;
    Error::unless(listed, must)?;
    let mut numbers = Vec::new();
    for name in items {
        let name = name?;
        let name = name.extract::<&str>().map_err(|_| Error::Type(must.into()))?;
        let number = number(name, band)?;
        Error::unless(!numbers.contains(&number), format_args!("actions: {name:?} is there twice"))?;
        numbers.push(number);
    }
    Error::unless(!numbers.is_empty(), "actions: at least one is needed")?;
    numbers.sort_unstable();
    Ok(numbers)
}

/// Names, numbers and rows of actions.
type Offered<'py> = (Vec<Arc<str>>, Vec<u32>, Bound<'py, PyAny>);

/// The names, numbers and rows of a dictionary of actions, in the order of the band's names.
fn offered<'py>(dict: &Bound<'py, PyDict>, band: &Actions) -> Answer<Offered<'py>> {
    let mut given = Vec::new();
    for (name, row) in dict {
        let name: Arc<str> = Arc::from(name.extract::<&str>()?);
        // By their places in the dictionary, what was learned of one would be taken for another as soon as one is left out.
        let unnamed = || {
            format!(
                "actions: {name:?} is a name, but this band has numbers: build it with the names of its actions, actions=[{name:?}, ...] \
                 (and max_actions= for those that join later), or give an array of rows"
            )
        };
        if band.names.is_empty() {
            return Err(Error::value(unnamed()));
        }
        given.push((number(&name, band)?, name, row));
    }
    Error::unless(!given.is_empty(), "actions: at least one is needed")?;
    given.sort_by_key(|(number, ..)| *number);
    let numbers = given.iter().map(|(number, ..)| *number).collect();
    let (own, rows): (Vec<_>, Vec<_>) = given.into_iter().map(|(_, name, row)| (name, row)).unzip();
    Ok((own, numbers, PyList::new(dict.py(), rows)?.into_any()))
}

/// What a band decides on: actions with their names, or points.
pub fn space(
    actions: Option<&Bound<'_, PyAny>>,
    most: Option<u64>,
    points: Option<&Bound<'_, PyDict>>,
) -> Answer<(Space, Arc<[Arc<str>]>)> {
    match (actions, points) {
        (Some(actions), None) => {
            let (count, names) = action_names(actions)?;
            Error::unless(count > 0, "actions: at least one is needed")?;
            let most = most.map(|most| usize::try_from(most).unwrap_or(usize::MAX));
            let more = most.is_none_or(|most| most >= count && !names.is_empty());
            Error::unless(more, format_args!("max_actions: at least the {count} actions that have names"))?;
            let count = most.unwrap_or(count);
            let numbered = u32::try_from(count).is_ok();
            Error::unless(numbered, format_args!("actions: {count} are more than 2^32"))?;
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
    let refused = || Error::Type("actions: a list of names, or how many there are, is needed".into());
    if given.is_instance_of::<PyBool>() {
        return Err(refused());
    }
    if let Ok(count) = given.extract::<usize>() {
        return Ok((count, Arc::new([])));
    }
    let mut names: Vec<Arc<str>> = Vec::new();
    let negative = given.extract::<i64>().is_ok_and(|count| count < 0);
    Error::unless(!negative, format_args!("actions: at least one is needed, but this is {given}"))?;
    if given.is_instance_of::<PyString>() {
        return Err(refused());
    }
    for name in given.try_iter().map_err(|_| refused())? {
        let name: Arc<str> = Arc::from(name?.extract::<&str>().map_err(|_| refused())?);
        Error::unless(!names.contains(&name), format_args!("actions: {name:?} is there twice"))?;
        names.push(name);
    }
    Ok((names.len(), names.into()))
}
