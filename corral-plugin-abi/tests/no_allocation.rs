//! A round through the table allocates nothing, on either side of it: both are in this process, and its allocator
//! counts.

#[path = "fixtures/bases/linear.rs"]
mod linear;
#[path = "fixtures/bases/walk.rs"]
mod walk;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use corral_plugin_abi::exported;
use corral_plugin_abi::host::{ForeignBase, Table};
use corral_plugin_abi::prelude::*;
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: all calls go to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = COUNT.try_with(|c| c.set(c.get() + 1));
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn table<B: Plugin>() -> Arc<Table> {
    // SAFETY: the functions and texts of the table are those of this program.
    Arc::new(unsafe { Table::read(&exported::<B>("it", "0.1.0")) }.unwrap())
}

fn allocations<D>(base: &mut dyn Base<Context, D>, x: &Context, made: &mut Proposal<D>) -> u64 {
    let mut rng = Pcg64Dxsm::seed_from_u64(1);
    let mut before = 0;
    for round in 0..1000 {
        base.propose_into(x, &mut rng, made).unwrap();
        base.learn(x, made, Feedback::plain(0.5)).unwrap();
        base.pass(x).unwrap();
        // The first rounds make room.
        if round == 10 {
            before = COUNT.get();
        }
    }
    COUNT.get() - before
}

#[test]
fn a_round_of_arms_allocates_nothing() {
    let mut setup = Setup::arms(5, None);
    setup.context.features = 20;
    let mut base = ForeignBase::<Arm>::build(table::<linear::Linear>(), "", &setup).unwrap();
    let x = Context::shared(vec![0.5; 20], 5);
    assert_eq!(allocations(&mut base, &x, &mut Proposal::default()), 0);
    base.likelihood(&x, &Arm(0));
    let before = COUNT.get();
    base.likelihood(&x, &Arm(0));
    assert_eq!(COUNT.get() - before, 0);
}

#[test]
fn a_round_of_points_allocates_nothing() {
    let setup = Setup::new(Space::Points(Set::Box { dim: 20 }), None);
    let mut base = ForeignBase::<Point>::build(table::<walk::Walk>(), "", &setup).unwrap();
    assert_eq!(allocations(&mut base, &Context::plain(0), &mut Proposal::default()), 0);
}
