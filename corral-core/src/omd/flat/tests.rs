use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Dxsm;

use super::*;
use crate::omd::LogBarrier;
use crate::snapshot;

/// Both steps on the same losses.
#[derive(Clone)]
struct Pair {
    flat: FlatBarrier,
    dense: LogBarrier,
}

impl Pair {
    fn new(inverse: &[f64], rates: &[f64]) -> Self {
        Self {
            flat: FlatBarrier::new(inverse, rates).unwrap(),
            dense: LogBarrier::new(inverse, rates).unwrap(),
        }
    }

    fn uniform(m: usize, rate: f64) -> Self {
        Self::new(&vec![m as f64; m], &vec![rate; m])
    }

    fn step(&mut self, index: usize, loss: f64) {
        self.flat.step_one(index, loss).unwrap();
        self.dense.step(Losses::OneHot { index, loss }).unwrap();
    }

    fn set_rate(&mut self, i: usize, rate: f64) {
        self.flat.set_rate(i, rate);
        self.dense.set_rate(i, rate);
    }

    /// |sum p - 1|, added in an order that does not round all the same way.
    fn sum_error(&self) -> f64 {
        let p: Vec<f64> = (0..self.flat.len()).map(|i| self.flat.probability(i)).collect();
        (p.chunks(64).map(|c| c.iter().sum::<f64>()).sum::<f64>() - 1.0).abs()
    }

    /// The largest relative difference of a probability.
    fn difference(&self) -> f64 {
        let gap = |(i, p): (usize, &f64)| {
            let found = self.flat.probability(i);
            if *p == found { 0.0 } else { (found / p - 1.0).abs() }
        };
        self.dense.distribution().iter().enumerate().map(gap).fold(0.0, f64::max)
    }

    /// The sum and the clusters are as they should be.
    #[track_caller]
    fn check(&self) {
        let error = self.sum_error();
        assert!(error <= 1e-12, "|sum p - 1| = {error:e}");
        for (c, cluster) in self.flat.charges.clusters.iter().enumerate() {
            let (octet, j) = (&self.flat.charges.octets[c / 8], c % 8);
            assert!(cluster.members.is_empty() || !octet.is_wide(j));
            let exact = |i: &u32| {
                let i = *i as usize;
                self.flat.charges.charge(i) / self.flat.charges.distance(i)
            };
            let mass: f64 = cluster.members.iter().map(exact).sum();
            assert!((octet.mass[j] - mass).abs() <= 1e-12 * mass, "{} {mass}", octet.mass[j]);
        }
    }
}

/// A million rounds as Algorithm 1 plays them: bases drawn, losses 1 with a probability that grows with the base, and rates
/// that grow where probabilities fall by half.
fn a_million_rounds(m: usize, rate: f64) {
    let mut pair = Pair::uniform(m, rate);
    let mut rng = Pcg64Dxsm::seed_from_u64(m as u64);
    let mut ranges = vec![2.0 * m as f64; m];
    let mut evaluations = 0;
    let mut losses = 0;
    for round in 0..1_000_000 {
        let i = pair.flat.sample(1e-6, &mut rng);
        if rng.random::<f64>() < 0.1 + 0.8 * i as f64 / m as f64 {
            let loss = 1.0 / pair.flat.probability(i);
            evaluations += pair.flat.step_one(i, loss).unwrap().iterations;
            losses += 1;
            pair.dense.step(Losses::OneHot { index: i, loss }).unwrap();
            let crossed = 1.0 / pair.flat.probability(i) > ranges[i];
            assert_eq!(crossed, pair.dense.inverse()[i] > ranges[i], "round {round}");
            if crossed {
                ranges[i] = 2.0 / pair.flat.probability(i);
                pair.set_rate(i, 1.075 * pair.flat.rate(i));
            }
        }
        if round % 1_000 == 0 {
            pair.check();
        }
    }
    let worst = pair.difference();
    println!(
        "M = {m}, rate {rate}: {worst:e}, {:.2} evaluations a loss, {} clusters",
        f64::from(evaluations as u32) / f64::from(losses),
        pair.flat.clusters()
    );
    assert!(worst <= 1e-11, "{worst:e}");
}

#[test]
fn a_million_rounds_agree_with_the_dense_step_at_a_small_rate() {
    a_million_rounds(300, 0.002);
}

#[test]
fn a_million_rounds_agree_with_the_dense_step_at_a_large_rate() {
    a_million_rounds(100, 0.3);
}

/// What is done to the charges in a sequence.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// One base is charged for ever.
    One,
    /// All are, in turn.
    Turns,
    /// As drawn, with the largest weight that a range allows, or one from long ago.
    Limit,
    /// Gains and losses.
    Signed,
    /// Everybody else is charged alike: places drift together.
    Together,
}

prop_compose! {
    fn sequence()(m in 2usize..80)(
        // Equal places in groups, or all apart.
        logs in prop::collection::vec(prop_oneof![Just(0.0), Just(2.0), 0.0f64..6.0], m),
        growth in prop::collection::vec(prop_oneof![Just(1.0), 1.0f64..4.2], m),
        rate in -4.0f64..-0.5,
        kind in prop_oneof![
            Just(Kind::One), Just(Kind::Turns), Just(Kind::Limit), Just(Kind::Signed), Just(Kind::Together)
        ],
        seed in 0u64..1_000_000,
    ) -> (Vec<f64>, Vec<f64>, Kind, u64) {
        let p: Vec<f64> = logs.iter().map(|l| 10f64.powf(-l)).collect();
        let sum: f64 = p.iter().sum();
        let inverse: Vec<f64> = p.iter().map(|p| sum / p).collect();
        let rates: Vec<f64> = growth.iter().map(|g| g * 10f64.powf(rate)).collect();
        (inverse, rates, kind, seed)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn adversarial_sequences_agree_with_the_dense_step((inverse, rates, kind, seed) in sequence()) {
        let mut pair = Pair::new(&inverse, &rates);
        let m = pair.flat.len();
        let mut rng = Pcg64Dxsm::seed_from_u64(seed);
        for round in 0..600 {
            let i = match kind {
                Kind::One => 0,
                Kind::Turns => round % m,
                Kind::Together => 1 + round % (m - 1),
                Kind::Limit | Kind::Signed => pair.flat.sample(0.01, &mut rng),
            };
            if pair.flat.is_retired(i) {
                continue;
            }
            let weight = 1.0 / pair.flat.probability(i);
            let loss = match kind {
                Kind::Limit => weight * if rng.random::<f64>() < 0.1 { 50.0 } else { 2.0 },
                Kind::Signed => (rng.random::<f64>() - 0.6) * weight,
                _ => weight.min(1e6),
            };
            pair.step(i, loss);
            if round % 97 == 96 && pair.flat.active() > 2 {
                let gone = (0..m).find(|i| !pair.flat.is_retired(*i)).unwrap();
                pair.flat.retire(gone);
                pair.dense.retire(gone);
            }
            if round % 31 == 30 {
                pair.set_rate(i, 1.1 * pair.flat.rate(i));
            }
            pair.check();
        }
        let worst = pair.difference();
        prop_assert!(worst <= 1e-11, "{:?}: {:e}", kind, worst);
    }

    #[test]
    fn a_state_that_is_read_back_goes_on_to_the_last_bit((inverse, rates, kind, seed) in sequence()) {
        let mut pair = Pair::new(&inverse, &rates);
        let mut rng = Pcg64Dxsm::seed_from_u64(seed);
        let signed = matches!(kind, Kind::Signed);
        let play = |flat: &mut FlatBarrier, rng: &mut Pcg64Dxsm| {
            let i = flat.sample(0.001, rng);
            let f = if signed { rng.random::<f64>() - 0.5 } else { rng.random() };
            flat.step_one(i, f / flat.probability(i)).unwrap();
            i
        };
        for _ in 0..200 {
            play(&mut pair.flat, &mut rng);
        }
        let bytes = snapshot::seal("flat", 1, &pair.flat.state());
        let rates = pair.flat.rates();
        let mut again = snapshot::open::<FlatState>("flat", 1, &bytes).unwrap().resume(&rates).unwrap();
        let mut other = rng.clone();
        for _ in 0..200 {
            prop_assert_eq!(play(&mut pair.flat, &mut rng), play(&mut again, &mut other));
        }
        for i in 0..pair.flat.len() {
            prop_assert_eq!(pair.flat.probability(i).to_bits(), again.probability(i).to_bits());
        }
    }
}

#[test]
fn what_a_billion_rounds_add_to_the_level_costs_no_digits() {
    let (m, rate) = (200, 0.05);
    let mut pair = Pair::uniform(m, rate);
    let mut late = pair.flat.clone();
    // As after 10^9 rounds with losses of 0.7.
    late.charges.shift(0.7e9);
    let mut rng = Pcg64Dxsm::seed_from_u64(9);
    for _ in 0..20_000 {
        let i = pair.flat.sample(1e-6, &mut rng);
        let loss = rng.random::<f64>() / pair.flat.probability(i);
        pair.step(i, loss);
        late.step_one(i, loss).unwrap();
    }
    pair.flat = late;
    pair.check();
    assert!(pair.difference() <= 1e-12, "{:e}", pair.difference());
}

/// Draws against (1 - gamma) p + gamma/M, by chi-square over bins of equal expectation. The statistic less its mean, over its
/// standard deviation, is below 4.75 but for one seed in 10^6 (it is nearly normal: there are 100 bins and more).
fn drawing(m: usize, rounds: usize, draws: usize) {
    let (mut flat, gamma) = (Pair::uniform(m, 0.05).flat, 0.05);
    let mut rng = Pcg64Dxsm::seed_from_u64(m as u64);
    for round in 0..rounds {
        let i = flat.sample(gamma, &mut rng);
        let loss = (0.2 + i as f64 / m as f64) / flat.probability(i);
        flat.step_one(i, loss).unwrap();
        if round % 10 == 0 {
            flat.set_rate(i, (1.1 * flat.rate(i)).min(0.2));
        }
    }
    flat.retire(m / 2);
    assert!(flat.clusters() > 5, "{}", flat.clusters());
    let n = flat.active() as f64;
    let expected = |i: usize| {
        if flat.is_retired(i) {
            0.0
        } else {
            draws as f64 * ((1.0 - gamma) * flat.probability(i) + gamma / n)
        }
    };
    let mut seen = vec![0u32; m];
    for _ in 0..draws {
        seen[flat.sample(gamma, &mut rng)] += 1;
    }
    assert_eq!(seen[m / 2], 0);
    let (mut statistic, mut bins) = (0.0, 0.0f64);
    let (mut o, mut e) = (0.0, 0.0);
    for (i, seen) in seen.iter().enumerate() {
        (o, e) = (o + f64::from(*seen), e + expected(i));
        if e >= draws as f64 / 2_000.0 {
            statistic += (o - e) * (o - e) / e;
            bins += 1.0;
            (o, e) = (0.0, 0.0);
        }
    }
    let z = (statistic - (bins - 1.0)) / (2.0 * (bins - 1.0)).sqrt();
    println!("M = {m}: {bins} bins, chi-square {statistic:.0}, z = {z:.2}");
    assert!(bins >= 100.0 && z.abs() < 4.75, "{bins} bins, z = {z}");
}

#[test]
fn a_thousand_are_drawn_with_their_probabilities() {
    drawing(1_000, 200_000, 2_000_000);
}

#[test]
fn a_hundred_thousand_are_drawn_with_their_probabilities() {
    drawing(100_000, 1_000_000, 2_000_000);
}

#[test]
fn alarms_are_raised_where_a_distance_is_beyond_them() {
    let m = 60;
    let mut flat = Pair::uniform(m, 0.1).flat;
    let mut rng = Pcg64Dxsm::seed_from_u64(10);
    let mut alarms: Vec<f64> = (0..m).map(|i| (1.02 + 0.01 * i as f64) * m as f64 / 0.1).collect();
    (0..m).for_each(|i| flat.charges.set_alarm(i, alarms[i]));
    let mut raised = 0;
    for _ in 0..5_000 {
        let i = flat.sample(0.01, &mut rng);
        flat.step_one(i, (rng.random::<f64>() - 0.5) / flat.probability(i)).unwrap();
        let expected: Vec<usize> = (0..m).filter(|i| flat.charges.distance(*i) > alarms[*i]).collect();
        let mut found = Vec::new();
        flat.charges.alarmed(|i| found.push(i));
        found.sort_unstable();
        assert_eq!(found, expected);
        raised += found.len();
        for i in found {
            alarms[i] = 1.05 * flat.charges.distance(i);
            flat.charges.set_alarm(i, alarms[i]);
        }
    }
    assert!(raised > 20, "{raised}");
}

#[test]
fn a_state_that_cannot_be_is_refused() {
    let mut flat = Pair::uniform(20, 0.1).flat;
    let mut rng = Pcg64Dxsm::seed_from_u64(11);
    for _ in 0..500 {
        let i = flat.sample(0.01, &mut rng);
        flat.step_one(i, 1.0 / flat.probability(i)).unwrap();
    }
    let rates = flat.rates();
    assert!(flat.state().resume(&rates).is_ok());
    assert!(flat.state().resume(&rates[1..]).is_err());
    assert!(flat.state().resume(&[0.2; 20]).is_err());
    for change in 0..9 {
        let mut state = flat.state();
        state.spoil(change);
        assert!(state.resume(&rates).is_err(), "change {change}");
    }
}

#[test]
fn dense_losses_are_stepped_as_the_dense_step_does() {
    let mut pair = Pair::uniform(30, 0.2);
    let losses: Vec<f64> = (0..30).map(|i| f64::from(i % 7) - 1.0).collect();
    pair.flat.step(Losses::Dense(&losses)).unwrap();
    pair.dense.step(Losses::Dense(&losses)).unwrap();
    pair.check();
    assert!(pair.difference() <= 1e-14);
}

#[test]
fn what_cannot_be_stepped_is_named() {
    let mut flat = Pair::uniform(3, 0.1).flat;
    assert_eq!(flat.step_one(3, 1.0), Err(OmdError::Index { index: 3, expected: 3 }));
    assert!(matches!(flat.step_one(1, f64::NAN), Err(OmdError::Loss { index: 1, .. })));
    assert!(matches!(FlatBarrier::new(&[2.0, 3.0], &[0.1, 0.1]), Err(OmdError::Sum(_))));
    // Nothing moves without a loss, and nothing alone.
    flat.step_one(0, 0.0).unwrap();
    assert_eq!(flat.probability(0), 1.0 / 3.0);
    let mut alone = FlatBarrier::new(&[1.0, f64::INFINITY], &[0.5, 0.5]).unwrap();
    alone.step_one(0, 7.0).unwrap();
    alone.step_one(1, 7.0).unwrap();
    assert_eq!((alone.probability(0), alone.probability(1), alone.probability(2)), (1.0, 0.0, 0.0));
}
