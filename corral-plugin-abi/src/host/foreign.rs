//! Any table as a base.

use std::cell::RefCell;
use std::ffi::c_void;
use std::sync::Arc;

use corral_core::registry::Kind;
use corral_core::set::Set;
use corral_core::snapshot::{open, seal};
use corral_core::text::visible;
use corral_core::{
    Abilities, Arm, Base, BaseError, BaseExtra, Context, Decision, Feedback, Learner, Memo, Observation,
    Order, Point, Proposal, Rng, Setup, Space,
};

use super::float::kept;
use super::lender::Lender;
use super::table::Table;
use crate::abi::*;
use crate::author::{Crosses, points};

/// Buffer for an error's text.
pub(super) const ERROR_CAPACITY: usize = 1024;
/// No snapshot is longer.
pub(super) const SNAPSHOT_MOST: usize = 1 << 28;
/// Version of the frame around a plugin's snapshot.
const FRAME: u16 = 1;

/// Numbers that a memo of a plugin may have: enough for a few vectors over coordinates, and one over actions.
pub fn memo_capacity_of(space: &Space) -> usize {
    match space {
        Space::Arms(actions) => 1024 + actions,
        Space::Points(set) => 1024 + 4 * set.dim(),
    }
}

/// A base of this process, of the world's kind of decisions.
pub(super) fn here(table: Arc<Table>, params: &str, setup: &Setup) -> Result<Learner, BaseError> {
    Ok(match setup.space {
        Space::Arms(_) => Learner::Arms(Box::new(ForeignBase::<Arm>::build(table, params, setup)?)),
        Space::Points(_) => Learner::Points(Box::new(ForeignBase::<Point>::build(table, params, setup)?)),
    })
}

/// A base behind a table. What comes back is checked: status, arm or point, memo, probability, snapshot.
///
/// Nothing is copied on the way in: contexts and decisions are read in place. A call that cannot report its failure
/// (`likelihood`, `save`) makes the next one that can fail.
pub struct ForeignBase<D> {
    table: Arc<Table>,
    instance: *mut c_void,
    /// What it was built from: to start over is to build it again.
    params: String,
    setup: Setup,
    dim: usize,
    buffers: RefCell<Buffers>,
    /// A failure that could not be reported when it happened.
    fault: RefCell<Option<BaseError>>,
    decision: std::marker::PhantomData<D>,
}

/// What is lent to the plugin in a call.
struct Buffers {
    table: Arc<Table>,
    error: Box<[u8; ERROR_CAPACITY]>,
    memo: Box<[f64]>,
    /// What it draws from.
    lender: &'static Lender,
}

// SAFETY: the table's rules let instances move between threads; nothing else here is bound to one.
unsafe impl<D: Send> Send for ForeignBase<D> {}

/// The algorithm's name in a snapshot's frame: another base or version of the plugin is refused by it.
pub(super) fn snapshot_label(table: &Table) -> String {
    format!("plugin base {} version {}", table.base.name, table.base.version)
}

impl<D: Crosses> ForeignBase<D> {
    /// Builds an instance with range 1 from TOML text.
    ///
    /// # Errors
    /// The base decides on something else than `D` or than the world takes, or what the plugin says.
    pub fn build(table: Arc<Table>, given: &str, setup: &Setup) -> Result<Self, BaseError> {
        let world = match setup.space {
            Space::Arms(_) => Kind::Arms,
            Space::Points(_) => Kind::Points,
        };
        let kind = table.base.kind;
        if (kind == Kind::Points) != points::<D>() || world != D::KIND {
            return Err(BaseError::Failed(format!(
                "{}: a base for {kind} in a world of {world}",
                table.base.name
            )));
        }
        let (set, dim, set_text) = match &setup.space {
            Space::Arms(_) => (CORRAL_SET_NONE, 0, String::new()),
            Space::Points(set) => {
                let text = toml::to_string(set).map_err(|e| BaseError::Failed(e.to_string()))?;
                (set_code(set), set.dim(), text)
            }
        };
        let actions = u32::try_from(setup.actions())
            .map_err(|_| BaseError::Failed(format!("{} arms are too many", setup.actions())))?;
        let told = CorralSetup {
            struct_size: size_of::<CorralSetup>(),
            actions,
            set,
            dim,
            set_text: CorralStr { ptr: set_text.as_ptr(), len: set_text.len() },
            features: setup.context.features,
            row_features: setup.context.row_features,
            cells: setup.context.cells.map_or(-1, |c| c as i64),
            horizon: setup.horizon.unwrap_or(CORRAL_UNKNOWN),
        };
        let mut buffers = Buffers {
            table: table.clone(),
            error: Box::new([0; ERROR_CAPACITY]),
            memo: vec![0.0; memo_capacity_of(&setup.space)].into_boxed_slice(),
            lender: table.lenders.take(),
        };
        let mut instance = std::ptr::null_mut();
        let params = CorralStr { ptr: given.as_ptr(), len: given.len() };
        let create = table.calls.create;
        // SAFETY: a checked table; everything lives during the call.
        buffers.call("create", |error| unsafe { create(&told, params, &mut instance, error) })?;
        if instance.is_null() {
            return Err(BaseError::Failed(format!("{}: create gave no instance", table.base.name)));
        }
        Ok(Self {
            table,
            instance,
            params: given.to_owned(),
            setup: Setup { policies: None, sampler: None, ..setup.clone() },
            dim,
            buffers: RefCell::new(buffers),
            fault: RefCell::new(None),
            decision: std::marker::PhantomData,
        })
    }

    /// The table behind it.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// A failure that could not be reported when it happened.
    #[inline]
    fn sound(&mut self) -> Result<(), BaseError> {
        match self.fault.get_mut() {
            None => Ok(()),
            Some(fault) => Err(again(fault)),
        }
    }

    fn snapshot(&self) -> Result<Vec<u8>, BaseError> {
        if let Some(fault) = &*self.fault.borrow() {
            return Err(fault.clone());
        }
        let buffers = &mut *self.buffers.borrow_mut();
        let mut save = |bytes: *mut u8, capacity: usize| {
            let mut needed = 0;
            // SAFETY: a checked table and our instance; `capacity` bytes can be written, and 0 only asks for the length.
            buffers
                .call("save", |error| unsafe {
                    (self.table.calls.save)(self.instance, bytes, capacity, &mut needed, error)
                })
                .map(|()| needed)
        };
        let announced = save(std::ptr::null_mut(), 0)?;
        if announced > SNAPSHOT_MOST {
            return Err(self.wrong(format!("a snapshot of {announced} bytes was announced")));
        }
        let mut bytes = vec![0; announced];
        let needed = if announced > 0 { save(bytes.as_mut_ptr(), announced)? } else { 0 };
        if needed != announced {
            return Err(self.wrong(format!("a snapshot of {needed} bytes where {announced} were announced")));
        }
        Ok(bytes)
    }

    fn wrong(&self, why: String) -> BaseError {
        BaseError::Failed(format!("{}: {why}", self.table.base.name))
    }
}

impl Buffers {
    /// Where a proposal is written: its coordinates to `point`, its memo here.
    #[inline]
    fn proposal(&mut self, point: *mut f64, dim: usize) -> CorralProposal {
        let (memo, memo_capacity) = (self.memo.as_mut_ptr(), self.memo.len());
        CorralProposal { arm: u32::MAX, reserved: 0, point, dim, memo, memo_capacity, memo_len: 0 }
    }

    /// Calls an entry, and reads its status and the text that was lent to it.
    #[inline]
    fn call(&mut self, entry: &str, call: impl FnOnce(&mut CorralText) -> i32) -> Result<(), BaseError> {
        let (status, len) = self.run(call);
        self.status(entry, status, len)
    }

    /// Calls an entry: its status, and the length that it gave to its text.
    #[inline]
    fn run(&mut self, call: impl FnOnce(&mut CorralText) -> i32) -> (i32, usize) {
        let mut text = CorralText { ptr: self.error.as_mut_ptr(), capacity: ERROR_CAPACITY, len: 0 };
        (kept(|| call(&mut text)), text.len)
    }

    #[inline]
    fn status(&mut self, entry: &str, status: i32, len: usize) -> Result<(), BaseError> {
        if status == CORRAL_OK && !self.lender.misused() {
            Ok(())
        } else {
            Err(self.failure(entry, status, len))
        }
    }

    /// Of the text only the length is the plugin's to set: it may have overwritten the pointer. A length that is too
    /// large ends with the text, as in C.
    #[cold]
    fn failure(&mut self, entry: &str, status: i32, len: usize) -> BaseError {
        let name = &self.table.base.name;
        if status == CORRAL_OK {
            let why = "the generator was used after the call that it was lent to, or by another thread";
            return BaseError::Failed(format!("{name}: {entry}: {why}"));
        }
        let text = String::from_utf8_lossy(&self.error[..len.min(ERROR_CAPACITY)]);
        let text = visible(text.split('\0').next().unwrap_or_default()).into_owned();
        // So that the next failure does not repeat it.
        self.error.fill(0);
        let text = match (status, &*text) {
            (CORRAL_ERROR | CORRAL_PANICKED, "") => "no reason was given",
            (CORRAL_ERROR | CORRAL_PANICKED, text) => text,
            _ => return BaseError::Failed(format!("{name}: {entry} returned the unknown status {status}")),
        };
        BaseError::Failed(format!("{name}: {entry}: {text}"))
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        self.table.lenders.give_back(self.lender);
    }
}

#[cold]
fn again(fault: &BaseError) -> BaseError {
    fault.clone()
}

/// The number of a set at the boundary.
pub fn set_code(set: &Set) -> u32 {
    match set {
        Set::Ball { .. } => CORRAL_SET_BALL,
        Set::Box { .. } => CORRAL_SET_BOX,
        Set::Simplex { .. } => CORRAL_SET_SIMPLEX,
        #[allow(unreachable_patterns)]
        _ => CORRAL_SET_OTHER,
    }
}

/// The context in place.
#[inline]
fn view(x: &Context) -> CorralContext {
    let (features, rows) = (x.features(), x.rows());
    CorralContext {
        features: features.as_ptr(),
        features_len: features.len(),
        rows: rows.as_ptr(),
        rows_len: rows.len(),
        row_dim: x.row_dim() as u32,
        actions: x.actions() as u32,
        cell: x.cell().map_or(-1, |c| c as i64),
    }
}

#[inline]
fn decision<D: Crosses>(decision: &D, memo: &[f64]) -> CorralDecision {
    let (arm, point) = decision.given();
    CorralDecision {
        arm,
        reserved: 0,
        point: point.as_ptr(),
        dim: point.len(),
        memo: memo.as_ptr(),
        memo_len: memo.len(),
    }
}

/// The numbers of a memo that a plugin says it wrote.
#[inline]
fn written(memo: &[f64], len: usize) -> Result<&[f64], BaseError> {
    match memo.get(..len) {
        // The usual memo is not worth a loop.
        Some(numbers @ [number]) if !number.is_nan() => Ok(numbers),
        Some(numbers) if !numbers.iter().any(|n| n.is_nan()) => Ok(numbers),
        _ => Err(unusable(memo, len)),
    }
}

#[cold]
fn unusable(memo: &[f64], len: usize) -> BaseError {
    match memo.get(..len).map(check_memo) {
        Some(Err(why)) => why,
        _ => BaseError::Proposal(format!("a memo of {len} numbers where {} fit", memo.len())),
    }
}

/// A decision can be played.
#[inline]
pub fn check_decision<D: Decision>(decision: &D, space: &Space, x: &Context) -> Result<(), BaseError> {
    if decision.lies_in(space, x.offered()) { Ok(()) } else { Err(outside(decision, space, x)) }
}

#[cold]
fn outside<D: Decision>(decision: &D, space: &Space, x: &Context) -> BaseError {
    BaseError::Proposal(match space {
        Space::Arms(actions) => format!("{} of {}", decision.describe(), (*actions).min(x.actions())),
        Space::Points(_) => format!("{} lies outside the set", decision.describe()),
    })
}

/// A memo has no NaN: it would come back as an estimate.
pub fn check_memo(numbers: &[f64]) -> Result<(), BaseError> {
    match numbers.iter().position(|n| n.is_nan()) {
        None => Ok(()),
        Some(at) => Err(BaseError::Proposal(format!("number {at} of the memo is NaN"))),
    }
}

/// A probability is in [0, 1]. Written so that NaN fails.
pub fn check_probability(p: f64) -> Result<f64, BaseError> {
    if (0.0..=1.0).contains(&p) { Ok(p) } else { Err(BaseError::Proposal(format!("a probability of {p}"))) }
}

impl<D: Crosses> Base<Context, D> for ForeignBase<D> {
    fn propose(&mut self, x: &Context, rng: &mut dyn Rng) -> Result<Proposal<D>, BaseError> {
        let mut made = Proposal::new(D::default());
        self.propose_into(x, rng, &mut made)?;
        Ok(made)
    }

    fn learn(&mut self, x: &Context, made: &Proposal<D>, feedback: Feedback) -> Result<(), BaseError> {
        self.sound()?;
        let feedback = feedback.check(f64::MAX)?;
        let made = decision(&made.decision, made.memo.numbers());
        let loss = feedback.observed().unwrap_or(0.0);
        let learn = self.table.calls.learn;
        // SAFETY: a checked table and our instance; everything lives during the call.
        self.buffers.get_mut().call("learn", |error| unsafe {
            learn(self.instance, &view(x), &made, loss, feedback.weight(), error)
        })
    }

    fn likelihood(&self, x: &Context, asked: &D) -> Option<(f64, Memo)> {
        let likelihood = self.table.calls.likelihood?;
        if self.fault.borrow().is_some() {
            return None;
        }
        let buffers = &mut *self.buffers.borrow_mut();
        let mut out = buffers.proposal(std::ptr::null_mut(), 0);
        let mut probability = f64::NAN;
        let asked = decision(asked, &[]);
        // SAFETY: a checked table and our instance; everything lives during the call.
        let (status, len) = buffers.run(|error| unsafe {
            likelihood(self.instance, &view(x), &asked, &mut probability, &mut out, error)
        });
        if status == CORRAL_NONE {
            return None;
        }
        let answer = buffers.status("likelihood", status, len).and_then(|()| {
            Ok((check_probability(probability)?, Memo::from(written(&buffers.memo, out.memo_len)?)))
        });
        answer.map_err(|fault| *self.fault.borrow_mut() = Some(fault)).ok()
    }

    fn abilities(&self) -> Abilities {
        let calls = &self.table.calls;
        // SAFETY: a checked table and our instance.
        let says = |f: unsafe extern "C" fn(*mut c_void) -> u32| kept(|| unsafe { f(self.instance) });
        Abilities {
            wants_passes: calls.pass.is_some() && calls.heeds_passes.is_none_or(|f| says(f) != 0),
            learns_from_others: calls.learns_from_others.is_some_and(|f| says(f) == 1),
            wants_memo: true,
            // The table has no place for the numbers of actions.
            takes_offers: false,
        }
    }

    /// The table has one entry for ranges, and there each base does as it likes. To start over is to begin with a new
    /// instance.
    fn apply_order(&mut self, order: Order) -> Result<(), BaseError> {
        let (range, remaining) = (order.check()?.range(), order.remaining());
        if order.starts_over() {
            let setup = Setup { horizon: remaining, ..self.setup.clone() };
            *self = Self::build(self.table.clone(), &self.params, &setup)?;
        }
        let remaining = remaining.unwrap_or(CORRAL_UNKNOWN);
        let rerange = self.table.calls.rerange;
        let buffers = self.buffers.get_mut();
        // SAFETY: a checked table and our instance; everything lives during the call.
        buffers.call("rerange", |error| unsafe { rerange(self.instance, range, remaining, error) })?;
        *self.fault.get_mut() = None;
        Ok(())
    }

    fn save(&self) -> Vec<u8> {
        match self.snapshot() {
            Ok(state) => seal(&snapshot_label(&self.table), FRAME, &state),
            Err(fault) => {
                *self.fault.borrow_mut() = Some(fault);
                Vec::new()
            }
        }
    }

    fn load(&mut self, state: &[u8]) -> Result<(), BaseError> {
        self.sound()?;
        let state: Vec<u8> = open(&snapshot_label(&self.table), FRAME, state)?;
        let load = self.table.calls.load;
        // SAFETY: a checked table and our instance; everything lives during the call.
        self.buffers
            .get_mut()
            .call("load", |error| unsafe { load(self.instance, state.as_ptr(), state.len(), error) })
    }

    fn extra(&mut self) -> Option<&mut dyn BaseExtra<Context, D>> {
        Some(self)
    }
}

impl<D: Crosses> BaseExtra<Context, D> for ForeignBase<D> {
    fn pass(&mut self, x: &Context) -> Result<(), BaseError> {
        self.sound()?;
        let Some(pass) = self.table.calls.pass else { return Ok(()) };
        // SAFETY: a checked table and our instance; everything lives during the call.
        self.buffers.get_mut().call("pass", |error| unsafe { pass(self.instance, &view(x), error) })
    }

    fn propose_into(
        &mut self,
        x: &Context,
        rng: &mut dyn Rng,
        made: &mut Proposal<D>,
    ) -> Result<(), BaseError> {
        self.sound()?;
        let buffers = self.buffers.get_mut();
        let lender = buffers.lender;
        let mut out = buffers.proposal(made.decision.buffer(self.dim), self.dim);
        let propose = self.table.calls.propose;
        buffers.call("propose", |error| {
            // SAFETY: a checked table and our instance; everything lives during the call.
            lender.lend(rng, |rng| unsafe { propose(self.instance, &view(x), rng, &mut out, error) })
        })?;
        if !points::<D>() {
            made.decision.take(out.arm, &[]);
        }
        check_decision(&made.decision, &self.setup.space, x)?;
        made.memo.set(written(&buffers.memo, out.memo_len)?);
        Ok(())
    }
}

impl<D> Drop for ForeignBase<D> {
    fn drop(&mut self) {
        let destroy = self.table.calls.destroy;
        // SAFETY: a checked table, our instance, and the last call on it. A failure cannot be reported any more.
        let _ = self.buffers.get_mut().call("destroy", |error| unsafe { destroy(self.instance, error) });
    }
}
