//! docs/practical.md#the-guard, where rounds offer some of the actions.

use corral_bases::band;
use corral_bases::band::Recipe;
use corral_core::{Context, Setup, uniform};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

/// Regret of ten copies of a learner that never explores, against the best of what each round offers, and the number of the action
/// played in each round. The round `t` is `offer(t)`; `means` are the mean losses of the actions.
fn greedy_copies(
    means: &[f64],
    rounds: usize,
    seed: u64,
    offer: impl Fn(usize) -> Context,
) -> (f64, Vec<usize>) {
    let copy: toml::Table = "name = 'ucb1'\nscale = 0.0".parse().unwrap();
    let copies = (0..10).map(|_| Recipe::try_from(copy.clone()).unwrap());
    let mut band = band(copies, &Setup::arms(means.len(), None)).unwrap();
    let mut rng = Pcg64Dxsm::seed_from_u64(seed);
    let (mut regret, mut played) = (0.0, Vec::new());
    for t in 0..rounds {
        let x = offer(t);
        let ticket = band.choose(&x, &mut rng).unwrap();
        let number = x.number(ticket.decision.index());
        let least = (0..x.actions()).map(|place| means[x.number(place)]).fold(1.0, f64::min);
        regret += means[number] - least;
        played.push(number);
        let loss = f64::from(uniform(&mut rng) < means[number]);
        band.learn(&x, ticket, loss).unwrap();
    }
    (regret, played)
}

#[test]
fn actions_that_no_round_offers_change_nothing() {
    const MEANS: [f64; 5] = [0.5, 0.5, 0.5, 0.5, 0.3];
    // Numbers of the five actions among those of the band, and what the others would cost.
    let among = |numbers: [u32; 5], actions: usize| {
        let mut means = vec![0.0; actions];
        numbers.iter().zip(MEANS).for_each(|(number, mean)| means[*number as usize] = mean);
        (means, numbers)
    };
    for seed in 0..6 {
        let (regret, plain) = greedy_copies(&MEANS, 2_000, seed, |_| Context::plain(5));
        assert!(regret < 250.0, "seed {seed}: {regret}");
        for (means, numbers) in [
            among([0, 1, 2, 3, 4], 5),
            among([0, 1, 2, 3, 4], 6),
            among([1, 2, 3, 4, 5], 6),
            among([2, 4, 6, 7, 9], 30),
        ] {
            let (_, played) =
                greedy_copies(&means, 2_000, seed, |_| Context::plain(5).offering(numbers.to_vec()));
            let same = played.iter().zip(&plain).all(|(number, place)| *number == numbers[*place] as usize);
            assert!(same, "seed {seed}, {numbers:?}");
        }
        // The first five of seven.
        let means = [&MEANS[..], &[0.0, 0.0]].concat();
        assert_eq!(greedy_copies(&means, 2_000, seed, |_| Context::plain(5)).1, plain, "seed {seed}");
    }
}

#[test]
fn an_action_that_joins_late_or_rests_now_and_then_is_looked_at() {
    let numbers = |numbers: &[u32]| Context::plain(5).offering(numbers.to_vec());
    for seed in 0..6 {
        // The best action joins in the middle; the second best has retired.
        let joins = |t| numbers(if t < 2_000 { &[0, 1, 2, 3] } else { &[0, 1, 2, 4] });
        let (_, played) = greedy_copies(&[0.6, 0.6, 0.6, 0.4, 0.2], 4_000, seed, joins);
        let best = played[3_000..].iter().filter(|number| **number == 4).count();
        assert!(best > 900, "seed {seed}: {best} of the last 1,000 rounds");
        // The best action is offered in one round of ten.
        let rests = |t| numbers(if t % 10 == 0 { &[0, 1, 2, 4] } else { &[0, 1, 2] });
        let (_, played) = greedy_copies(&[0.6, 0.6, 0.6, 0.4, 0.2], 8_000, seed, rests);
        let best = played[4_000..].iter().step_by(10).filter(|number| **number == 4).count();
        assert!(best > 320, "seed {seed}: {best} of the last 400 rounds that offer it");
    }
}
