//! What a range of rewards that is guessed, known or learned costs.

use corral_bases::band::{Assembler, BandRecipe, Copies, MasterRecipe, Recipe};
use corral_core::{Arm, Context, Ensemble, EnsembleParams, Scale, Setup, normal};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

/// The mean regret of 10 runs of 5,000 rounds over rewards N(mu, 1), mu = 0, 0.2, .., 1.
fn regret(bases: &[&str], scale: Scale) -> f64 {
    let setup = Setup::arms(6, None);
    let recipes: Vec<Recipe> = bases.iter().copied().map(Recipe::from).collect();
    let mut total = 0.0;
    for seed in 0..10 {
        let build = Assembler::new(&setup);
        let master = MasterRecipe::default();
        let recipe = BandRecipe { master: master.clone(), bases: recipes.clone(), copies: Copies::Count(1) };
        let members = recipe.bases.iter().map(|base| build.member::<Arm>(&master, base).unwrap()).collect();
        let params = EnsembleParams {
            scale: Some(Scale { clip: true, ..scale }),
            ..master.ensemble_params(corral_core::registry::Kind::Arms, &setup)
        };
        let mut band: Ensemble<_, _, _> = build.ensemble(&master, members, params).unwrap();
        let (x, mut rng) = (Context::plain(6), Pcg64Dxsm::seed_from_u64(seed));
        for _ in 0..5_000 {
            let ticket = band.choose(&x, &mut rng).unwrap();
            let mean = 0.2 * f64::from(ticket.decision.0);
            total += 1.0 - mean;
            band.learn(&x, ticket, mean + normal(&mut rng)).unwrap();
        }
        assert!(band.benched().is_empty());
    }
    total / 10.0
}

/// With the range (-3, 4), which holds nearly all rewards, with (-100, 100), and learned.
#[test]
fn a_range_that_is_learned_costs_less_than_a_wide_guess() {
    for bases in [&["ucb1", "thompson"][..], &["ucb1", "exp3", "tsallis-inf"]] {
        let known = regret(bases, Scale::rewards(-3.0, 4.0));
        let wide = regret(bases, Scale::rewards(-100.0, 100.0));
        let learned = regret(bases, Scale::learned());
        println!("{bases:?}: known {known:.0}, (-100, 100) {wide:.0}, learned {learned:.0}");
        // A random arm has 2500.
        assert!(learned < 1.25 * known && wide > 1.5 * learned, "{bases:?}: {known} {wide} {learned}");
    }
}
