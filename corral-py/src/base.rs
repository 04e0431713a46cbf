//! A base that is a Python object.

use std::sync::{Arc, Mutex, PoisonError};

use corral_core::registry::Unknown;
use corral_core::{
    Abilities, Arm, Base, BaseError, BaseExtra, Context, ContextShape, Decision, Feedback, Memo, Order,
    Point, Proposal, Rng, Space, snapshot, uniform,
};
use numpy::PyArray1;
use numpy::ToPyArray;
use numpy::ndarray::ArrayView2;
use pyo3::exceptions::{PyException, PyOverflowError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyTuple, PyType};

use crate::convert::append;
use crate::errors::{Answer, Error};
use crate::exit;

const NAME: &str = "python base";
const VERSION: u16 = 1;

/// The exceptions of a band's bases: what a base raised last, and what is the caller's (Ctrl-C, a base that does not pickle).
#[derive(Clone, Default)]
pub struct Raised {
    own: Arc<Mutex<Option<PyErr>>>,
    callers: Arc<Mutex<Option<PyErr>>>,
}

impl Raised {
    /// For another base of the same band.
    pub fn sibling(&self) -> Self {
        Self { own: Arc::default(), callers: Arc::clone(&self.callers) }
    }

    /// What the base raised last.
    pub fn last(&self, py: Python<'_>) -> Option<PyErr> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|error| error.clone_ref(py))
    }

    /// Passes on what is the caller's.
    pub fn callers(&self) -> Answer<()> {
        match self.callers.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }

    fn tell_caller(&self, error: PyErr) {
        *self.callers.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }

    /// Keeps an exception, and says it in a line.
    fn keep(&self, py: Python<'_>, error: PyErr) -> BaseError {
        if !error.is_instance_of::<PyException>(py) {
            let text = describe(py, &error);
            self.tell_caller(error);
            return BaseError::Caller(text);
        }
        let text = describe(py, &error);
        *self.own.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        BaseError::Failed(text)
    }
}

/// `ValueError: too big (bandit.py, line 12, in propose)`.
pub fn describe(py: Python<'_>, error: &PyErr) -> String {
    let innermost = || -> PyResult<Option<String>> {
        let Some(traceback) = error.traceback(py) else { return Ok(None) };
        let frames = py.import("traceback")?.call_method1("extract_tb", (traceback,))?;
        let frame = frames.get_item(-1)?;
        let file: String = frame.getattr("filename")?.extract()?;
        let file = file.rsplit(['/', '\\']).next().unwrap_or_default();
        Ok(Some(format!(" ({file}, line {}, in {})", frame.getattr("lineno")?, frame.getattr("name")?)))
    };
    format!("{error}{}", innermost().ok().flatten().unwrap_or_default())
}

/// What a base needs to know of its band.
#[derive(Clone)]
pub struct BandInfo {
    /// The names of the actions; empty where they are numbered.
    pub names: Arc<[Arc<str>]>,
    /// Whether a round has a feature row for each action: then a base sees which are offered.
    pub rows: bool,
    pub raised: Raised,
}

/// A base that is a Python object with `propose(x, u)` and `learn(x, action, loss, weight)`.
pub struct PyBase {
    object: Py<PyAny>,
    place: BandInfo,
    /// As it was when it joined, for orders to start over; none where it cannot be pickled.
    first: Option<Vec<u8>>,
    abilities: Abilities,
    likelihood: bool,
    widens: bool,
    /// Whether `learn` takes the probability of the action at its proposal.
    probability: bool,
}

impl PyBase {
    /// # Errors
    /// A method is missing.
    pub fn new(object: &Bound<'_, PyAny>, place: BandInfo) -> Answer<Self> {
        let py = object.py();
        if let Ok(class) = object.cast::<PyType>() {
            let name = class.name()?;
            return Err(Error::Type(format!(
                "a base is an object, and {name} is a class: did you mean {name}()?"
            )));
        }
        let has = |name: &str| object.getattr_opt(name).map(|found| found.is_some_and(|f| f.is_callable()));
        for (method, call) in [("propose", "propose(x, u)"), ("learn", "learn(x, action, loss, weight)")] {
            if !has(method)? {
                let kind = object.get_type().name()?;
                return Err(Error::Type(format!(
                    "a base is a name, a dictionary or an object with {call}: {kind} has none"
                )));
            }
        }
        let parameters = py.import("inspect")?.call_method1("signature", (object.getattr("learn")?,));
        let probability = parameters
            .and_then(|found| found.getattr("parameters")?.contains("probability"))
            .unwrap_or(false);
        let learns_from_others = match object.getattr_opt("learns_from_others")? {
            Some(yes) => yes.is_truthy()?,
            None => false,
        };
        Ok(Self {
            abilities: Abilities {
                wants_passes: has("skip")?,
                learns_from_others,
                takes_offers: place.rows,
                ..Abilities::OWN
            },
            likelihood: has("likelihood")?,
            widens: has("widen")?,
            probability,
            first: dumps(object).ok(),
            object: object.clone().unbind(),
            place,
        })
    }

    /// Has the base look at the band that it joins: its `join` may refuse it.
    ///
    /// # Errors
    /// What it raises.
    pub fn join(self, space: &Space, context: &ContextShape) -> Answer<Self> {
        exit::attach(|py| {
            let actions = if let Space::Arms(actions) = space { *actions } else { 0 };
            let shape = (actions, context.features, context.row_features);
            let join = self.object.bind(py).getattr_opt("join")?.filter(|own| own.is_callable());
            join.map_or(Ok(()), |join| exit::call(py, || join.call1(shape)).map(drop))
        })?;
        Ok(self)
    }

    /// Whether it does something when it is told a wider range, and in rounds without it.
    pub fn wants(&self) -> (bool, bool) {
        (self.widens, self.abilities.wants_passes)
    }

    /// As it was when it joined; empty where it cannot be pickled.
    pub fn first(&self) -> Vec<u8> {
        self.first.clone().unwrap_or_default()
    }

    /// Calls into Python; an exception is kept, and becomes the error.
    fn ask<T>(&self, call: impl for<'py> FnOnce(&Bound<'py, PyAny>) -> PyResult<T>) -> Result<T, BaseError> {
        exit::attach(|py| call(self.object.bind(py)).map_err(|error| self.place.raised.keep(py, error)))
    }
}

/// A decision that a Python base can propose.
pub trait Proposed: Decision {
    /// The largest likelihood that it can have.
    const MOST: f64;

    /// Whether a tuple is a proposal and its probability, and not the proposal itself.
    fn with_probability(made: &Bound<'_, PyTuple>) -> bool;

    /// What Python proposes.
    fn read(given: &Bound<'_, PyAny>, x: &Context, names: &[Arc<str>]) -> PyResult<Self>;

    /// What Python is told of it.
    fn show<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>>;
}

impl Proposed for Arm {
    const MOST: f64 = 1.0 + 1e-9;

    fn with_probability(_: &Bound<'_, PyTuple>) -> bool {
        true
    }

    /// By number or by name.
    fn read(given: &Bound<'_, PyAny>, x: &Context, names: &[Arc<str>]) -> PyResult<Self> {
        if let Ok(name) = given.cast::<PyString>() {
            let name = name.to_str()?;
            let found = names.iter().position(|known| **known == *name).and_then(|number| x.place(number));
            // Of those that are offered.
            let offered = (0..x.actions()).filter_map(|place| names.get(x.number(place))).map(|n| &**n);
            return found
                .map(Arm::at)
                .ok_or_else(|| Error::from(Unknown::new("action", name, offered)).into());
        }
        let number: i64 = given.extract().map_err(|error: PyErr| {
            if error.is_instance_of::<PyOverflowError>(given.py()) {
                return Error::value(format!(
                    "an action of {}, by a number of more than 64 bits",
                    x.actions()
                ))
                .into();
            }
            error
        })?;
        match usize::try_from(number) {
            Ok(number) if number < x.actions() => Ok(Arm::at(number)),
            _ => Err(Error::value(format!("action {number} of {}", x.actions())).into()),
        }
    }

    fn show<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.index().into_pyobject(py)?.into_any())
    }
}

impl Proposed for Point {
    /// A density.
    const MOST: f64 = f64::MAX;

    /// Coordinates are numbers.
    fn with_probability(made: &Bound<'_, PyTuple>) -> bool {
        made.get_item(0).is_ok_and(|first| first.extract::<f64>().is_err())
    }

    fn read(given: &Bound<'_, PyAny>, _: &Context, _: &[Arc<str>]) -> PyResult<Self> {
        let mut coordinates = Vec::new();
        append(given, &mut coordinates)?;
        Ok(Self(coordinates))
    }

    fn show<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(PyArray1::from_slice(py, self.coordinates()).into_any())
    }
}

/// What a Python base sees: nothing, the features, or the features and a row for each action.
pub fn view<'py>(py: Python<'py>, x: &Context) -> PyResult<Bound<'py, PyAny>> {
    let features = || PyArray1::from_slice(py, x.features()).into_any();
    if x.row_dim() > 0 {
        let rows = ArrayView2::from_shape((x.actions(), x.row_dim()), x.rows());
        let rows = rows.map_err(Error::value)?.to_pyarray(py);
        return Ok(PyTuple::new(py, [features(), rows.into_any()])?.into_any());
    }
    Ok(if x.features().is_empty() { py.None().into_bound(py) } else { features() })
}

fn probability<D: Proposed>(given: f64) -> PyResult<Memo> {
    if given > 0.0 && given <= D::MOST {
        return Ok(Memo::one(given));
    }
    Err(Error::value(format!("the probability of a proposal must be in (0, 1], but is {given}")).into())
}

/// `pickle.dumps`.
pub fn dumps(object: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    let pickle = object.py().import(intern!(object.py(), "pickle"))?;
    pickle.call_method1(intern!(object.py(), "dumps"), (object, 4))?.extract()
}

/// What the caller is told of a base that does not pickle; what is no fault of it (Ctrl-C) stays what it is.
fn unpicklable(object: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
    let py = object.py();
    if !error.is_instance_of::<PyException>(py) {
        return error;
    }
    let kind = object.get_type().name().map_or_else(|_| "?".into(), |name| name.to_string());
    let own = PyErr::from(Error::value(format!("the base {kind} cannot be pickled: {error}")));
    own.set_cause(py, Some(error));
    own
}

/// `pickle.loads`.
pub fn loads<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    py.import(intern!(py, "pickle"))?.call_method1(intern!(py, "loads"), (PyBytes::new(py, bytes),))
}

impl<D: Proposed> Base<Context, D> for PyBase {
    fn propose(&mut self, x: &Context, rng: &mut dyn Rng) -> Result<Proposal<D>, BaseError> {
        let u = uniform(rng);
        self.ask(|object| {
            let py = object.py();
            let made = object.call_method1(intern!(py, "propose"), (view(py, x)?, u))?;
            if let Some(pair) = made.cast::<PyTuple>().ok().filter(|made| D::with_probability(made)) {
                let (action, q): (Bound<'_, PyAny>, f64) = pair.extract()?;
                let (action, q) = (D::read(&action, x, &self.place.names)?, probability::<D>(q)?);
                return Ok(if self.probability {
                    Proposal::with_memo(action, q)
                } else {
                    Proposal::new(action)
                });
            }
            let why = "learn takes a probability, so propose must return (action, probability)";
            Error::unless(!self.probability, why)?;
            Ok(Proposal::new(D::read(&made, x, &self.place.names)?))
        })
    }

    fn learn(&mut self, x: &Context, made: &Proposal<D>, feedback: Feedback) -> Result<(), BaseError> {
        let Some(loss) = feedback.check(f64::MAX)?.observed() else { return Ok(()) };
        let weight = feedback.weight();
        if let Some(arm) = made.decision.arm_index().filter(|arm| *arm >= x.actions()) {
            return Err(BaseError::Proposal(format!("action {arm} of {}", x.actions())));
        }
        self.ask(|object| {
            let (py, learn) = (object.py(), intern!(object.py(), "learn"));
            let (x, played) = (view(py, x)?, made.decision.show(py)?);
            if self.probability {
                object.call_method1(learn, (x, played, loss, weight, made.memo.get(0)))?;
            } else {
                object.call_method1(learn, (x, played, loss, weight))?;
            }
            Ok(())
        })
    }

    fn likelihood(&self, x: &Context, decision: &D) -> Option<(f64, Memo)> {
        if !self.likelihood {
            return None;
        }
        let said = self.ask(|object| {
            let py = object.py();
            let said = object.call_method1(intern!(py, "likelihood"), (view(py, x)?, decision.show(py)?))?;
            said.extract::<f64>()
        });
        // What is no number tells the band that the base failed.
        let said = said.unwrap_or(f64::NAN);
        Some((said, if self.probability { Memo::one(said) } else { Memo::empty() }))
    }

    fn abilities(&self) -> Abilities {
        self.abilities
    }

    fn apply_order(&mut self, order: Order) -> Result<(), BaseError> {
        let order = order.check()?;
        if order.starts_over() {
            let Some(first) = &self.first else {
                return Err(BaseError::Failed("it cannot be pickled, so it cannot start over".into()));
            };
            let fresh = self.ask(|object| Ok(loads(object.py(), first)?.unbind()))?;
            self.object = fresh;
        }
        if self.widens {
            let told = (order.range(), order.remaining());
            self.ask(|object| object.call_method1(intern!(object.py(), "widen"), told).map(drop))?;
        }
        Ok(())
    }

    fn save(&self) -> Vec<u8> {
        let state = exit::attach(|py| {
            let object = self.object.bind(py);
            dumps(object).map_err(|error| unpicklable(object, error))
        });
        let state = state.unwrap_or_else(|error| {
            self.place.raised.tell_caller(error);
            Vec::new()
        });
        // A pickle is not even looked at when a byte of it changed.
        snapshot::seal(NAME, VERSION, &(snapshot::checksum(&state), state))
    }

    fn load(&mut self, state: &[u8]) -> Result<(), BaseError> {
        let (sum, state): (u64, Vec<u8>) = snapshot::open(NAME, VERSION, state)?;
        snapshot::ensure(sum == snapshot::checksum(&state), "the pickle of the base is damaged")?;
        let loaded = self.ask(|object| {
            let loaded = loads(object.py(), &state)?;
            if loaded.get_type().is(object.get_type()) {
                return Ok(loaded.unbind());
            }
            let (found, own) = (loaded.get_type().name()?, object.get_type().name()?);
            Err(Error::value(format!("a snapshot of a {found}, not of a {own}")).into())
        })?;
        self.object = loaded;
        Ok(())
    }

    fn extra(&mut self) -> Option<&mut dyn BaseExtra<Context, D>> {
        Some(self)
    }
}

impl<D: Proposed> BaseExtra<Context, D> for PyBase {
    fn pass(&mut self, x: &Context) -> Result<(), BaseError> {
        if !self.abilities.wants_passes {
            return Ok(());
        }
        self.ask(|object| {
            object.call_method1(intern!(object.py(), "skip"), (view(object.py(), x)?,)).map(drop)
        })
    }
}
