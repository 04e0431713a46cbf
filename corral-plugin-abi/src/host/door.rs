//! The two doors of a library, and the tables behind them.

use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use abi_stable::library::{AbiHeader, AbiHeaderRef, ROOT_MODULE_LOADER_NAME_WITH_NUL, RootModule};
use abi_stable::sabi_types::VersionNumber;
use corral_core::text::visible;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use super::error::LoadError;
use super::float::kept;
use super::layout;
use super::loader::{Door, Opened};
use super::table::Table;
use crate::abi::{CORRAL_ENTRY, CorralBaseV1, CorralEntryV1, CorralRootV1Ref};

/// No library has more bases.
const MOST_BASES: usize = 256;

/// Opens a library that passed the pre-flight, for ever. The thread's floating-point state stays as it is.
///
/// # Safety
/// Foreign code is run in this process: the library's initialisers and its entry. They are trusted as linked code is.
pub(super) unsafe fn open(library: OwnedFd, door: Door) -> Result<Opened, LoadError> {
    // SAFETY: the caller's promise.
    kept(|| unsafe { open_inside(library, door) })
}

/// # Safety
/// As for [`open`].
unsafe fn open_inside(library: OwnedFd, door: Door) -> Result<Opened, LoadError> {
    // Never closed: the system's loader knows a library by this name.
    let name = format!("/proc/self/fd/{}", ManuallyDrop::new(library).as_raw_fd());
    // All symbols at once, so that a missing one is an error here and not a crash later; visible to no other library.
    // SAFETY: the caller's promise.
    let library = unsafe { Library::open(Some(&name), RTLD_NOW | RTLD_LOCAL) };
    // Never unloaded: tables, texts and thread-locals of the plugin live as long as the process.
    let library = ManuallyDrop::new(library.map_err(|e| not_opened(&e, &name))?);
    // SAFETY: the caller's promise.
    let opened = unsafe {
        match door {
            Door::Rust => rust_door(&library),
            Door::C => c_door(&library),
            // Not opened by the system.
            Door::Wasm => Err(LoadError::NotAPlugin),
        }
    }?;
    if opened.tables.is_empty() {
        return Err(LoadError::Empty);
    }
    for (i, table) in opened.tables.iter().enumerate() {
        if opened.tables[..i].iter().any(|other| other.base.name == table.base.name) {
            return Err(LoadError::SameName(table.base.name.clone()));
        }
    }
    Ok(opened)
}

/// What the system's loader said: the cause names the symbol or file.
fn not_opened(error: &libloading::Error, name: &str) -> LoadError {
    use std::error::Error;
    let said = error.source().map_or_else(|| error.to_string(), ToString::to_string);
    LoadError::Open(visible(&said.replace(&format!("{name}: "), "")).into_owned())
}

/// # Safety
/// The library exports what the pre-flight found.
unsafe fn rust_door(library: &Library) -> Result<Opened, LoadError> {
    // SAFETY: the symbol is a header of abi_stable; whether it is one of this version is looked at first.
    let header = unsafe { library.get::<AbiHeaderRef>(ROOT_MODULE_LOADER_NAME_WITH_NUL.as_bytes()) };
    let header = *header.map_err(|e| not_opened(&e, ""))?;
    if header.magic_string != AbiHeader::VALUE.magic_string {
        return Err(LoadError::NotAPlugin);
    }
    if !header.is_valid() {
        let said = |h: &AbiHeader| format!("{}.{}", h.abi_major, h.abi_minor);
        return Err(LoadError::AbiStable(said(&header), said(&AbiHeader::VALUE)));
    }
    let header = header.upgrade().map_err(|e| LoadError::Open(e.to_string().trim().to_owned()))?;

    let version = |strings| VersionNumber::new(strings).map_err(|e| LoadError::Open(e.to_string()));
    let (found, host) = (version(header.version_strings())?, version(CorralRootV1Ref::VERSION_STRINGS)?);
    if !found.is_loosely_compatible(host) {
        return Err(LoadError::Version { found: found.to_string(), host: host.to_string() });
    }
    layout::check(header.layout().ok_or(LoadError::Unchecked)?).map_err(LoadError::Layout)?;
    // SAFETY: the layouts agree, in one direction or the other; only the fields of the first version are used.
    let root = unsafe { header.unchecked_layout::<CorralRootV1Ref>() };
    let bases = root.map_err(|e| LoadError::Open(e.to_string()))?.bases();
    if bases.len() > MOST_BASES {
        return Err(LoadError::TooMany(MOST_BASES));
    }
    let tables = bases.iter().enumerate().map(|(index, base)| {
        // SAFETY: the table is a static of the library; the raw pointer reaches beyond the first fields.
        let table = unsafe { (&raw const (*base.0.to_raw_ptr()).value).cast::<CorralBaseV1>() };
        // SAFETY: as above, of `struct_size` bytes by the layout check.
        unsafe { Table::read(table) }.map(Arc::new).map_err(|why| LoadError::Table { index, why })
    });
    Ok(Opened { tables: tables.collect::<Result<_, _>>()?, interface: Some(found.to_string()) })
}

/// # Safety
/// The library exports what the pre-flight found.
unsafe fn c_door(library: &Library) -> Result<Opened, LoadError> {
    // SAFETY: the name is that of a function of this type.
    let entry = unsafe { library.get::<CorralEntryV1>(CORRAL_ENTRY.as_bytes()) };
    let entry = entry.map_err(|e| not_opened(&e, ""))?;
    let mut tables = Vec::new();
    for index in 0..=MOST_BASES {
        // SAFETY: the entry takes any number.
        let table = unsafe { entry(index as u32) };
        if table.is_null() {
            return Ok(Opened { tables, interface: None });
        }
        // SAFETY: what the entry returns is a table, or at least its first 16 bytes.
        let table = unsafe { Table::read(table) }.map_err(|why| LoadError::Table { index, why })?;
        tables.push(Arc::new(table));
    }
    Err(LoadError::TooMany(MOST_BASES))
}
