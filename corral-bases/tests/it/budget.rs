//! Bands with a budget: what decisions cost on average, and what is earned within it.

use corral_bases::band::{Assembler, Band, BandRecipe, MasterRecipe, Recipe};
use corral_core::{Arm, Context, ContextShape, EnsembleError, Feedback, Setup, uniform};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

const BUDGET: f64 = 0.002;

fn band(bases: &[&str], setup: &Setup) -> Band<Arm> {
    let bases: Vec<Recipe> = bases.iter().copied().map(Recipe::from).collect();
    Assembler::new(setup).band(&BandRecipe::paced(MasterRecipe::default(), BUDGET, &bases)).unwrap()
}

/// Losses and costs of a cheap, a middling and a dear model; the dear one costs a tenth in rounds from `cheaper` on.
fn figures(model: usize, t: usize, cheaper: usize) -> (f64, f64) {
    let cost = [0.0002, 0.001, 0.01][model];
    ([0.5, 0.4, 0.1][model], if model == 2 && t >= cheaper { cost / 10.0 } else { cost })
}

/// Mean loss and cost of rounds `from..to`, of a game of so many rounds.
fn play(band: &mut Band<Arm>, rounds: usize, cheaper: usize, seed: u64) -> Vec<(f64, f64)> {
    let mut rng = Pcg64Dxsm::seed_from_u64(seed);
    let x = Context::plain(3);
    let mut round = |t: usize| {
        let ticket = band.choose(&x, &mut rng).unwrap();
        let (mean, cost) = figures(ticket.decision.index(), t, cheaper);
        let loss = f64::from(uniform(&mut rng) < mean);
        band.learn(&x, ticket, Feedback::plain(loss).with_cost(cost)).unwrap();
        (mean, cost)
    };
    (0..rounds).map(&mut round).collect()
}

fn mean(rounds: &[(f64, f64)]) -> (f64, f64) {
    let n = rounds.len() as f64;
    (rounds.iter().map(|r| r.0).sum::<f64>() / n, rounds.iter().map(|r| r.1).sum::<f64>() / n)
}

#[test]
fn the_budget_is_kept_and_used() {
    let mut band = band(&["ucb1", "thompson"], &Setup::arms(3, None));
    let played = play(&mut band, 6_000, usize::MAX, 1);
    let (_, cost) = mean(&played);
    // (L - 1 - u_0)/step + the dearest decision is 65 budgets of 6,000.
    assert!((cost / BUDGET - 1.0).abs() < 0.02, "{cost}");
    // Within the budget the best mixture has the dear model in (B - c_0)/(c_2 - c_0) = 18.4 % of the rounds beside the cheap one, or in
    // 11.1 % beside the middling one: losses of 0.427 and 0.367. The cheap one alone has 0.5.
    let (loss, _) = mean(&played[3_000..]);
    assert!(loss < 0.42, "{loss}");
    let spent = band.metrics().spending.unwrap();
    assert_eq!((spent.rounds, spent.per_round), (6_000, BUDGET));
    assert!((spent.mean - cost).abs() < 1e-12);
}

#[test]
fn a_price_that_falls_is_found() {
    let mut band = band(&["ucb1", "thompson"], &Setup::arms(3, None));
    let played = play(&mut band, 8_000, 3_000, 2);
    // From 3,000 on the dear model costs half a budget, and is the best alone.
    let (before, after) = (mean(&played[1_500..3_000]), mean(&played[6_000..]));
    assert!(after.0 < before.0 - 0.1 && after.1 < BUDGET, "{before:?} {after:?}");
}

#[test]
fn costs_are_asked_for_and_checked() {
    let mut band = band(&["ucb1"], &Setup::arms(3, None));
    let (x, mut rng) = (Context::plain(3), Pcg64Dxsm::seed_from_u64(3));
    let ticket = band.choose(&x, &mut rng).unwrap();
    let refused = band.learn(&x, ticket, 0.5).unwrap_err();
    assert_eq!(refused.error, EnsembleError::NoCost);
    let refused = band.learn(&x, refused.ticket, Feedback::plain(0.5).with_cost(-1.0)).unwrap_err();
    assert_eq!(refused.error, EnsembleError::Cost(-1.0));
    band.learn(&x, refused.ticket, Feedback::plain(0.5).with_cost(0.0)).unwrap();
    let plain = corral_bases::band(["ucb1", "exp3"], &Setup::arms(3, None)).unwrap();
    assert_eq!(plain.metrics().spending, None);
}

#[test]
fn a_band_with_a_budget_continues_bit_for_bit() {
    let setup =
        Setup { context: ContextShape { features: 1, ..ContextShape::default() }, ..Setup::arms(3, None) };
    let (mut one, mut other) = (band(&["linucb", "greedy"], &setup), band(&["linucb", "greedy"], &setup));
    let (x, mut rng) = (Context::shared(vec![1.0], 3), Pcg64Dxsm::seed_from_u64(4));
    let round = |band: &mut Band<Arm>, rng: &mut Pcg64Dxsm, t: usize| {
        let ticket = band.choose(&x, rng).unwrap();
        let (arm, (loss, cost)) = (ticket.decision, figures(ticket.decision.index(), t, 100));
        band.learn(&x, ticket, Feedback::plain(loss).with_cost(cost)).unwrap();
        arm
    };
    for t in 0..150 {
        round(&mut one, &mut rng, t);
    }
    other.load(&one.save()).unwrap();
    let mut again = rng.clone();
    for t in 150..300 {
        assert_eq!(round(&mut one, &mut rng, t), round(&mut other, &mut again, t));
    }
    assert_eq!(one.metrics().spending, other.metrics().spending);
}

#[test]
fn words_say_it_too() {
    let table: toml::Table = r#"
        master = { name = "practical", budget = { per_round = 0.002 } }
        bases = ["ucb1", "exp3"]
    "#
    .parse()
    .unwrap();
    let Recipe::Band(read) = Recipe::try_from(table).unwrap() else { panic!("a band was written") };
    let bases = [Recipe::from("ucb1"), Recipe::from("exp3")];
    assert_eq!(read, BandRecipe::paced(MasterRecipe::default(), BUDGET, &bases));
    let bad: toml::Table = r#"
        master = { name = "practical", budget = { per_round = -1.0 } }
        bases = ["ucb1"]
    "#
    .parse()
    .unwrap();
    let error = Recipe::try_from(bad).unwrap_err().to_string();
    assert!(error.contains("budget.per_round") && error.contains("-1"), "{error}");
}
