//! A module that runs: its memory, its stack, and calls with a limit of steps.

use std::fmt;

use corral_core::text::visible;
use corral_core::{BaseError, Rng};
use corral_plugin_abi::abi::{CORRAL_ENTRY, CORRAL_ERROR, CORRAL_NONE, CORRAL_OK, CORRAL_PANICKED};
use wasmi::errors::HostError;
use wasmi::{
    Error, Func, Global, GlobalType, Memory, Mutability, Ref, Store, StoreLimits, StoreLimitsBuilder, Table,
    TrapCode, TypedFunc, TypedResumableCall, Val, ValType, WasmParams,
};

use crate::shape::Shape;

/// No memory is larger.
const MOST_MEMORY: usize = 1 << 26;
/// Steps that a draw costs, beside one per byte.
const DRAW: u64 = 64;
/// What is left of the stack for the module, in bytes.
const RESERVE: usize = 16 << 10;
/// Bytes for an error's text.
const ERROR: usize = 1024;

/// What a module wants from the host: a call is interrupted with it, and goes on with the answer.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("random numbers are drawn in `propose` only")]
enum Draw {
    U32,
    U64,
    Bytes(u32, u32),
}

impl HostError for Draw {}

/// Where something is lent.
type Lent = Result<u32, BaseError>;

/// An instance of a module. What the host lends for a call lies on the module's stack, as a C caller would put it: below `top`
/// is nothing else, and nothing that lasts.
pub(crate) struct Instance {
    instance: wasmi::Instance,
    pub(crate) store: Store<StoreLimits>,
    memory: Memory,
    pub(crate) table: Table,
    stack: Global,
    top: u32,
    /// Where the free stack ends in this call.
    free: u32,
    /// `next_u32`, `next_u64` and `fill_bytes`.
    pub(crate) generators: [u32; 3],
    name: String,
    fuel: u64,
    /// In a call that did not return: a panic of the generator went through it.
    inside: bool,
    /// Why it cannot be called any more.
    pub(crate) fault: Option<BaseError>,
}

impl Instance {
    /// Starts a module, whose calls may take `fuel` steps each, and which errors call `name`.
    pub(crate) fn new(shape: &Shape, name: &str, fuel: u64) -> Result<Self, BaseError> {
        let limits = StoreLimitsBuilder::new().memory_size(MOST_MEMORY).table_elements(10_000).build();
        let mut store = Store::new(shape.module.engine(), limits);
        store.limiter(|limits| limits);
        let failed = |why: &str| BaseError::Failed(format!("{name}: {why}"));
        let start = |why: Error| trap(name, "its start", &why, fuel);
        store.set_fuel(fuel).map_err(start)?;
        let instance = wasmi::Instance::new(&mut store, &shape.module, &[]).map_err(start)?;
        let export = |name, how| {
            let missing = || failed(&format!("it does not export {name:?} (the linker's {how})"));
            instance.get_export(&store, name).ok_or_else(missing)
        };
        let stack = export("__stack_pointer", "--export=__stack_pointer")?.into_global();
        let stack = stack.filter(|stack| stack.ty(&store) == GlobalType::new(ValType::I32, Mutability::Var));
        let table = export("__indirect_function_table", "--export-table")?.into_table();
        let memory = export("memory", "--export-memory")?.into_memory();
        let (Some(stack), Some(memory), Some(table)) = (stack, memory, table) else {
            return Err(failed("what it exports under the names of a plugin is something else"));
        };
        let draws = [
            Func::wrap(&mut store, |_: u32| Err::<u32, _>(Error::host(Draw::U32))),
            Func::wrap(&mut store, |_: u32| Err::<u64, _>(Error::host(Draw::U64))),
            Func::wrap(&mut store, |_: u32, at: u32, n: u32| Err::<(), _>(Error::host(Draw::Bytes(at, n)))),
        ];
        let mut generators = [0; 3];
        for (index, draw) in generators.iter_mut().zip(draws) {
            let grown = table.grow(&mut store, 1, Val::FuncRef(Ref::Val(draw)));
            let why = |_| failed("its table of functions cannot grow (the linker's --growable-table)");
            *index = grown.map_err(why)? as u32;
        }
        if let Ok(initialize) = instance.get_typed_func::<(), ()>(&store, "_initialize") {
            initialize.call(&mut store, ()).map_err(start)?;
        }
        let top = if let Val::I32(top) = stack.get(&store) { top as u32 & !15 } else { 0 };
        if top > shape.data || top as usize > memory.data(&store).len() {
            return Err(failed("its data lie below the end of its stack (the linker's --stack-first)"));
        }
        let (name, free, inside, fault) = (name.to_owned(), top, false, None);
        Ok(Self { instance, store, memory, table, stack, top, free, generators, name, fuel, inside, fault })
    }

    /// The module's entry: the `index`-th table, 0 past the last.
    pub(crate) fn entry(&self) -> Result<TypedFunc<u32, i32>, String> {
        let entry = self.instance.get_typed_func(&self.store, CORRAL_ENTRY);
        entry.map_err(|_| format!("its {CORRAL_ENTRY} is missing, or not the function of corral_plugin.h"))
    }

    pub(crate) fn failed(&self, why: impl fmt::Display) -> BaseError {
        BaseError::Failed(format!("{}: {why}", self.name))
    }

    /// Forgets what was lent, for a new call.
    pub(crate) fn begin(&mut self) -> Result<(), BaseError> {
        if self.inside {
            return Err(self.failed("a call was interrupted by a panic of the generator"));
        }
        self.free = self.top;
        self.fault.as_ref().map_or(Ok(()), |fault| Err(fault.clone()))
    }

    /// Takes `bytes` from the free stack.
    pub(crate) fn reserve(&mut self, bytes: usize) -> Result<u32, BaseError> {
        let left = (self.free as usize).checked_sub(bytes).filter(|left| *left >= RESERVE);
        let hint = "(the linker's -z stack-size=N)";
        let why =
            || self.failed(format_args!("{bytes} bytes do not fit on its stack of {} {hint}", self.top));
        self.free = left.ok_or_else(why)? as u32 & !15;
        Ok(self.free)
    }

    fn put<const N: usize>(&mut self, items: impl ExactSizeIterator<Item = [u8; N]>) -> Lent {
        let at = self.reserve(N * items.len())?;
        let place = self.memory.data_mut(&mut self.store).get_mut(at as usize..).unwrap_or_default();
        place.chunks_exact_mut(N).zip(items).for_each(|(place, item)| place.copy_from_slice(&item));
        Ok(at)
    }

    pub(crate) fn lend_bytes(&mut self, bytes: &[u8]) -> Result<u32, BaseError> {
        self.put(bytes.iter().map(|byte| [*byte]))
    }

    /// Lends a struct.
    pub(crate) fn lend(&mut self, words: &[u32]) -> Result<u32, BaseError> {
        self.put(words.iter().map(|word| word.to_le_bytes()))
    }

    pub(crate) fn lend_numbers(&mut self, numbers: &[f64]) -> Result<u32, BaseError> {
        self.put(numbers.iter().map(|number| number.to_le_bytes()))
    }

    pub(crate) fn memory(&self) -> &[u8] {
        self.memory.data(&self.store)
    }

    /// Numbers that the module wrote where the host had reserved that much.
    pub(crate) fn numbers(&self, at: u32, len: usize) -> impl Iterator<Item = f64> {
        let bytes = self.memory().get(at as usize..at as usize + 8 * len).unwrap_or_default();
        bytes.chunks_exact(8).map(|bytes| bytes.try_into().map_or(f64::NAN, f64::from_le_bytes))
    }

    pub(crate) fn word(&self, at: u32) -> u32 {
        let bytes = self.memory().get(at as usize..at as usize + 4);
        bytes.and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes)
    }

    /// The memory above the stack: all that lasts.
    pub(crate) fn state(&self) -> &[u8] {
        self.memory().get(self.top as usize..).unwrap_or_default()
    }

    /// The same with `bytes`, where it has not more.
    pub(crate) fn state_of(&mut self, bytes: u64) -> Result<&mut [u8], BaseError> {
        let more = bytes.checked_sub(self.state().len() as u64).filter(|more| more.is_multiple_of(1 << 16));
        let grown = more.is_some_and(|more| self.memory.grow(&mut self.store, more >> 16).is_ok());
        match self.memory.data_mut(&mut self.store).get_mut(self.top as usize..) {
            Some(state) if grown => Ok(state),
            _ => Err(BaseError::Failed(format!("{}: its memory cannot have {bytes} bytes", self.name))),
        }
    }

    /// Calls a function that says in a `CorralText` why it fails: its status, which is `CORRAL_OK`, or `CORRAL_NONE` of `likelihood`.
    pub(crate) fn ask<P: WasmParams>(
        &mut self,
        entry: &str,
        function: TypedFunc<P, i32>,
        rng: Option<&mut dyn Rng>,
        with: impl FnOnce(u32) -> P,
    ) -> Result<i32, BaseError> {
        let buffer = self.reserve(ERROR)?;
        let text = self.lend(&[buffer, ERROR as u32, 0])?;
        let status = self.call(entry, function, rng, with(text))?;
        if status == CORRAL_OK || status == CORRAL_NONE && entry == "likelihood" {
            return Ok(status);
        }
        let (from, len) = (buffer as usize, (self.word(text + 8) as usize).min(ERROR));
        let said = String::from_utf8_lossy(self.memory().get(from..from + len).unwrap_or_default());
        Err(match (status, &*visible(said.split('\0').next().unwrap_or_default())) {
            (CORRAL_ERROR | CORRAL_PANICKED, "") => self.failed(format_args!("{entry}: no reason was given")),
            (CORRAL_ERROR | CORRAL_PANICKED, said) => self.failed(format_args!("{entry}: {said}")),
            _ => self.failed(format_args!("{entry} returned the unknown status {status}")),
        })
    }

    /// Calls a function. What does not return cannot be called again.
    pub(crate) fn call<P: WasmParams>(
        &mut self,
        entry: &str,
        function: TypedFunc<P, i32>,
        rng: Option<&mut dyn Rng>,
        with: P,
    ) -> Result<i32, BaseError> {
        self.inside = true;
        let returned = self.resumed(function, rng, with);
        self.inside = false;
        returned.map_err(|why| {
            let fault = trap(&self.name, entry, &why, self.fuel);
            self.fault = Some(fault.clone());
            fault
        })
    }

    /// Goes on with a number whenever the module draws one: so that a generator that is lent need not be stored.
    fn resumed<P: WasmParams>(
        &mut self,
        function: TypedFunc<P, i32>,
        mut rng: Option<&mut dyn Rng>,
        with: P,
    ) -> Result<i32, Error> {
        let (store, memory) = (&mut self.store, self.memory);
        self.stack.set(&mut *store, Val::I32(self.free as i32))?;
        store.set_fuel(self.fuel)?;
        let mut call = function.call_resumable(&mut *store, with)?;
        loop {
            let draw = match call {
                TypedResumableCall::Finished(status) => return Ok(status),
                TypedResumableCall::OutOfFuel(_) => return Err(TrapCode::OutOfFuel.into()),
                TypedResumableCall::HostTrap(draw) => draw,
            };
            let (Some(wanted), Some(rng)) =
                (draw.host_error().downcast_ref::<Draw>().copied(), rng.as_deref_mut())
            else {
                return Err(Error::new(draw.host_error().to_string()));
            };
            let cost = DRAW + if let Draw::Bytes(_, len) = wanted { u64::from(len) } else { 0 };
            store.set_fuel(store.get_fuel()?.checked_sub(cost).ok_or(TrapCode::OutOfFuel)?)?;
            call = match wanted {
                Draw::U32 => draw.resume(&mut *store, &[Val::I32(rng.next_u32() as i32)]),
                Draw::U64 => draw.resume(&mut *store, &[Val::I64(rng.next_u64() as i64)]),
                Draw::Bytes(at, len) => {
                    let end = (at as usize).saturating_add(len as usize);
                    let place = memory.data_mut(&mut *store).get_mut(at as usize..end);
                    rng.fill_bytes(place.ok_or(TrapCode::MemoryOutOfBounds)?);
                    draw.resume(&mut *store, &[])
                }
            }?;
        }
    }
}

/// What went wrong in a call that did not return.
fn trap(name: &str, entry: &str, why: &Error, fuel: u64) -> BaseError {
    BaseError::Failed(match why.as_trap_code() {
        Some(TrapCode::OutOfFuel) => {
            format!("{name}: {entry} took more than {fuel} steps (`fuel` in its table allows more)")
        }
        _ => format!("{name}: {entry}: {}", visible(why.to_string().trim())),
    })
}
