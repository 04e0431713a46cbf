//! A round through the table allocates nothing, on either side of it: both are in this process, and its allocator
//! counts.

use std::sync::Arc;

use corral_plugin_abi::exported;
use corral_plugin_abi::host::{ForeignBase, Table};
use corral_plugin_abi::prelude::*;
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

fn table<B: Plugin>() -> Arc<Table> {
    // SAFETY: the functions and texts of the table are those of this program.
    Arc::new(unsafe { Table::read(&exported::<B>("it", "0.1.0")) }.unwrap())
}

fn allocations<D>(base: &mut dyn Base<Context, D>, x: &Context, made: &mut Proposal<D>) -> u64 {
    let mut rng = Pcg64Dxsm::seed_from_u64(1);
    let mut before = 0;
    for round in 0..1000 {
        made.refill(base, x, &mut rng).unwrap();
        base.learn(x, made, Feedback::plain(0.5)).unwrap();
        base.pass(x).unwrap();
        // The first rounds make the buffers.
        if round == 10 {
            before = crate::counting::calls();
        }
    }
    crate::counting::calls() - before
}

#[test]
fn a_round_of_arms_allocates_nothing() {
    let mut setup = Setup::arms(5, None);
    setup.context.features = 20;
    let mut base = ForeignBase::<Arm>::build(table::<crate::linear::Linear>(), "", &setup).unwrap();
    let x = Context::shared(vec![0.5; 20], 5);
    assert_eq!(allocations(&mut base, &x, &mut Proposal::default()), 0);
    base.likelihood(&x, &Arm(0));
    let before = crate::counting::calls();
    base.likelihood(&x, &Arm(0));
    assert_eq!(crate::counting::calls() - before, 0);
}

#[test]
fn a_round_of_points_allocates_nothing() {
    let setup = Setup::new(Space::Points(Set::Box { dim: 20 }), None);
    let mut base = ForeignBase::<Point>::build(table::<crate::walk::Walk>(), "", &setup).unwrap();
    assert_eq!(allocations(&mut base, &Context::plain(0), &mut Proposal::default()), 0);
}
