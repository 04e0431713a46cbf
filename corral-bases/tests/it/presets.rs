//! The safe preset: a band of two bands.

use corral_bases::band::{Assembler, Band, Recipe};
use corral_core::{Arm, Context, Setup, uniform};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

fn build(text: &str, rounds: u64) -> Band<Arm> {
    let table: toml::Table = text.parse().unwrap();
    let Ok(Recipe::Band(recipe)) = Recipe::try_from(table) else { panic!("a band is written") };
    Assembler::new(&Setup::arms(3, Some(rounds))).band(&recipe).unwrap()
}

const BASES: &str = "bases = ['ucb1', 'exp3', 'tsallis-inf']";

#[test]
fn the_safe_preset_is_two_bands_that_learn() {
    let mut safe = build(&format!("master = 'safe'\n{BASES}"), 4000);
    assert_eq!(safe.len(), 2);
    let (x, mut rng, mut total) = (Context::plain(3), Pcg64Dxsm::seed_from_u64(1), 0.0);
    for _ in 0..4000 {
        let ticket = safe.choose(&x, &mut rng).unwrap();
        let loss = f64::from(uniform(&mut rng) < [0.5, 0.2, 0.6][ticket.decision.index()]);
        safe.learn(&x, ticket, loss).unwrap();
        total += loss;
    }
    // 0.2 is the best arm's; the standard error is 0.006.
    assert!(total / 4000.0 < 0.24, "{total}");
}

#[test]
fn the_safe_preset_has_no_keys() {
    let table: toml::Table = format!("master = {{ name = 'safe', rate = 'fast' }}\n{BASES}").parse().unwrap();
    let why = Recipe::try_from(table).unwrap_err().to_string();
    assert!(why.contains("preset without keys"), "{why}");
}
