//! A table that was checked: what the host calls through.

use std::borrow::Cow;
use std::ffi::c_void;
use std::mem::offset_of;

use corral_core::registry::Kind;
use corral_core::text::visible;
use serde::{Deserialize, Serialize};

use super::float::kept;
use super::lender::Lenders;
use crate::abi::*;
use crate::author::kind_of;

/// Bytes that every table of version 1 has: up to `load`.
const LEAST: usize = offset_of!(CorralBaseV1, pass);
/// No table of whatever version is larger.
const MOST: usize = 4096;

/// Why a table cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[non_exhaustive]
pub enum VtableError {
    /// The pointer to it is not one.
    #[error("the table's address {0:#x} is not aligned")]
    Address(usize),
    /// It does not begin with the magic number.
    #[error("the table begins with {0:#018x} instead of the magic number")]
    Magic(u64),
    /// Its size is not that of a table of this kind.
    #[error("the table says it has {0} bytes; version 1 has at least {LEAST}, at most {MOST}, in eights")]
    Size(usize),
    /// A function that every base has is missing.
    #[error("the table has no function `{0}`")]
    Null(Cow<'static, str>),
    /// Decisions of a kind that is not known.
    #[error("the base is of the unknown kind {0}")]
    Kind(u32),
    /// A name, description or version that is no text, or too long.
    #[error("the base's {0} is not usable text")]
    Text(Cow<'static, str>),
    /// An exponent outside [0, 1].
    #[error("the base's alpha must be in [0, 1], but is {0}")]
    Alpha(String),
}

/// What a catalogue says of a base.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BaseInfo {
    /// Its name within the library.
    pub name: String,
    /// One sentence.
    pub description: String,
    /// Version of the plugin.
    pub version: String,
    /// What it decides on and looks at.
    pub kind: Kind,
    /// The stability exponent, where one is known.
    pub alpha: Option<f64>,
    /// Whether it cannot be built without a number of rounds.
    pub needs_horizon: bool,
}

/// A checked copy of a [`CorralBaseV1`]: functions are there, texts are text. Entries that an older plugin does not
/// have are `None`.
pub struct Table {
    /// What it says of itself.
    pub base: BaseInfo,
    pub(super) calls: CorralBaseV1,
    /// The generators that its bases are lent.
    pub(super) lenders: Lenders,
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table").field("name", &self.base.name).finish_non_exhaustive()
    }
}

impl Table {
    /// Reads and checks the table at `at`. Functions are read as plain pointers first: no function pointer is formed
    /// before it is known not to be null.
    ///
    /// # Errors
    /// Says what is wrong with it.
    ///
    /// # Safety
    /// `at` is valid for reads of `struct_size` bytes (of 16 if that is wrong), and stays so, as do the texts.
    pub unsafe fn read(at: *const CorralBaseV1) -> Result<Self, VtableError> {
        if !at.is_aligned() {
            return Err(VtableError::Address(at.addr()));
        }
        let null = |offset: usize| {
            // SAFETY: within the bytes that the caller promised, and aligned.
            unsafe { at.cast::<u8>().add(offset).cast::<*const ()>().read() }.is_null()
        };
        // SAFETY: as above; magic and size are the first 16 bytes.
        let (magic, size) =
            unsafe { ((&raw const (*at).magic).read(), (&raw const (*at).struct_size).read()) };
        if magic != CORRAL_MAGIC {
            return Err(VtableError::Magic(magic));
        }
        if !(LEAST..=MOST).contains(&size) || !size.is_multiple_of(8) {
            return Err(VtableError::Size(size));
        }
        for (name, offset) in [
            ("create", offset_of!(CorralBaseV1, create)),
            ("destroy", offset_of!(CorralBaseV1, destroy)),
            ("propose", offset_of!(CorralBaseV1, propose)),
            ("learn", offset_of!(CorralBaseV1, learn)),
            ("rerange", offset_of!(CorralBaseV1, rerange)),
            ("save", offset_of!(CorralBaseV1, save)),
            ("load", offset_of!(CorralBaseV1, load)),
        ] {
            if null(offset) {
                return Err(VtableError::Null(name.into()));
            }
        }
        // Entries that the plugin is too old to have stay null, which is `None`.
        let mut calls = std::mem::MaybeUninit::<CorralBaseV1>::zeroed();
        let known = size.min(size_of::<CorralBaseV1>());
        // SAFETY: `known` bytes can be read and fit; they do not overlap.
        unsafe { std::ptr::copy_nonoverlapping(at.cast::<u8>(), calls.as_mut_ptr().cast::<u8>(), known) };
        // SAFETY: every required function is not null, every other field is valid for any bits.
        let calls = unsafe { calls.assume_init() };

        // SAFETY: the caller's promise.
        let texts = unsafe {
            [
                read_text(calls.name, 64, "name")?,
                read_text(calls.description, 4096, "description")?,
                read_text(calls.version, 64, "version")?,
            ]
        };
        let base = info(calls.kind, calls.alpha, texts)?;
        let mut table = Self { base, calls, lenders: Lenders::default() };
        table.base.needs_horizon = !table.extension(CORRAL_NEEDS_HORIZON).is_null();
        Ok(table)
    }

    /// What the plugin answers to `extension(id)`; null where it knows nothing of it.
    pub fn extension(&self, id: u64) -> *const c_void {
        match self.calls.extension {
            // SAFETY: the entry takes any number.
            Some(extension) => kept(|| unsafe { extension(id) }),
            None => std::ptr::null(),
        }
    }
}

/// What a table says of a base, checked: kind, alpha, and name, description and version.
pub fn info(kind: u32, alpha: f64, texts: [String; 3]) -> Result<BaseInfo, VtableError> {
    let [name, description, version] = texts;
    let kind = kind_of(kind).ok_or(VtableError::Kind(kind))?;
    let alpha = (!alpha.is_nan()).then_some(alpha);
    if let Some(alpha) = alpha.filter(|a| !(0.0..=1.0).contains(a)) {
        return Err(VtableError::Alpha(alpha.to_string()));
    }
    if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_') {
        return Err(VtableError::Text("name".into()));
    }
    Ok(BaseInfo { name, description, version, kind, alpha, needs_horizon: false })
}

/// # Safety
/// Where `len` is at most `most`, `ptr` is valid for that many reads.
unsafe fn read_text(text: CorralStr, most: usize, what: &'static str) -> Result<String, VtableError> {
    if text.len == 0 {
        return Ok(String::new());
    }
    if text.ptr.is_null() || text.len > most {
        return Err(VtableError::Text(what.into()));
    }
    // SAFETY: the caller's promise.
    let bytes = unsafe { std::slice::from_raw_parts(text.ptr, text.len) };
    std::str::from_utf8(bytes)
        .map(|text| visible(text).into_owned())
        .map_err(|_| VtableError::Text(what.into()))
}
