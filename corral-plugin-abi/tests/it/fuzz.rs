//! Bytes from outside: the pre-flight and the snapshot reader answer, whatever they are given. What is given are real
//! libraries and real snapshots with a few things changed: bytes, fields of the headers, cuts, pieces moved. Thousands
//! of them, from a fixed seed.

use std::sync::{Arc, OnceLock};

use crate::common::{SHARED, c, folder, rust, workspace};
use corral_plugin_abi::exported;
use corral_plugin_abi::host::{Door, ForeignBase, LoadError, Table, preflight_bytes};
use corral_plugin_abi::prelude::*;
use corral_plugin_abi::serde::ser::{SerializeTuple, Serializer};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::RngSeed;
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// A real plugin's bytes.
fn library() -> &'static [u8] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(|| std::fs::read(rust("draws")).unwrap())
}

/// Those of a small one, of which thousands are looked at in no time; where there is no C compiler, the other.
fn small() -> &'static [u8] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(|| {
        let dir = folder();
        let small = c("linear.c", &dir.path().join("linear.so"), SHARED);
        small.map_or_else(|| library().to_vec(), |path| std::fs::read(path).unwrap())
    })
}

/// A change to bytes.
#[derive(Debug, Clone)]
enum Edit {
    Byte(Index, u8),
    Word(Index, u64),
    Cut(Index),
    Append(Vec<u8>),
    /// A piece of at most 64 bytes is copied over another.
    Copy(Index, Index),
    Remove(Index),
}

/// Numbers at which readers of lengths and offsets go wrong.
fn word() -> impl Strategy<Value = u64> {
    let edges = vec![0, 1, 7, 8, 0xffff, 1 << 16, (1 << 31) - 1, 1 << 31, u32::MAX as u64, 1 << 32, 1 << 63];
    prop_oneof![select(edges), any::<u64>(), (0u64..64).prop_map(|n| u64::MAX - n), 0u64..20_000]
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let edit = prop_oneof![
        4 => (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Edit::Byte(at, byte)),
        4 => (any::<Index>(), word()).prop_map(|(at, word)| Edit::Word(at, word)),
        1 => any::<Index>().prop_map(Edit::Cut),
        1 => vec(any::<u8>(), 1..40).prop_map(Edit::Append),
        2 => (any::<Index>(), any::<Index>()).prop_map(|(from, to)| Edit::Copy(from, to)),
        1 => any::<Index>().prop_map(Edit::Remove),
    ];
    vec(edit, 1..5)
}

fn edited(bytes: &[u8], edits: &[Edit]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for edit in edits {
        if bytes.is_empty() {
            break;
        }
        let n = bytes.len();
        match edit {
            Edit::Byte(at, byte) => bytes[at.index(n)] = *byte,
            Edit::Word(at, word) => {
                let at = at.index(n);
                let len = (n - at).min(8);
                bytes[at..at + len].copy_from_slice(&word.to_le_bytes()[..len]);
            }
            Edit::Cut(at) => bytes.truncate(at.index(n)),
            Edit::Append(more) => bytes.extend_from_slice(more),
            Edit::Copy(from, to) => {
                let (from, to) = (from.index(n), to.index(n));
                let length = (n - from.max(to)).min(64);
                bytes.copy_within(from..from + length, to);
            }
            Edit::Remove(at) => {
                bytes.remove(at.index(n));
            }
        }
    }
    bytes
}

/// Place and width of the fields of an ELF file's header, of its segments and of its sections.
const HEADER: [(usize, usize); 13] = [
    (16, 2),
    (18, 2),
    (20, 4),
    (24, 8),
    (32, 8),
    (40, 8),
    (48, 4),
    (52, 2),
    (54, 2),
    (56, 2),
    (58, 2),
    (60, 2),
    (62, 2),
];
const SEGMENT: [(usize, usize); 8] = [(0, 4), (4, 4), (8, 8), (16, 8), (24, 8), (32, 8), (40, 8), (48, 8)];
const SECTION: [(usize, usize); 10] =
    [(0, 4), (4, 4), (8, 8), (16, 8), (24, 8), (32, 8), (40, 4), (44, 4), (48, 8), (56, 8)];

fn number(bytes: &[u8], at: usize, width: usize) -> u64 {
    bytes[at..at + width].iter().rev().fold(0, |n, b| n << 8 | u64::from(*b))
}

/// Writes `value` to a field: the file's header, a segment's or a section's.
fn set_field(bytes: &mut [u8], which: Index, of: Index, value: u64) {
    let table = |at: usize, count: usize, size: usize, fields: &[(usize, usize)]| {
        let (offset, width) = fields[which.index(fields.len())];
        (
            number(small(), at, 8) as usize + of.index(number(small(), count, 2) as usize) * size + offset,
            width,
        )
    };
    let (at, width) = match of.index(3) {
        0 => HEADER[which.index(HEADER.len())],
        1 => table(32, 56, 56, &SEGMENT),
        _ => table(40, 60, 64, &SECTION),
    };
    bytes[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
}

/// What must be true of bytes that the pre-flight lets through, read without its help: they are a library for this
/// machine, no segment or header ends behind the file (the system's loader would die of it), and an entry is named.
fn acceptable(bytes: &[u8]) -> bool {
    let inside = |at: u64, n: u64| at.checked_add(n).is_some_and(|end| end <= bytes.len() as u64);
    let (table, count, size) = (number(bytes, 32, 8), number(bytes, 56, 2), number(bytes, 54, 2));
    (bytes[..6] == small()[..6] && bytes[16..20] == small()[16..20])
        && size == 56
        && inside(table, count * size)
        && (0..count).all(|i| {
            let at = (table + i * size) as usize;
            inside(number(bytes, at + 8, 8), number(bytes, at + 32, 8))
        })
        && [&b"corral_plugin_v1"[..], b"_1as_0lib_1header_0root_bmodule_bloader"]
            .iter()
            .any(|name| bytes.windows(name.len()).any(|w| w == *name))
}

fn judged(bytes: &[u8]) -> Result<bool, TestCaseError> {
    let Ok(seen) = preflight_bytes(bytes) else { return Ok(false) };
    prop_assert!(acceptable(bytes), "accepted: {:?}", seen);
    prop_assert_eq!((seen.bytes, seen.sha256.len()), (bytes.len() as u64, 64));
    Ok(true)
}

/// The corpus of the fuzz target: what its name says is what the pre-flight says.
#[test]
fn the_preflight_judges_its_corpus() {
    let mut judged_files = 0;
    for file in std::fs::read_dir(workspace().join("fuzz/corpus/preflight")).unwrap() {
        let file = file.unwrap();
        let name = file.file_name().into_string().unwrap();
        let seen = preflight_bytes(&std::fs::read(file.path()).unwrap());
        // The libraries of the corpus are for one machine; what is bad is bad on every one.
        if cfg!(target_arch = "x86_64") || name.starts_with("bad-") {
            assert_eq!(seen.is_ok(), name.starts_with("good-"), "{name}: {seen:?}");
        }
        judged_files += 1;
    }
    assert!(judged_files > 30);
}

proptest! {
    #![proptest_config(config(3000))]

    #[test]
    fn the_preflight_survives_any_bytes(mut bytes in vec(any::<u8>(), 0..300), magic: bool) {
        if magic && bytes.len() >= 20 {
            // An ELF file of 64 bits for this machine, up to here.
            bytes[..20].copy_from_slice(&library()[..20]);
        }
        prop_assert!(preflight_bytes(&bytes).is_err());
    }

    #[test]
    fn the_preflight_survives_a_library_with_fields_changed(
        fields in vec((any::<Index>(), any::<Index>(), word()), 1..4),
    ) {
        let mut bytes = small().to_vec();
        for (which, of, value) in fields {
            set_field(&mut bytes, which, of, value);
        }
        judged(&bytes)?;
    }

    #[test]
    fn the_preflight_survives_a_damaged_library(edits in edits()) {
        judged(&edited(small(), &edits))?;
    }

    /// A library that lost its end is never taken for a whole one.
    #[test]
    fn the_preflight_refuses_every_cut(at: Index) {
        let cut = &small()[..at.index(small().len())];
        let refused = preflight_bytes(cut);
        prop_assert!(
            matches!(refused, Err(LoadError::CutShort { .. } | LoadError::NotALibrary(_))),
            "{refused:?}"
        );
    }
}

proptest! {
    // These are a thousand times as long.
    #![proptest_config(config(200))]

    #[test]
    fn the_preflight_survives_a_damaged_rust_library(
        head in vec((0usize..4096, any::<u8>()), 0..5),
        edits in edits(),
    ) {
        let mut bytes = library().to_vec();
        for (at, byte) in head {
            bytes[at] = byte;
        }
        judged(&edited(&bytes, &edits))?;
    }

    #[test]
    fn the_preflight_refuses_every_cut_of_a_rust_library(part in 0.0..1.0f64) {
        let bytes = library();
        let cut = &bytes[..((bytes.len() - 1) as f64 * part) as usize];
        let refused = preflight_bytes(cut);
        prop_assert!(
            matches!(refused, Err(LoadError::CutShort { .. } | LoadError::NotALibrary(_))),
            "{refused:?}"
        );
    }
}

#[test]
fn whole_libraries_pass() {
    assert_eq!(preflight_bytes(library()).unwrap().door, Door::Rust);
    assert!(preflight_bytes(small()).is_ok() && acceptable(small()));
}

const FRAME: &str = "plugin base it version 0.1.0";

/// A base that has learned something.
fn base() -> ForeignBase<Arm> {
    let mut setup = Setup::arms(2, None);
    setup.context.features = 2;
    // SAFETY: the functions and texts of the table are those of this program.
    let table = unsafe { Table::read(&exported::<crate::draws::Draws>("it", "0.1.0")) }.unwrap();
    let mut base = ForeignBase::build(Arc::new(table), "", &setup).unwrap();
    let mut rng = Pcg64Dxsm::seed_from_u64(1);
    for _ in 0..20 {
        play(&mut base, &mut rng).unwrap();
    }
    base
}

fn play(base: &mut ForeignBase<Arm>, rng: &mut Pcg64Dxsm) -> Result<(), BaseError> {
    let x = Context::shared(vec![uniform(rng), -0.5], 2);
    let made = base.propose(&x, rng)?;
    base.learn(&x, &made, Feedback::plain(0.25))
}

/// Bytes that a seal takes as they are.
struct Raw(Vec<u8>);

impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut tuple = s.serialize_tuple(self.0.len())?;
        for byte in &self.0 {
            tuple.serialize_element(byte)?;
        }
        tuple.end()
    }
}

/// Has a base read `state`. An error changes nothing and is no panic; what is read is a state with which the base
/// goes on. Whether it was read.
fn read(state: &[u8]) -> Result<bool, TestCaseError> {
    let mut base = base();
    let before = base.save();
    if let Err(why) = base.load(state) {
        prop_assert!(!why.to_string().contains("panicked"), "{}", why);
        prop_assert_eq!(base.save(), before, "on error nothing changed");
        return Ok(false);
    }
    prop_assert!(base.load(&base.save()).is_ok(), "what was read can be read again");
    let mut rng = Pcg64Dxsm::seed_from_u64(2);
    for _ in 0..3 {
        if let Err(why) = play(&mut base, &mut rng) {
            prop_assert!(!why.to_string().contains("panicked"), "{}", why);
        }
    }
    Ok(true)
}

proptest! {
    #![proptest_config(config(3000))]

    #[test]
    fn the_snapshot_reader_survives_any_bytes(bytes in vec(any::<u8>(), 0..200)) {
        prop_assert!(!read(&bytes)?);
    }

    #[test]
    fn a_damaged_snapshot_is_refused(edits in edits()) {
        let whole = base().save();
        let state = edited(&whole, &edits);
        prop_assert_eq!(read(&state)?, state == whole);
    }

    /// Within a frame whose checksum is right, what the plugin is given is still anything at all.
    #[test]
    fn a_plugin_is_given_any_bytes(bytes in vec(any::<u8>(), 0..200)) {
        prop_assert!(!read(&snapshot::seal(FRAME, 1, &bytes))?);
    }

    #[test]
    fn a_plugin_is_given_a_damaged_snapshot(edits in edits()) {
        let whole: Vec<u8> = snapshot::open(FRAME, 1, &base().save()).unwrap();
        let state = edited(&whole, &edits);
        prop_assert_eq!(read(&snapshot::seal(FRAME, 1, &state))?, state == whole);
    }

    /// Both frames right, the state within them damaged.
    #[test]
    fn a_plugin_is_given_a_damaged_state(edits in edits()) {
        let whole: Vec<u8> = snapshot::open(FRAME, 1, &base().save()).unwrap();
        // Magic, format, length of the name, name, version, length; the checksum is last.
        let payload = &whole[6 + "draws".len() + 10..whole.len() - 8];
        prop_assert_eq!(&snapshot::seal("draws", 1, &Raw(payload.to_vec())), &whole);
        let state = snapshot::seal("draws", 1, &Raw(edited(payload, &edits)));
        read(&snapshot::seal(FRAME, 1, &state))?;
    }
}
