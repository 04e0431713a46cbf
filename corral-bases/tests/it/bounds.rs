//! What a few callers can do to a band, and what bounds on what they may say buy. Figures of docs/promises.md:
//! `cargo test -p corral-bases --test it bounds -- --nocapture`.

use corral_bases::band::Band;
use corral_core::{Arm, Context, ContextShape, FeatureRange, Feedback, Quota, Rng, Scale, Setup};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Dxsm;

fn setup(range: FeatureRange) -> Setup {
    let context = ContextShape { features: 4, ..ContextShape::default() };
    Setup { context, range, ..Setup::arms(2, None) }
}

fn band(range: FeatureRange) -> Band<Arm> {
    corral_bases::band(["linucb", "lints", "epsilon-greedy"], &setup(range)).unwrap()
}

/// One request: the action that the sign of the first feature asks for pays with probability 0.9, the other with 0.2.
fn pays(x: &[f64], arm: Arm, rng: &mut dyn Rng) -> f64 {
    let right = arm.index() == usize::from(x[0] > 0.0);
    f64::from(u8::from(rng.random_bool(if right { 0.9 } else { 0.2 })))
}

fn honest(band: &mut Band<Arm>, rng: &mut Pcg64Dxsm) -> f64 {
    let x = Context::shared((0..4).map(|_| rng.random_range(-1.0..1.0)).collect(), 2);
    let ticket = band.choose(&x, rng).unwrap();
    let reward = pays(x.features(), ticket.decision, rng);
    band.learn(&x, ticket, 1.0 - reward).unwrap();
    reward
}

/// The mean reward of 20,000 requests, after `attacks` that say the contrary, with a first feature of +-1000.
fn mean_reward(range: FeatureRange, attacks: usize) -> (f64, Band<Arm>) {
    let (mut band, mut rng) = (band(range), Pcg64Dxsm::seed_from_u64(7));
    for _ in 0..attacks {
        let huge = if rng.random_bool(0.5) { 1000.0 } else { -1000.0 };
        let x = Context::shared(vec![huge, 0.0, 0.0, 0.0], 2);
        let Ok(ticket) = band.choose(&x, &mut rng) else { continue };
        let right = ticket.decision.index() == usize::from(x.features()[0] > 0.0);
        band.learn(&x, ticket, if right { 1.0 } else { 0.0 }).unwrap();
    }
    let rounds = 20_000;
    let total: f64 = (0..rounds).map(|_| honest(&mut band, &mut rng)).sum();
    (total / f64::from(rounds), band)
}

#[test]
fn six_requests_with_huge_features_no_longer_spoil_a_band() {
    let ranges = [
        ("any", FeatureRange::Any),
        ("refuse", FeatureRange::Refuse(vec![(-1.0, 1.0)])),
        ("clip", FeatureRange::Clip(vec![(-1.0, 1.0)])),
        ("learned", FeatureRange::Learned),
    ];
    let figures = ranges.map(|(name, range)| {
        let ((without, calm), (with, band)) = (mean_reward(range.clone(), 0), mean_reward(range, 6));
        println!("feature range {name:8} mean reward {without:.3}, after six requests of +-1000: {with:.3}");
        assert_eq!(calm.metrics().clipped_features, 0);
        (without, with, band.metrics().clipped_features)
    });
    let [any, refuse, clip, learned] = figures;
    // Without a range it fails: this is what the range is for.
    assert!(any.0 > 0.88 && any.1 < 0.65, "{any:?}");
    assert_eq!(any.2, 0);
    for (bounded, clipped, least) in [(refuse, 0, 0.88), (clip, 6, 0.88), (learned, 6, 0.86)] {
        // What lies in its range is learned as without one.
        assert_eq!(bounded.0, any.0);
        assert!(bounded.1 > least, "{bounded:?}");
        assert_eq!(bounded.2, clipped);
    }
}

/// A learned range goes on from a snapshot bit for bit, while it is learned and after.
#[test]
fn a_learned_range_goes_on_from_a_snapshot() {
    for before in [20, 300] {
        let (mut one, mut rng) = (band(FeatureRange::Learned), Pcg64Dxsm::seed_from_u64(3));
        let wild = |band: &mut Band<Arm>, rng: &mut Pcg64Dxsm| {
            let size = if rng.random_bool(0.1) { 100.0 } else { 1.0 };
            let x = Context::shared((0..4).map(|_| size * rng.random_range(-1.0..1.0)).collect(), 2);
            let ticket = band.choose(&x, rng).unwrap();
            let reward = pays(x.features(), ticket.decision, rng);
            band.learn(&x, ticket, 1.0 - reward).unwrap();
        };
        (0..before).for_each(|_| wild(&mut one, &mut rng));
        let mut other = band(FeatureRange::Learned);
        other.load(&one.save()).unwrap();
        // A loaded band is a copy of its own, unless it is told otherwise.
        other.set_copy(one.next_id().copy);
        let mut again = rng.clone();
        for _ in 0..200 {
            wild(&mut one, &mut rng);
            wild(&mut other, &mut again);
        }
        assert!(one.metrics().clipped_features > 20);
        assert!(one.save() == other.save());
        let error = band(FeatureRange::Any).load(&one.save()).unwrap_err().to_string();
        assert!(error.contains("its features have other ranges"), "{error}");
    }
}

#[test]
fn a_report_says_what_fits_badly() {
    let (mut band, mut rng) = (
        band(FeatureRange::Clip(vec![(-1.0, 1.0), (-1e6, 1e6), (-1.0, 1.0), (0.0, 1.0)])),
        Pcg64Dxsm::seed_from_u64(5),
    );
    for _ in 0..200 {
        let part: f64 = rng.random_range(0.0..1.0);
        let x = Context::shared(vec![part, 5000.0 * part, 0.01 * part, 1.0], 2);
        let ticket = band.choose(&x, &mut rng).unwrap();
        band.learn(&x, ticket, 0.5 + 0.02 * part).unwrap();
    }
    let scale = Scale::rewards(-100.0, 100.0);
    let remarks = band.remarks(Some(scale)).join("\n");
    for says in [
        "rewards lie in [-3.9",
        "2.0 % of their range [-100, 100]",
        "features 1, 2 use less than a tenth of their ranges",
        "feature 1 is above 1000 or below 0.001 in size",
    ] {
        assert!(remarks.contains(says), "{says}: {remarks}");
    }
    assert!(band.report().contains("losses lie in [0.5"), "{}", band.report());
    // What fits is not remarked on.
    let (_, calm) = mean_reward(FeatureRange::Clip(vec![(-1.0, 1.0)]), 0);
    assert_eq!(calm.remarks(None), Vec::<String>::new());
}

#[test]
fn a_range_that_cannot_be_used_is_refused_where_the_band_is_built() {
    let two = setup(FeatureRange::Clip(vec![(0.0, 1.0); 2]));
    let error = corral_bases::band(["linucb"], &two).err().unwrap().to_string();
    assert!(error.contains("feature range must be one pair, or one for each feature, but is 2"), "{error}");
}

/// How honest clients fare: the mean reward of their requests. A share of the requests is of one client, who lies about the
/// rewards.
fn with_liar(
    share: f64,
    lie: impl Fn(Arm, f64, &mut Pcg64Dxsm) -> f64,
    mut quota: Option<Quota>,
    seed: u64,
) -> f64 {
    let means = [0.9, 0.6, 0.3];
    let mut band = corral_bases::band(["ucb1", "exp3", "thompson"], &Setup::arms(3, None)).unwrap();
    let (x, mut rng) = (Context::plain(3), Pcg64Dxsm::seed_from_u64(seed));
    let (mut total, mut requests) = (0.0, 0u32);
    for n in 0..10_000u32 {
        let lies = rng.random_bool(share);
        let ticket = band.choose(&x, &mut rng).unwrap();
        let arm = ticket.decision;
        let reward = f64::from(u8::from(rng.random_bool(means[arm.index()])));
        let (client, says) = if lies {
            ("liar".to_owned(), lie(arm, reward, &mut rng))
        } else {
            (format!("client {}", n % 500), reward)
        };
        if !lies {
            total += means[arm.index()];
            requests += 1;
        }
        let taken = quota.as_mut().is_none_or(|quota| quota.admit(&client));
        let feedback = if taken { Feedback::plain(1.0 - says) } else { Feedback::unseen() };
        band.learn(&x, ticket, feedback).unwrap();
    }
    total / f64::from(requests)
}

#[test]
fn a_quota_bounds_what_one_lying_client_costs() {
    let mean = |share: f64, directed: bool, quota: Option<Quota>| {
        let seeds = 5;
        let lie = |arm: Arm, reward: f64, rng: &mut Pcg64Dxsm| match directed {
            // The second arm is praised, all others are run down.
            true => f64::from(u8::from(arm.index() == 1)),
            false => {
                if rng.random_bool(0.5) {
                    reward
                } else {
                    1.0 - reward
                }
            }
        };
        (0..seeds).map(|seed| with_liar(share, lie, quota.clone(), seed)).sum::<f64>() / seeds as f64
    };
    let quota = || Some(Quota::new(5, 100).unwrap());
    let honest = mean(0.0, false, None);
    let rows = [
        ("no lies, with the quota", mean(0.0, false, quota())),
        ("40 % of rewards are coin flips", mean(0.4, false, None)),
        ("30 % directed lies of one client", mean(0.3, true, None)),
        ("the same, at most 5 of 100 rewards a client", mean(0.3, true, quota())),
    ];
    println!("mean reward of honest clients: {honest:.3}");
    rows.iter().for_each(|(what, mean)| println!("{what}: {:.3} less", honest - mean));
    assert!(honest > 0.88, "{honest}");
    let [calm, flips, directed, bounded] = rows.map(|(_, mean)| honest - mean);
    assert_eq!(calm, 0.0);
    assert!(flips < 0.02 && directed > 0.2 && bounded < 0.02, "{flips} {directed} {bounded}");
}
