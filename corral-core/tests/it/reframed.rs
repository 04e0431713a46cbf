//! Snapshots whose payload was changed and whose checksum is right: every master refuses them, or goes on without a panic.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::table::*;
use corral_core::snapshot;
use rand::RngExt;
use serde::ser::{Serialize, SerializeTuple, Serializer};

const ROUNDS: u64 = 50;
/// Changes per master and snapshot.
const CHANGES: usize = 3_000;

/// Bytes that are written as they are.
struct Raw<'a>(&'a [u8]);

impl Serialize for Raw<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut tuple = serializer.serialize_tuple(self.0.len())?;
        self.0.iter().try_for_each(|byte| tuple.serialize_element(byte))?;
        tuple.end()
    }
}

/// The name, the version and the payload of a snapshot.
fn opened(good: &[u8]) -> (String, u16, Vec<u8>) {
    let end = 6 + usize::from(good[5]);
    let name = String::from_utf8(good[6..end].to_vec()).unwrap();
    (name, u16::from_le_bytes([good[end], good[end + 1]]), good[end + 10..good.len() - 8].to_vec())
}

/// A number that no run gives, as a snapshot writes it: a double, or an integer in groups of seven bits.
fn nasty(rng: &mut Pcg64Dxsm) -> Vec<u8> {
    const DOUBLES: [f64; 12] =
        [0.0, -1.0, 1.0, 0.5, 5e-324, 1e-300, 1e-9, 1e18, 1e300, f64::MAX, f64::NAN, f64::INFINITY];
    const INTEGERS: [u64; 8] = [0, 1, 3, 100, 1 << 31, 1 << 53, u64::MAX - 20, u64::MAX];
    if rng.random() {
        return DOUBLES[rng.random_range(0..DOUBLES.len())].to_le_bytes().to_vec();
    }
    postcard::to_stdvec(&INTEGERS[rng.random_range(0..INTEGERS.len())]).unwrap()
}

/// The payload with a bit, a byte, a double, an integer or two places changed.
fn changed(payload: &[u8], rng: &mut Pcg64Dxsm) -> Vec<u8> {
    let mut bytes = payload.to_vec();
    for _ in 0..rng.random_range(1..3) {
        let at = rng.random_range(0..bytes.len());
        match rng.random_range(0..4) {
            0 => bytes[at] ^= 1 << rng.random_range(0..8),
            1 => bytes[at] = [0, 1, 2, 3, 127][rng.random_range(0..5)],
            _ => {
                let number = nasty(rng);
                // A double takes the place of one, an integer that of an integer that had one byte.
                let end = (at + if number.len() == 8 { 8 } else { 1 }).min(bytes.len());
                bytes.splice(at..end, number);
            }
        }
    }
    bytes
}

/// Rounds in which each base is credited in its turn, as often as the master draws it; errors end them.
fn play(master: &mut dyn Master, rounds: u64) -> Result<(), MasterError> {
    for t in 0..rounds {
        let p = master.probabilities();
        let base = (t as usize..t as usize + p.len()).map(|i| i % p.len()).find(|i| p[*i] > 0.0).unwrap_or(0);
        let weight = 1.0 / p[base];
        master.update(0.25 * (t % 5) as f64, Credit::Chosen { base, weight })?;
    }
    Ok(())
}

#[test]
fn a_changed_payload_is_refused_or_played_without_a_panic() {
    let setup = MasterSetup::new(3, Some(100));
    let (mut accepted, mut panicked) = (0, Vec::new());
    for (number, (name, build)) in TABLE.iter().enumerate() {
        let mut rng = Pcg64Dxsm::seed_from_u64(number as u64);
        for retires in [false, true] {
            let mut source = build(&setup);
            play(&mut *source, 20).unwrap();
            if retires {
                source.retire(1).unwrap();
                play(&mut *source, 5).unwrap();
            }
            let good = source.save();
            let (algorithm, version, payload) = opened(&good);
            assert_eq!(snapshot::seal(&algorithm, version, &Raw(&payload)), good, "{name}");
            for _ in 0..CHANGES {
                let bytes = changed(&payload, &mut rng);
                let framed = snapshot::seal(&algorithm, version, &Raw(&bytes));
                let mut master = build(&setup);
                let before = master.save();
                let tried = catch_unwind(AssertUnwindSafe(|| {
                    if master.load(&framed).is_err() {
                        assert_eq!(master.save(), before, "a refused snapshot changed something");
                        return false;
                    }
                    let _ = play(&mut *master, ROUNDS);
                    let _ = master.retire(0);
                    let _ = play(&mut *master, ROUNDS);
                    true
                }));
                match tried {
                    Ok(taken) => accepted += u64::from(taken),
                    Err(_) => panicked.push(format!("{name}: {payload:?} became {bytes:?}")),
                }
            }
        }
    }
    assert!(panicked.is_empty(), "{} panicked, the first {}", panicked.len(), panicked[0]);
    assert!(accepted > 1_000, "only {accepted} were accepted");
}
