//! The laws of saving and loading.

use std::fmt::Debug;

use super::laws::same_proposal;
use super::{Finding, Subject, demand};
use crate::guard::guard;
use crate::snapshot;

const LIFE: u64 = 100;
/// Damage is done at this many places of a snapshot: all of them where it is shorter.
const PLACES: usize = 2_048;

pub(super) fn continuation<X, D: Clone + PartialEq + Debug>(subject: &Subject<'_, X, D>) -> Finding {
    for lived in [0, 1, LIFE] {
        let mut base = subject.build(3 * LIFE)?;
        let mut rng = subject.tape(20);
        subject.train(&mut *base, 0, lived, &mut rng)?;
        let (x, waiting) = subject.propose(&mut *base, lived, &mut rng)?;
        let state = base.save();
        let mut new = subject.build(3 * LIFE)?;
        let mut used = subject.build(3 * LIFE)?;
        subject.train(&mut *used, 7, 47, &mut subject.tape(21))?;
        for (who, other) in [("a new base", &mut new), ("a used base", &mut used)] {
            other.load(&state).map_err(|e| format!("{who} cannot load its snapshot: {e}"))?;
            demand(other.save() == state, format_args!("{who} loads a snapshot and saves another"))?;
        }
        let mut rngs = [rng.clone(), rng.clone(), rng];
        let mut lives = [base, new, used];
        for life in &mut lives {
            let feedback = subject.ordinary(&mut subject.tape(22));
            life.learn(&x, &waiting, feedback).map_err(|e| format!("feedback after loading: {e}"))?;
        }
        for round in lived + 1..lived + LIFE {
            let mut made = Vec::new();
            for (life, rng) in lives.iter_mut().zip(&mut rngs) {
                made.push(subject.play(&mut **life, round, rng, |world| subject.ordinary(world))?);
            }
            same_proposal(round, "the base that never stopped and the loaded one", &made[0], &made[1])?;
            same_proposal(round, "the base that never stopped and the one loaded over", &made[0], &made[2])?;
        }
        let [base, new, used] = lives.map(|life| life.save());
        demand(base == new && base == used, "after the same rounds the loaded base saves another state")?;
    }
    Ok(())
}

pub(super) fn bad_snapshots<X, D: Clone + PartialEq + Debug>(subject: &Subject<'_, X, D>) -> Finding {
    let mut base = subject.build(3 * LIFE)?;
    subject.train(&mut *base, 0, LIFE, &mut subject.tape(30))?;
    let good = base.save();
    // It is tried on a base with another past.
    let mut victim = subject.build(3 * LIFE)?;
    subject.train(&mut *victim, 5, 25, &mut subject.tape(31))?;
    let before = victim.save();
    let mut refused = |what: String, bytes: &[u8]| -> Finding {
        match guard(|| victim.load(bytes)) {
            Err(panic) => return Err(format!("{what}: {panic}")),
            Ok(Ok(())) => return Err(format!("{what}: it is loaded")),
            Ok(Err(_)) => {}
        }
        demand(victim.save() == before, format_args!("{what}: it is refused, but changed the state"))
    };
    for cut in places(good.len()) {
        refused(format!("a snapshot cut to {cut} of {} bytes", good.len()), &good[..cut])?;
    }
    for at in places(good.len()) {
        let mut bad = good.clone();
        bad[at] ^= 1 << (at % 8);
        refused(format!("a snapshot with a flipped bit in byte {at}"), &bad)?;
    }
    let longer: Vec<u8> = good.iter().copied().chain([0]).collect();
    refused("a snapshot with a byte too many".into(), &longer)?;
    refused("a snapshot of another algorithm".into(), &snapshot::seal("no such algorithm", 1, &0u64))?;
    if let Some(bad) = snapshot::reframe(&good, |version, _| *version = version.wrapping_add(1)) {
        refused("a snapshot of another version".into(), &bad)?;
    }
    tampered(subject, &good)
}

/// Changes the content behind a right checksum: whatever is loaded, the base must not panic, and loads a sound state over it.
fn tampered<X, D: Debug>(subject: &Subject<'_, X, D>, good: &[u8]) -> Finding {
    let mut length = 0;
    let framed = snapshot::reframe(good, |_, payload| length = payload.len());
    if framed.is_none() {
        return Ok(());
    }
    // One base for all of it: to build one may cost far more than to load one.
    let mut base = subject.build(3 * LIFE)?;
    let before = base.save();
    for at in places(length) {
        for flip in [0x01, 0x80, 0xff] {
            let tamper = |_: &mut u16, payload: &mut Vec<u8>| payload[at] ^= flip;
            let Some(bad) = snapshot::reframe(good, tamper) else { continue };
            let changed = || format!("a state with byte {at} changed by {flip:#04x}");
            let refused = guard(|| {
                let refused = base.load(&bad).is_err();
                if !refused {
                    // Errors are allowed here.
                    let _ = subject.train(&mut *base, 0, 3, &mut subject.tape(32));
                }
                refused
            });
            match refused {
                Err(panic) => return Err(format!("{}: {panic}", changed())),
                Ok(true) if base.save() != before => {
                    return Err(format!("{} is refused, but changed it", changed()));
                }
                Ok(true) => {}
                Ok(false) => {
                    base.load(&before).map_err(|e| format!("{}: nothing loads over it: {e}", changed()))?;
                    let again = base.save() == before;
                    demand(
                        again,
                        format_args!("{}: what is loaded over it is not what it saves", changed()),
                    )?;
                }
            }
        }
    }
    Ok(())
}

/// At most [`PLACES`] of `0..length`, spread evenly.
fn places(length: usize) -> impl Iterator<Item = usize> {
    let count = length.min(PLACES);
    (0..count).map(move |i| i * length / count.max(1))
}
