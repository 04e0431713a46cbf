//! A round of the master allocates nothing.

use corral_core::{Corral, CorralParams, Credit, Horizon, Master, Rate};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Dxsm;

fn allocations(f: impl FnOnce()) -> u64 {
    let before = crate::counting::calls();
    f();
    crate::counting::calls() - before
}

#[test]
fn the_counter_counts() {
    assert_eq!(allocations(|| drop(std::hint::black_box(vec![1u8; 100]))), 1);
}

#[test]
fn a_round_allocates_nothing() {
    for m in [1, 2, 8, 33, 1_000] {
        for baseline in [false, true] {
            let rate = Rate::Fixed(1.0);
            let params = CorralParams { rate, baseline, ..CorralParams::new(m, Horizon::Known(2_000)) };
            let mut corral = Corral::new(params).unwrap();
            let mut rng = Pcg64Dxsm::seed_from_u64(1);
            let mut weights = vec![0.0; m];
            let mut changes = 0;
            let found = allocations(|| {
                for t in 0..2_000 {
                    let base = corral.draw(&mut rng).0;
                    let weight = 1.0 / corral.probabilities()[base];
                    let loss = if base == 0 { 0.0 } else { rng.random() };
                    let credit = if t % 3 == 0 {
                        weights.fill(0.0);
                        weights[base] = weight;
                        Credit::Shared(&weights)
                    } else {
                        Credit::Chosen { base, weight }
                    };
                    changes += corral.update(loss, credit).unwrap().len();
                    // An error too.
                    assert!(corral.update(2.0, Credit::Chosen { base, weight }).is_err());
                }
            });
            assert_eq!(found, 0, "M = {m}, baseline {baseline}");
            assert!(changes > 0 || m == 1, "M = {m}: no range changed");
        }
    }
}

#[test]
fn an_audited_round_allocates_nothing() {
    let mut corral = Corral::new(CorralParams::new(5, Horizon::Known(500))).unwrap();
    corral.start_audit(0).unwrap();
    let found = allocations(|| {
        for _ in 0..500 {
            let weight = 1.0 / corral.probabilities()[3];
            corral.update(1.0, Credit::Chosen { base: 3, weight }).unwrap();
        }
    });
    assert_eq!(found, 0);
}
