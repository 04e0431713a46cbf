//! What can be known of a file without running a byte of it. A library that is cut short kills the process at
//! `dlopen`, and one that is no plugin has its initialisers run: both are found here.

use std::fs::{File, Metadata, OpenOptions};
use std::io::Read;
use std::path::Path;

use object::read::elf::{ElfFile64, FileHeader, ProgramHeader, SectionHeader};
use object::{Endianness, FileKind, Object, ObjectSymbol, elf};
use sha2::{Digest, Sha256};

use super::error::LoadError;
use super::loader::Door;
use super::portable;
use crate::abi::CORRAL_ENTRY;

/// No plugin is larger.
const MOST_BYTES: u64 = 1 << 28;

/// What a file is, from its bytes alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preflight {
    /// Which entry it exports.
    pub door: Door,
    /// Its length.
    pub bytes: u64,
    /// Its SHA-256 digest, in hexadecimal digits.
    pub sha256: String,
}

/// Reads the file and looks at it. Anything that is not a regular file is refused before it is read.
///
/// # Errors
/// The reason why it cannot be a plugin for this host.
pub fn preflight(path: &Path) -> Result<Preflight, LoadError> {
    if let Some(system) = other_system(path) {
        return Err(LoadError::OtherSystem(system.into()));
    }
    preflight_bytes(&read(&open(path)?.0)?)
}

/// The system that a library is for, by its suffix, where that is not Linux.
pub(super) fn other_system(path: &Path) -> Option<&'static str> {
    match path.extension()?.to_str()? {
        "dylib" => Some("macOS"),
        "dll" => Some("Windows"),
        _ => None,
    }
}

/// Opens a regular file; what is said of it is said of what was opened. A FIFO does not make this wait.
pub(super) fn open(path: &Path) -> Result<(File, Metadata), LoadError> {
    // A device may do something when it is opened.
    regular(&std::fs::metadata(path).map_err(|e| unreadable(path, e))?)?;
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32);
    }
    let file = options.open(path)?;
    let about = file.metadata()?;
    regular(&about)?;
    Ok((file, about))
}

/// All of the file.
pub(super) fn read(file: &File) -> Result<Vec<u8>, LoadError> {
    let mut data = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut data)?;
    if data.len() as u64 > MOST_BYTES {
        return Err(LoadError::NotALibrary(format!("it has more than {MOST_BYTES} bytes")));
    }
    Ok(data)
}

/// As [`preflight`], of bytes that were read.
///
/// # Errors
/// As [`preflight`].
pub fn preflight_bytes(data: &[u8]) -> Result<Preflight, LoadError> {
    let door = if data.starts_with(portable::MAGIC) { Door::Wasm } else { elf_door(data)? };
    let sha256 = Sha256::digest(data).iter().map(|b| format!("{b:02x}")).collect();
    Ok(Preflight { door, bytes: data.len() as u64, sha256 })
}

pub(super) fn regular(about: &Metadata) -> Result<(), LoadError> {
    let kind = about.file_type();
    if kind.is_file() {
        return Ok(());
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if kind.is_fifo() {
            return Err(LoadError::NotRegular("a FIFO".into()));
        }
        if kind.is_socket() {
            return Err(LoadError::NotRegular("a socket".into()));
        }
    }
    Err(LoadError::NotRegular(if kind.is_dir() { "a folder" } else { "a device" }.into()))
}

/// Why nothing is known of the file at `path`: a link in the folder may lead nowhere, or to itself.
pub(super) fn unreadable(path: &Path, error: std::io::Error) -> LoadError {
    match std::fs::symlink_metadata(path) {
        Ok(about) if about.is_symlink() && error.kind() != std::io::ErrorKind::PermissionDenied => {
            LoadError::NotRegular("a link that leads to none".into())
        }
        _ => error.into(),
    }
}

fn not_a_library(data: &[u8]) -> LoadError {
    if data.is_empty() {
        return LoadError::NotALibrary("it is empty".into());
    }
    // By their first bytes, whatever their names are.
    match FileKind::parse(data) {
        Ok(FileKind::MachO32 | FileKind::MachO64 | FileKind::MachOFat32 | FileKind::MachOFat64) => {
            return LoadError::OtherSystem("macOS".into());
        }
        Ok(FileKind::Pe32 | FileKind::Pe64) => return LoadError::OtherSystem("Windows".into()),
        _ => {}
    }
    let start: String = data.iter().take(4).map(|b| format!("{b:02x}")).collect();
    LoadError::NotALibrary(format!("{} bytes that begin with {start}", data.len()))
}

fn damaged(error: object::Error) -> LoadError {
    LoadError::NotALibrary(format!("damaged: {error}"))
}

/// Hosts are ELF systems of 64 bits: other formats are no libraries here.
fn elf_door(data: &[u8]) -> Result<Door, LoadError> {
    if !data.starts_with(&elf::ELFMAG) {
        return Err(not_a_library(data));
    }
    let short = |what: &'static str, needed: u64| LoadError::CutShort {
        what: what.into(),
        needed,
        found: data.len() as u64,
    };
    let ends = |what, offset: u64, size: u64| match offset.checked_add(size) {
        Some(end) if end <= data.len() as u64 => Ok(()),
        end => Err(short(what, end.unwrap_or(u64::MAX))),
    };
    // The class is byte 4 whatever the rest: a 32-bit file gets its name before its length is judged.
    match FileKind::parse(data) {
        Ok(FileKind::Elf64) => {}
        Ok(FileKind::Elf32) => return Err(LoadError::Architecture { found: "a 32-bit machine".into() }),
        _ => return Err(short("headers", size_of::<elf::FileHeader64<Endianness>>() as u64)),
    }
    ends("headers", 0, size_of::<elf::FileHeader64<Endianness>>() as u64)?;
    let header = elf::FileHeader64::<Endianness>::parse(data).map_err(damaged)?;
    let endian = header.endian().map_err(damaged)?;
    let machine = header.e_machine(endian);
    if host_machine().is_some_and(|host| host != machine) || endian != Endianness::default() {
        return Err(LoadError::Architecture { found: machine_name(machine, endian) });
    }
    // Everything that the headers announce is there: segments, sections, and the two tables of them.
    let entries = |count: u16, size: u16| u64::from(count) * u64::from(size);
    ends(
        "program headers",
        header.e_phoff(endian),
        entries(header.e_phnum(endian), header.e_phentsize(endian)),
    )?;
    ends(
        "section headers",
        header.e_shoff(endian),
        entries(header.e_shnum(endian), header.e_shentsize(endian)),
    )?;
    let segments = header.program_headers(endian, data).map_err(damaged)?;
    for segment in segments {
        ends("segments", segment.p_offset(endian), segment.p_filesz(endian))?;
    }
    // The system's loader takes their number and place as they stand, whatever that means elsewhere.
    if segments.len() != usize::from(header.e_phnum(endian))
        || !segments.iter().any(|s| s.p_type(endian) == elf::PT_LOAD)
    {
        return Err(LoadError::NotALibrary("damaged: it has no segments to load".into()));
    }
    for section in header.section_headers(endian, data).map_err(damaged)? {
        if section.sh_type(endian) != elf::SHT_NOBITS {
            ends("sections", section.sh_offset(endian), section.sh_size(endian))?;
        }
    }
    if header.e_type(endian) != elf::ET_DYN {
        return Err(LoadError::NotALibrary(match header.e_type(endian) {
            elf::ET_EXEC => "an executable".into(),
            elf::ET_REL => "an object file that was not linked".into(),
            other => format!("an ELF file of type {other:?}"),
        }));
    }
    let file = ElfFile64::<Endianness>::parse(data).map_err(damaged)?;
    door_of(file.dynamic_symbols().filter(|s| s.is_definition()).filter_map(|s| s.name_bytes().ok()))
}

/// The door behind the exported names; the stricter one where there are both.
fn door_of<'a>(names: impl Iterator<Item = &'a [u8]>) -> Result<Door, LoadError> {
    let root = abi_stable::library::ROOT_MODULE_LOADER_NAME.as_bytes();
    let mut door = None;
    for name in names {
        if name == root {
            return Ok(Door::Rust);
        }
        if name == CORRAL_ENTRY.as_bytes() {
            door = Some(Door::C);
        }
    }
    door.ok_or(LoadError::NotAPlugin)
}

/// Machines: as ELF files say it, as Rust does where a host may be one, and in an error.
const MACHINES: &[(elf::Machine, &str, &str)] = &[
    (elf::EM_X86_64, "x86_64", "X86_64"),
    (elf::EM_AARCH64, "aarch64", "Aarch64"),
    (elf::EM_RISCV, "riscv64", "Riscv64"),
    (elf::EM_PPC64, "powerpc64", "PowerPc64"),
    (elf::EM_S390, "s390x", "S390x"),
    (elf::EM_LOONGARCH, "loongarch64", "LoongArch64"),
    (elf::EM_386, "", "I386"),
];

fn host_machine() -> Option<elf::Machine> {
    MACHINES.iter().find(|m| m.1 == std::env::consts::ARCH).map(|m| m.0)
}

fn machine_name(machine: elf::Machine, endian: Endianness) -> String {
    match MACHINES.iter().find(|m| m.0 == machine) {
        None => format!("{machine:?}"),
        Some((.., name)) if endian == Endianness::default() => (*name).into(),
        Some((.., name)) => format!("{name} of the other byte order"),
    }
}
