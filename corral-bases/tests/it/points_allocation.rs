//! A round of SCRiBLe, BGD and Thompson sampling on the closed-form sets allocates nothing.

use corral_bases::BaseParams;

use corral_bases::points::{BgdParams, LinTsPointsParams, ScribleParams};
use corral_core::{Base, Feedback, Order, Point, Proposal, Set, Setup, Space};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

fn rounds(base: &mut dyn Base<(), Point>, rounds: u32) -> u64 {
    let mut rng = Pcg64Dxsm::seed_from_u64(1);
    let mut made = Proposal::default();
    let mut play = |n: u32| {
        for t in 0..n {
            made.refill(base, &(), &mut rng).unwrap();
            base.learn(&(), &made, Feedback::new(f64::from(t % 2), f64::from(t % 3))).unwrap();
            base.pass(&()).unwrap();
        }
    };
    // The first rounds make the buffers.
    play(3);
    let before = crate::counting::calls();
    play(rounds);
    crate::counting::calls() - before
}

#[test]
fn a_round_allocates_nothing() {
    for set in [Set::Ball { dim: 20 }, Set::Box { dim: 20 }, Set::Simplex { vertices: 20 }] {
        let setup = Setup::new(Space::Points(set.clone()), Some(10_000));
        let mut base = ScribleParams::default().build(&setup).unwrap();
        Base::<(), Point>::apply_order(&mut base, Order::Widen { range: 2.0, remaining: Some(10_000) })
            .unwrap();
        assert_eq!(rounds(&mut base, 1000), 0, "scrible on a {}", set.kind());
        let mut base = LinTsPointsParams::default().build(&setup).unwrap();
        Base::<(), Point>::apply_order(&mut base, Order::Widen { range: 2.0, remaining: Some(10_000) })
            .unwrap();
        assert_eq!(rounds(&mut base, 1000), 0, "lints-points on a {}", set.kind());
        let mut base = BgdParams::default().build(&setup).unwrap();
        Base::<(), Point>::apply_order(&mut base, Order::Widen { range: 2.0, remaining: Some(10_000) })
            .unwrap();
        assert_eq!(rounds(&mut base, 1000), 0, "bgd on a {}", set.kind());
    }
}
