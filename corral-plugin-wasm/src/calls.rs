//! The table of a base in a module's memory: `CorralBaseV1` of `corral_plugin.h` in the layout of wasm32.

use corral_core::text::visible;
use corral_plugin_abi::abi::CORRAL_MAGIC;
use corral_plugin_abi::host::{BaseInfo, VtableError, portable};
use wasmi::{Ref, Store, Table, TypedFunc, Val, WasmParams};

/// Bytes up to the entries that an older plugin lacks.
const LEAST: u32 = 84;
/// No table of whatever version is larger.
const MOST: u32 = 4096;

/// A function of a base.
type Call<P> = TypedFunc<P, i32>;
/// One that may be missing.
type Maybe<P> = Option<Call<P>>;
/// Where functions are looked for.
type From<'a, T> = (&'a Store<T>, Table);

/// What a base is, and the indices of its functions; 0, where none ever is, for those that it lacks.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) info: BaseInfo,
    indices: [u32; 12],
}

/// The functions of a base in one store.
pub(crate) struct Calls {
    pub(crate) create: Call<(u32, u32, u32, u32)>,
    pub(crate) propose: Call<(u32, u32, u32, u32, u32)>,
    pub(crate) learn: Call<(u32, u32, u32, f64, f64, u32)>,
    pub(crate) rerange: Call<(u32, f64, u64, u32)>,
    pub(crate) pass: Maybe<(u32, u32, u32)>,
    pub(crate) likelihood: Maybe<(u32, u32, u32, u32, u32, u32)>,
    pub(crate) learns_from_others: Maybe<u32>,
    pub(crate) heeds_passes: Maybe<u32>,
    pub(crate) extension: Maybe<u64>,
}

impl Entry {
    /// Reads and checks the table at `at`.
    pub(crate) fn read(memory: &[u8], at: u32) -> Result<Self, VtableError> {
        let outside = || VtableError::Address(at as usize);
        let table = memory.get(at as usize..).filter(|table| table.len() >= 16 && at.is_multiple_of(8));
        let table = table.ok_or_else(outside)?;
        let field = |offset: usize| {
            table.get(offset..offset + 4).map_or(0, |b| u32::from_le_bytes(b.try_into().unwrap_or_default()))
        };
        let long = |offset: usize| u64::from(field(offset)) | u64::from(field(offset + 4)) << 32;
        if long(0) != CORRAL_MAGIC {
            return Err(VtableError::Magic(long(0)));
        }
        let size = field(8);
        if !(LEAST..=MOST).contains(&size) || !size.is_multiple_of(4) {
            return Err(VtableError::Text(format!("size ({size} bytes)").into()));
        }
        let table = table.get(..size as usize).ok_or_else(outside)?;
        let text = |offset: usize, most: usize, what: &'static str| {
            let (from, len) = (field(offset) as usize, field(offset + 4) as usize);
            let bytes = from.checked_add(len).and_then(|to| memory.get(from..to)).filter(|_| len <= most);
            let text = bytes.and_then(|bytes| std::str::from_utf8(bytes).ok());
            text.map(|text| visible(text).into_owned()).ok_or(VtableError::Text(what.into()))
        };
        let texts = [text(32, 64, "name")?, text(40, 4096, "description")?, text(48, 64, "version")?];
        let info = portable::info(field(16), f64::from_bits(long(24)), texts)?;
        // What lies beyond the table's size is 0.
        let indices = std::array::from_fn(|i| if 60 + 4 * i <= table.len() { field(56 + 4 * i) } else { 0 });
        Ok(Self { info, indices })
    }

    /// Its functions in a store. The state is the memory: nothing calls `destroy`, `save` and `load`.
    pub(crate) fn calls<T>(&self, from: From<'_, T>) -> Result<Calls, String> {
        Ok(Calls {
            create: self.function(from, 0, "create")?,
            propose: self.function(from, 2, "propose")?,
            learn: self.function(from, 3, "learn")?,
            rerange: self.function(from, 4, "rerange")?,
            pass: self.optional(from, 7, "pass")?,
            likelihood: self.optional(from, 8, "likelihood")?,
            learns_from_others: self.optional(from, 9, "learns_from_others")?,
            heeds_passes: self.optional(from, 10, "heeds_passes")?,
            extension: self.optional(from, 11, "extension")?,
        })
    }

    fn function<T, P: WasmParams>(
        &self,
        from: From<'_, T>,
        place: usize,
        what: &str,
    ) -> Result<Call<P>, String> {
        let (name, index, (store, table)) = (&self.info.name, self.indices[place], from);
        let Some(Val::FuncRef(Ref::Val(function))) = table.get(store, index.into()) else {
            return Err(format!("{name}: `{what}` is {index}, and there is no such function"));
        };
        let other = |_| format!("{name}: `{what}` takes or returns something else: {:?}", function.ty(store));
        function.typed(store).map_err(other)
    }

    fn optional<T, P: WasmParams>(
        &self,
        from: From<'_, T>,
        place: usize,
        what: &str,
    ) -> Result<Maybe<P>, String> {
        if self.indices[place] == 0 { Ok(None) } else { self.function(from, place, what).map(Some) }
    }
}
