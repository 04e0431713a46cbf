//! No master allocates in a round.
#![allow(missing_docs)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use corral_core::masters::{self, CorralProgram, CorralSpec, MasterSetup};
use corral_core::{Credit, Master};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;
use serde::de::value::{Error, MapDeserializer};

/// Counts the allocations of this thread.
struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|c| c.set(c.get() + 1));
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.with(|c| c.set(c.get() + 1));
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations(master: &mut dyn Master) -> u64 {
    let mut rng = Pcg64Dxsm::seed_from_u64(1);
    let mut weights = vec![0.0; master.probabilities().len()];
    let before = COUNT.with(Cell::get);
    for t in 0..2_000u64 {
        let base = master.sample(&mut rng);
        let weight = 1.0 / master.probabilities()[base];
        let loss = (t % 7) as f64 / 7.0;
        let step = if t % 3 == 0 {
            weights.fill(0.0);
            weights[base] = weight;
            master.update(loss, Credit::Shared(&weights)).map(<[_]>::len)
        } else {
            master.update(loss, Credit::Chosen { base, weight }).map(<[_]>::len)
        };
        assert!(step.is_ok());
    }
    COUNT.with(Cell::get) - before
}

#[test]
fn a_round_allocates_nothing() {
    assert!(COUNT.with(Cell::get) > 0, "the counter counts");
    let setup = MasterSetup::new(6, Some(2_000));
    for entry in masters::REGISTRY.entries() {
        let none = MapDeserializer::<_, Error>::new(std::iter::empty::<(&str, f64)>());
        let mut master = masters::build(entry.name, none, &setup).unwrap();
        assert_eq!(allocations(&mut *master), 0, "{}", entry.name);
        // Nor after a snapshot was read.
        let state = master.save();
        master.load(&state).unwrap();
        assert_eq!(allocations(&mut *master), 0, "{} after a snapshot", entry.name);
    }
    for rules in [
        CorralProgram::AsModelselection,
        CorralProgram::AsCoba,
        CorralProgram::AsSmpybandits,
        CorralProgram::AsAdversarialMasterH,
    ] {
        let mut master = CorralSpec { rules, ..CorralSpec::default() }.master(&setup).unwrap();
        assert_eq!(allocations(&mut *master), 0, "{rules:?}");
    }
    for name in ["exp3", "ucb", "rbbe", "d3rb", "ed2rb"] {
        let published = MapDeserializer::<_, Error>::new([("rules", "published-code")].into_iter());
        let mut master = masters::build(name, published, &setup).unwrap();
        assert_eq!(allocations(&mut *master), 0, "{name} by the published code");
    }
}
