//! A base of a module.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::Arc;

use corral_core::registry::Kind;
use corral_core::snapshot::{ensure, open, seal};
use corral_core::{
    Abilities, Base, BaseError, BaseExtra, Context, Feedback, Memo, Order, Proposal, Rng, Setup, Space,
};
use corral_plugin_abi::Crosses;
use corral_plugin_abi::abi::{CORRAL_NONE, CORRAL_SET_NONE, CORRAL_UNKNOWN};
use corral_plugin_abi::host::portable;
use sha2::{Digest, Sha256};

use crate::calls::{Calls, Entry};
use crate::instance::Instance;
use crate::shape::Shape;

/// Version of the snapshots.
const VERSION: u16 = 1;
/// Bytes that are compared, and saved, together.
const BLOCK: usize = 64;

/// A snapshot: the digests of the module and of its memory after `create`, the number of rounds that `create` was given, how much
/// memory there is, and what differs from the memory after `create`.
type State = ([u8; 32], [u8; 32], Option<u64>, u64, Vec<(u32, Vec<u8>)>);

/// A module that was looked at.
#[derive(Debug)]
pub(crate) struct Wasm {
    pub(crate) shape: Shape,
    pub(crate) entries: Vec<Entry>,
    pub(crate) digest: [u8; 32],
}

/// What a base is built from, again when it starts over.
pub(crate) struct Plan {
    pub(crate) wasm: Arc<Wasm>,
    pub(crate) place: usize,
    pub(crate) params: String,
    pub(crate) fuel: u64,
    pub(crate) setup: Setup,
}

/// A base of a module. What comes back is checked as that of a native library. What traps, or takes more steps than it may,
/// cannot be called again before the base starts over or is loaded.
pub(crate) struct WasmBase<D> {
    plan: Plan,
    life: RefCell<Life>,
    abilities: Abilities,
    decision: PhantomData<fn() -> D>,
}

/// An instance of a base.
struct Life {
    instance: Instance,
    calls: Calls,
    /// What `create` gave.
    this: u32,
    /// The memory as `create` left it, without the zeros at its end.
    created: Vec<u8>,
    /// The number of rounds that `create` was given.
    horizon: Option<u64>,
    /// How many numbers fit into a memo, and coordinates into a point; both of the last proposal.
    sizes: (usize, usize),
    memo: Vec<f64>,
    point: Vec<f64>,
}

/// A number of 64 bits as two words.
fn halves(number: u64) -> [u32; 2] {
    [number as u32, (number >> 32) as u32]
}

impl<D: Crosses> WasmBase<D> {
    pub(crate) fn build(plan: Plan) -> Result<Self, BaseError> {
        let info = &plan.wasm.entries[plan.place].info;
        let world = if matches!(plan.setup.space, Space::Arms(_)) { Kind::Arms } else { Kind::Points };
        if (info.kind == Kind::Points) != (world == Kind::Points) {
            let why = format!("{}: a base for {} in a world of {world}", info.name, info.kind);
            return Err(BaseError::Failed(why));
        }
        let mut life = Life::new(&plan, plan.setup.horizon)?;
        let abilities = life.abilities()?;
        Ok(Self { plan, life: RefCell::new(life), abilities, decision: PhantomData })
    }

    fn label(&self) -> String {
        let info = &self.plan.wasm.entries[self.plan.place].info;
        format!("wasm base {} version {}", info.name, info.version)
    }
}

impl Life {
    /// A new instance for so many rounds.
    fn new(plan: &Plan, horizon: Option<u64>) -> Result<Self, BaseError> {
        let Plan { wasm, setup, params, .. } = plan;
        let entry = &wasm.entries[plan.place];
        let mut instance = Instance::new(&wasm.shape, &entry.info.name, plan.fuel)?;
        let calls = entry.calls((&instance.store, instance.table)).map_err(BaseError::Failed)?;
        let (set, dim, text) = match &setup.space {
            Space::Arms(_) => (CORRAL_SET_NONE, 0, String::new()),
            Space::Points(set) => {
                (portable::set_code(set), set.dim(), toml::to_string(set).unwrap_or_default())
            }
        };
        let size = |n: usize| u32::try_from(n).map_err(|_| BaseError::Failed(format!("{n} is too large")));
        let [text_at, params_at] =
            [instance.lend_bytes(text.as_bytes())?, instance.lend_bytes(params.as_bytes())?];
        let [cells, more_cells] = halves(setup.context.cells.map_or(-1, |cells| cells as i64) as u64);
        let [rounds, more_rounds] = halves(horizon.unwrap_or(CORRAL_UNKNOWN));
        // `CorralSetup`, 48 bytes.
        let told = [48, size(setup.actions())?, set, size(dim)?, text_at, size(text.len())?];
        let shape = [size(setup.context.features)?, size(setup.context.row_features)?];
        let told = [&told[..], &shape, &[cells, more_cells, rounds, more_rounds]].concat();
        let (told, answer) = (instance.lend(&told)?, instance.lend(&[0])?);
        // `CorralStr` is passed by its address.
        let params = instance.lend(&[params_at, size(params.len())?])?;
        instance.ask("create", calls.create, None, |error| (told, params, answer, error))?;
        let this = instance.word(answer);
        if this == 0 {
            return Err(instance.failed("create gave no instance"));
        }
        let state = instance.state();
        let created = state[..state.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)].to_vec();
        let sizes = (portable::memo_capacity_of(&setup.space), dim);
        Ok(Self { instance, calls, this, created, horizon, sizes, memo: Vec::new(), point: Vec::new() })
    }

    fn abilities(&mut self) -> Result<Abilities, BaseError> {
        let Self { instance, calls, this, .. } = self;
        let mut says = |what: &str, function: Option<_>, otherwise| {
            instance.begin()?;
            function.map_or(Ok(otherwise), |function| instance.call(what, function, None, *this))
        };
        let wants_passes = says("heeds_passes", calls.heeds_passes, 1)? != 0 && calls.pass.is_some();
        let learns_from_others = says("learns_from_others", calls.learns_from_others, 0)? == 1;
        Ok(Abilities { wants_passes, learns_from_others, wants_memo: true, takes_offers: false })
    }

    fn rerange(&mut self, range: f64, remaining: Option<u64>) -> Result<(), BaseError> {
        self.instance.begin()?;
        let (this, remaining) = (self.this, remaining.unwrap_or(CORRAL_UNKNOWN));
        let with = |error| (this, range, remaining, error);
        self.instance.ask("rerange", self.calls.rerange, None, with).map(drop)
    }

    /// `CorralContext`.
    fn context(&mut self, x: &Context) -> Result<u32, BaseError> {
        let lent = &mut self.instance;
        let (features, rows) = (lent.lend_numbers(x.features())?, lent.lend_numbers(x.rows())?);
        let (features_len, rows_len) = (x.features().len() as u32, x.rows().len() as u32);
        let [cell, more_cell] = halves(x.cell().map_or(-1, |cell| cell as i64) as u64);
        let (row_dim, actions) = (x.row_dim() as u32, x.actions() as u32);
        lent.lend(&[features, features_len, rows, rows_len, row_dim, actions, cell, more_cell])
    }

    /// `CorralDecision`.
    fn given(&mut self, (arm, point): (u32, &[f64]), memo: &[f64]) -> Result<u32, BaseError> {
        let (at, numbers) = (self.instance.lend_numbers(point)?, self.instance.lend_numbers(memo)?);
        self.instance.lend(&[arm, 0, at, point.len() as u32, numbers, memo.len() as u32])
    }

    /// `CorralProposal`, and where its memo and coordinates will be; those that are not written are noticed.
    fn made(&mut self) -> Result<[u32; 3], BaseError> {
        let (capacity, dim) = self.sizes;
        self.point.clear();
        self.point.resize(dim, f64::NAN);
        let (memo, point) = (self.instance.reserve(8 * capacity)?, self.instance.lend_numbers(&self.point)?);
        let at = self.instance.lend(&[u32::MAX, 0, point, dim as u32, memo, capacity as u32, 0])?;
        Ok([at, memo, point])
    }

    /// Reads the memo and the coordinates of a proposal; returns its arm.
    fn read(&mut self, [at, memo, point]: [u32; 3]) -> Result<u32, BaseError> {
        let ((capacity, dim), len) = (self.sizes, self.instance.word(at + 24) as usize);
        if len > capacity {
            return Err(BaseError::Proposal(format!("a memo of {len} numbers where {capacity} fit")));
        }
        self.memo.clear();
        self.memo.extend(self.instance.numbers(memo, len));
        self.point.clear();
        self.point.extend(self.instance.numbers(point, dim));
        portable::check_memo(&self.memo)?;
        Ok(self.instance.word(at))
    }

    fn likelihood(&mut self, x: &Context, asked: (u32, &[f64])) -> Result<Option<(f64, Memo)>, BaseError> {
        self.instance.begin()?;
        let Some(likelihood) = self.calls.likelihood else { return Ok(None) };
        let (this, context, asked, made) =
            (self.this, self.context(x)?, self.given(asked, &[])?, self.made()?);
        let answer = self.instance.lend_numbers(&[f64::NAN])?;
        let with = |error| (this, context, asked, answer, made[0], error);
        if self.instance.ask("likelihood", likelihood, None, with)? == CORRAL_NONE {
            return Ok(None);
        }
        let probability =
            portable::check_probability(self.instance.numbers(answer, 1).next().unwrap_or(f64::NAN))?;
        self.read(made)?;
        Ok(Some((probability, Memo::from(&self.memo[..]))))
    }

    /// What differs from the memory after `create`.
    fn changes(&self) -> Vec<(u32, Vec<u8>)> {
        let blocks = self.instance.state().chunks(BLOCK).zip((0..).step_by(BLOCK));
        let changed = blocks.filter(|(block, at)| {
            let before = self.created.get(*at..).unwrap_or_default();
            let (known, beyond) = block.split_at(before.len().min(block.len()));
            known != &before[..known.len()] || beyond.iter().any(|byte| *byte != 0)
        });
        changed.map(|(block, at)| (at as u32, block.to_vec())).collect()
    }
}

impl<D: Crosses> Base<Context, D> for WasmBase<D> {
    fn propose(&mut self, x: &Context, rng: &mut dyn Rng) -> Result<Proposal<D>, BaseError> {
        let mut made = Proposal::new(D::default());
        self.propose_into(x, rng, &mut made)?;
        Ok(made)
    }

    fn learn(&mut self, x: &Context, made: &Proposal<D>, feedback: Feedback) -> Result<(), BaseError> {
        let life = self.life.get_mut();
        life.instance.begin()?;
        let feedback = feedback.check(f64::MAX)?;
        let (loss, weight) = (feedback.observed().unwrap_or(0.0), feedback.weight());
        let (this, context) = (life.this, life.context(x)?);
        let made = life.given(made.decision.given(), made.memo.numbers())?;
        let with = |error| (this, context, made, loss, weight, error);
        life.instance.ask("learn", life.calls.learn, None, with).map(drop)
    }

    /// A failure makes the next call that can report it fail.
    fn likelihood(&self, x: &Context, asked: &D) -> Option<(f64, Memo)> {
        let mut life = self.life.borrow_mut();
        let answer = life.likelihood(x, asked.given());
        answer.map_err(|fault| life.instance.fault = Some(fault)).ok().flatten()
    }

    fn abilities(&self) -> Abilities {
        self.abilities
    }

    /// To start over is to begin with a new instance.
    fn apply_order(&mut self, order: Order) -> Result<(), BaseError> {
        let (range, remaining) = (order.check()?.range(), order.remaining());
        if !order.starts_over() {
            return self.life.get_mut().rerange(range, remaining);
        }
        let mut life = Life::new(&self.plan, remaining)?;
        life.rerange(range, remaining)?;
        *self.life.get_mut() = life;
        Ok(())
    }

    fn save(&self) -> Vec<u8> {
        let mut life = self.life.borrow_mut();
        if life.instance.begin().is_err() {
            return Vec::new();
        }
        let (created, bytes) = (Sha256::digest(&life.created).into(), life.instance.state().len() as u64);
        let state: State = (self.plan.wasm.digest, created, life.horizon, bytes, life.changes());
        seal(&self.label(), VERSION, &state)
    }

    fn load(&mut self, state: &[u8]) -> Result<(), BaseError> {
        let (module, created, horizon, bytes, changes): State = open(&self.label(), VERSION, state)?;
        ensure(module == self.plan.wasm.digest, "another build of the module made it: their digests differ")?;
        let mut life = Life::new(&self.plan, horizon)?;
        let same = created == <[u8; 32]>::from(Sha256::digest(&life.created));
        ensure(same, "the base was built with other parameters, or for another environment")?;
        let state = life.instance.state_of(bytes)?;
        for (at, bytes) in &changes {
            let place = state.get_mut(*at as usize..(*at as usize).saturating_add(bytes.len()));
            ensure(place.is_some(), format_args!("{} bytes at {at}, beyond the memory", bytes.len()))?;
            place.unwrap_or_default().copy_from_slice(bytes);
        }
        *self.life.get_mut() = life;
        Ok(())
    }

    fn extra(&mut self) -> Option<&mut dyn BaseExtra<Context, D>> {
        Some(self)
    }
}

impl<D: Crosses> BaseExtra<Context, D> for WasmBase<D> {
    fn pass(&mut self, x: &Context) -> Result<(), BaseError> {
        let life = self.life.get_mut();
        life.instance.begin()?;
        let Some(pass) = life.calls.pass else { return Ok(()) };
        let (this, context) = (life.this, life.context(x)?);
        life.instance.ask("pass", pass, None, |error| (this, context, error)).map(drop)
    }

    fn propose_into(
        &mut self,
        x: &Context,
        rng: &mut dyn Rng,
        into: &mut Proposal<D>,
    ) -> Result<(), BaseError> {
        let life = self.life.get_mut();
        life.instance.begin()?;
        let (this, context, [u32s, u64s, bytes]) = (life.this, life.context(x)?, life.instance.generators);
        let generator = life.instance.lend(&[0, u32s, u64s, bytes])?;
        let made = life.made()?;
        let with = |error| (this, context, generator, made[0], error);
        life.instance.ask("propose", life.calls.propose, Some(rng), with)?;
        let arm = life.read(made)?;
        into.decision.take(arm, &life.point);
        portable::check_decision(&into.decision, &self.plan.setup.space, x)?;
        into.memo.set(&life.memo);
        Ok(())
    }
}
