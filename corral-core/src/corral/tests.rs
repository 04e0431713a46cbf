use super::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Dxsm;

#[test]
fn a_run_keeps_its_laws() {
    for (m, t) in [(1, 100u64), (2, 1), (2, 2), (5, 300), (40, 1000)] {
        let mut corral = Corral::new(CorralParams::new(m, Horizon::Known(t))).unwrap();
        let mut rng = Pcg64Dxsm::seed_from_u64(7);
        for _ in 0..t {
            let base = corral.sample(&mut rng);
            let weight = 1.0 / corral.probabilities()[base];
            let loss: f64 = rng.random();
            let events = corral.update(loss, Credit::Chosen { base, weight }).unwrap().to_vec();
            for e in events {
                assert_eq!(e.range, corral.ranges()[e.base]);
            }
            let sum: f64 = corral.distribution().iter().sum();
            assert!((sum - 1.0).abs() < 1e-14, "{sum}");
            for (i, p) in corral.probabilities().iter().enumerate() {
                assert!(1.0 / p <= corral.ranges()[i]);
            }
        }
    }
}

#[test]
fn two_bases_as_in_the_style_guide() {
    let params = CorralParams { rate: Rate::Fixed(0.1), ..CorralParams::new(2, Horizon::Known(1_000)) };
    let mut corral = Corral::new(params).unwrap();
    corral.update(1.0, Credit::Chosen { base: 0, weight: 2.0 }).unwrap();
    let p = corral.distribution();
    assert!((p[0] - 0.47506219).abs() < 1e-8 && (p[1] - 0.52493781).abs() < 1e-8, "{p:?}");
}
