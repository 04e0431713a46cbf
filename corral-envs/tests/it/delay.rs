//! Delays: their laws, and the order in which feedback is delivered.

use corral_envs::{Arrival, DELAYS, Mailbox, delay};
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Dxsm;

fn table(text: &str) -> toml::Table {
    text.parse().unwrap()
}

#[test]
fn arrivals_are_stable() {
    let rounds = |text: &str| {
        let (delay, mut rng) = (delay(&table(text)).unwrap(), Pcg64Dxsm::seed_from_u64(7));
        (0..6).map(|t| delay.arrival(t, &mut rng).map(|a| a.round)).collect::<Vec<_>>()
    };
    assert_eq!(rounds("name = \"fixed\"\nrounds = 3"), [3, 4, 5, 6, 7, 8].map(Some));
    assert_eq!(rounds("name = \"geometric\"\nmean = 0"), [0, 1, 2, 3, 4, 5].map(Some));
    assert_eq!(rounds("name = \"geometric\"\nmean = 5"), [0, 5, 2, 4, 5, 7].map(Some));
    assert_eq!(rounds("name = \"heavy-tailed\""), [0, 8, 2, 5, 6, 8].map(Some));
    assert_eq!(rounds("name = \"reordered\"\nblock = 4"), [3, 3, 3, 3, 7, 7].map(Some));
    assert_eq!(rounds("name = \"lost\"\nprobability = 1.0"), [None; 6]);
    assert_eq!(rounds("name = \"lost\"\nprobability = 0.0"), [0, 1, 2, 3, 4, 5].map(Some));
}

/// Means and tails against the laws; 4 standard errors each, chance below 7e-5 per assertion.
#[test]
fn delays_have_the_laws_they_claim() {
    let n = 40_000u64;
    let mut rng = Pcg64Dxsm::seed_from_u64(1);
    let geometric = delay(&table("name = \"geometric\"\nmean = 5")).unwrap();
    let mean =
        (0..n).map(|t| geometric.arrival(t, &mut rng).unwrap().round - t).sum::<u64>() as f64 / n as f64;
    // Var = m (m + 1) = 30.
    assert!((mean - 5.0).abs() < 4.0 * (30.0 / n as f64).sqrt(), "{mean}");
    let heavy = delay(&table("name = \"heavy-tailed\"")).unwrap();
    let beyond =
        (0..n).filter(|t| heavy.arrival(*t, &mut rng).unwrap().round - t >= 30).count() as f64 / n as f64;
    let tail = 4.0f64.powf(-1.5); // (1 + 30/10)^(-1.5)
    assert!((beyond - tail).abs() < 4.0 * (tail * (1.0 - tail) / n as f64).sqrt(), "{beyond}");
    let lossy = delay(&table("name = \"fixed\"\nrounds = 2\nlost = 0.3")).unwrap();
    let lost = (0..n).filter(|t| lossy.arrival(*t, &mut rng).is_none()).count() as f64 / n as f64;
    assert!((lost - 0.3).abs() < 4.0 * (0.21 / n as f64).sqrt(), "{lost}");
    // A tail so heavy that delays overflow saturates.
    let endless = delay(&table("name = \"heavy-tailed\"\nscale = 1e300\nexponent = 1e-3")).unwrap();
    assert!((0..100).all(|t| endless.arrival(t, &mut rng).unwrap().round >= t));
}

#[test]
fn every_delay_draws_one_number_a_round() {
    let keys = |name: &str| match name {
        "fixed" => "rounds = 2",
        "geometric" => "mean = 2",
        "lost" => "probability = 0.5",
        _ => "lost = 0.5",
    };
    let mut plain = Pcg64Dxsm::seed_from_u64(4);
    (0..10).for_each(|_| _ = plain.next_u64());
    let expected = plain.next_u64();
    for entry in DELAYS.entries() {
        let delay = delay(&table(&format!("name = \"{}\"\n{}", entry.name, keys(entry.name)))).unwrap();
        let mut rng = Pcg64Dxsm::seed_from_u64(4);
        (0..10).for_each(|t| _ = delay.arrival(t, &mut rng));
        assert_eq!(rng.next_u64(), expected, "{}", entry.name);
    }
}

#[test]
fn a_block_comes_complete_and_shuffled() {
    let delay = delay(&table("name = \"reordered\"\nblock = 8")).unwrap();
    let mut rng = Pcg64Dxsm::seed_from_u64(4);
    let mut mailbox = Mailbox::new();
    let mut orders = Vec::new();
    for t in 0..16 {
        mailbox.send(delay.arrival(t, &mut rng).unwrap(), t);
        let mut order = Vec::new();
        while let Some(sent) = mailbox.receive(t) {
            order.push(sent);
        }
        assert_eq!(order.len(), if t % 8 == 7 { 8 } else { 0 });
        if !order.is_empty() {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (t - 7..=t).collect::<Vec<_>>());
            assert_ne!(order, sorted);
            orders.push(order.iter().map(|r| r % 8).collect::<Vec<_>>());
        }
    }
    assert_ne!(orders[0], orders[1]);
    assert!(mailbox.is_empty());
}

proptest! {
    /// Whatever the arrivals, everything is delivered once, not early, and in order.
    #[test]
    fn the_mailbox_is_a_queue_in_order_of_arrival(arrivals in prop::collection::vec((0u64..40, 0u64..3), 0..60)) {
        let mut mailbox = Mailbox::new();
        for (i, (round, rank)) in arrivals.iter().enumerate() {
            mailbox.send(Arrival { round: *round, rank: *rank }, i);
        }
        prop_assert_eq!(mailbox.len(), arrivals.len());
        let mut got = Vec::new();
        for round in 0..40 {
            while let Some(i) = mailbox.receive(round) {
                prop_assert_eq!(arrivals[i].0, round);
                got.push(i);
            }
        }
        let mut expected: Vec<usize> = (0..arrivals.len()).collect();
        expected.sort_by_key(|i| (arrivals[*i], *i));
        prop_assert_eq!(got, expected);
    }
}

#[test]
fn bad_tables_are_refused_with_a_reason() {
    let cases = [
        ("", r#"environment "delay": the key "name" is missing"#),
        ("name = 1", r#"environment "delay": name must be a name, but is 1"#),
        ("name = \"geometrc\"", r#"unknown delay "geometrc"; did you mean "geometric"?"#),
        ("name = \"geometric\"", r#"delay "geometric": the key "mean" is missing"#),
        (
            "name = \"geometric\"\nmean = -1",
            r#"delay "geometric": mean must be non-negative and finite, but is -1"#,
        ),
        (
            "name = \"geometric\"\nmean = nan",
            r#"delay "geometric": mean must be non-negative and finite, but is NaN"#,
        ),
        ("name = \"fixed\"\nrounds = 1\nlost = 1.5", r#"delay "fixed": lost must be in [0, 1], but is 1.5"#),
        ("name = \"fixed\"\nmean = 1", r#"unknown key of fixed "mean""#),
        (
            "name = \"heavy-tailed\"\nexponent = 0",
            r#"delay "heavy-tailed": exponent must be positive and finite, but is 0"#,
        ),
        ("name = \"reordered\"\nblock = 0", r#"delay "reordered": block must be at least 1, but is 0"#),
        ("name = \"lost\"", r#"delay "lost": the key "probability" is missing"#),
    ];
    for (text, expected) in cases {
        assert_eq!(delay(&table(text)).unwrap_err().to_string(), expected);
    }
}
