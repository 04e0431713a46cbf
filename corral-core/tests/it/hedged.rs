//! The growth of the regret of `hedged`, where bounds are loose.

use corral_core::masters::{Hedged, HedgedParams, MasterSetup, RegretBound};
use corral_core::{Credit, Master, draw_base};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Dxsm;

/// The regret over four arms with means .3, .5, .5, .5, whose regret is claimed to be 3 sqrt(T).
fn regret(rounds: u64, seed: u64) -> f64 {
    let bounds = vec![RegretBound::new(3.0, 0.5); 4];
    let params = HedgedParams { bounds: Some(bounds) };
    let mut master = Hedged::new(params, &MasterSetup::new(4, Some(rounds))).unwrap();
    let mut rng = Pcg64Dxsm::seed_from_u64(seed);
    let mut regret = 0.0;
    for _ in 0..rounds {
        let (base, probability) = draw_base(&mut master, &mut rng);
        let mean = if base == 0 { 0.3 } else { 0.5 };
        regret += mean - 0.3;
        let loss = f64::from(u8::from(rng.random_bool(mean)));
        master.update(loss, Credit::Chosen { base, weight: 1.0 / probability }).unwrap();
    }
    regret
}

/// regret/sqrt(T) is 3.4 and 4.6; a simulation of the formulas in another language, with other draws, has 3.1, 4.1, 4.5 and 4.8
/// at T = 4,000, 16,000, 64,000 and 256,000. With a rho that doubles it was 6.4 and 19. The standard error of a mean of eight
/// seeds is below a tenth of it.
#[test]
fn regret_grows_as_the_square_root_where_bounds_are_loose() {
    let mean = |rounds| (0..8).map(|seed| regret(rounds, seed)).sum::<f64>() / 8.0;
    let (short, long) = (mean(4_000), mean(64_000));
    println!("regret of hedged: {short:.0} at T = 4,000, {long:.0} at T = 64,000");
    assert!(short < 5.5 * 4_000f64.sqrt() && long < 5.5 * 64_000f64.sqrt(), "{short} {long}");
}
