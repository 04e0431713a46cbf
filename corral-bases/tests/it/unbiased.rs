//! The estimates of bases that divide by their own probability are unbiased under every credit and every feed.
//!
//! Such a base learns f' memo, f' = loss * weight. What it is told is recorded over many rounds from one state, and the
//! mean of its estimate is held against the true losses. With credit `chosen` and a feed other than `weighted` it hears of
//! the rounds in which it was chosen alone, with weight 1: its estimate is unbiased in the rounds that are its own. A cut
//! of the weights biases as docs/practical.md says: by min(1, Q/pi).
//!
//! Bases that model the loss learn the loss itself, and are told no other: the last test.

use std::sync::{Arc, Mutex};

use crate::common::{arms, over_points, plain, points, round, worlds};
use corral_bases::{build, entries};
use corral_core::{
    Arm, Base, BaseError, Context, Corral, CorralParams, Crediting, Ensemble, EnsembleParams, Feed, Feedback,
    Horizon, Proposal, Set, Setup, forward,
};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

const CREDITS: [Crediting; 3] = [Crediting::Chosen, Crediting::SameDecision, Crediting::Likelihood];
const FEEDS: [Feed; 3] = [Feed::Weighted, Feed::Raw, Feed::Everyone];
const LOSSES: [f64; 4] = [0.9, 0.3, 0.6, 0.5];

/// What a base was told: the decision with its memo, and the feedback.
type Told<D> = Arc<Mutex<Vec<(Proposal<D>, Feedback)>>>;

/// A base that keeps what it is told.
struct Probe<D> {
    base: Box<dyn Base<Context, D>>,
    told: Told<D>,
}

impl<D: Clone + Send> Base<Context, D> for Probe<D> {
    forward!(Base<Context, D>: self => self.base, except learn);
    fn learn(&mut self, x: &Context, made: &Proposal<D>, feedback: Feedback) -> Result<(), BaseError> {
        self.told.lock().unwrap().push((made.clone(), feedback));
        self.base.learn(x, made, feedback)
    }
}

/// A band that has lived for 60 rounds, of a base that is watched, `random` and one that plays arm 1.
fn band(
    base: Box<dyn Base<Context, Arm>>,
    x: &Context,
    params: EnsembleParams,
    rng: &mut Pcg64Dxsm,
) -> (Ensemble<Context, Arm, Corral>, Told<Arm>) {
    let told = Told::default();
    let fixed = build("fixed", &"arm = 1".parse().unwrap(), &plain(None)).unwrap().into_arms().unwrap();
    let probe = Box::new(Probe { base, told: Arc::clone(&told) });
    let bases: Vec<Box<dyn Base<Context, Arm>>> = vec![probe, arms("random", &plain(None)).unwrap(), fixed];
    let master = Corral::new(CorralParams::new(3, Horizon::Known(500))).unwrap();
    let mut band = Ensemble::with_params(master, bases, params).unwrap();
    for _ in 0..60 {
        round(&mut band, x, rng, |ticket, _| LOSSES[ticket.decision.index()]);
    }
    assert!(band.benched().is_empty(), "{:?}", band.benched());
    (band, told)
}

/// The mean of the estimates that `of` makes of what is told, over `draws` rounds from one state; with its standard error.
fn mean(
    band: &mut Ensemble<Context, Arm, Corral>,
    told: &Told<Arm>,
    x: &Context,
    draws: u32,
    rng: &mut Pcg64Dxsm,
    of: impl Fn(&Proposal<Arm>, Feedback) -> Vec<f64>,
) -> Vec<(f64, f64)> {
    let state = band.save();
    let mut sums: Vec<(f64, f64)> = Vec::new();
    for _ in 0..draws {
        told.lock().unwrap().clear();
        round(band, x, rng, |ticket, _| LOSSES[ticket.decision.index()]);
        for (made, feedback) in &*told.lock().unwrap() {
            let estimate = of(made, *feedback);
            sums.resize(estimate.len(), (0.0, 0.0));
            for ((sum, square), e) in sums.iter_mut().zip(estimate) {
                (*sum, *square) = (*sum + e, *square + e * e);
            }
        }
        band.load(&state).unwrap();
    }
    let n = f64::from(draws);
    sums.iter().map(|(s, q)| (s / n, ((q / n - (s / n).powi(2)) / n).sqrt())).collect()
}

/// s c/q for the arm; SCRiBLe: d s c A u, the gradient in the first K - 1 coordinates; a candidate: q is its share, or the other's share
/// times the probability of the base beside it.
fn estimate(name: &str, made: &Proposal<Arm>, feedback: Feedback) -> Vec<f64> {
    let memo = made.memo.numbers();
    if name == "scrible-arms" {
        return memo.iter().map(|v| 3.0 * feedback.estimate() * v).collect();
    }
    let q = match (name, memo) {
        ("candidate", [other, _]) => 1.0 - other,
        ("candidate", [own, other, _]) => own * other,
        _ => memo.first().copied().unwrap_or(1.0),
    };
    let mut losses = vec![0.0; 4];
    if feedback.estimate() > 0.0 {
        losses[made.decision.index()] = feedback.estimate() / q;
    }
    losses
}

fn truth(name: &str) -> Vec<f64> {
    if name == "scrible-arms" { LOSSES[..3].iter().map(|c| c - LOSSES[3]).collect() } else { LOSSES.to_vec() }
}

/// The first world that `name` fits, of those over arms, with a context of it.
fn world(name: &str) -> Option<(Setup, Context)> {
    let order = [2, 0, 1]; // tables first: policies that read them
    let mut all = worlds(Some(500));
    all[2].1 = Context::tabular(0, 4); // where every action is that of a policy
    order.into_iter().map(|i| all[i].clone()).find(|(setup, _)| arms(name, setup).is_some())
}

#[test]
fn estimates_are_unbiased_under_every_credit_and_feed() {
    // 4.5 standard errors for 9 settings of 8 bases with 4 arms, and with 2 for 4 of them: false alarms below 432 * 6.8e-6 =
    // 0.003.
    let mut watched = 0;
    for entry in entries().filter(|e| !e.name.starts_with("hardness")) {
        let Some((setup, x)) = world(entry.name) else { continue };
        if arms(entry.name, &setup).unwrap().abilities().learns_from_others {
            continue;
        }
        watched += 1;
        let draws = if ["iltcb", "bistro"].contains(&entry.name) { 2_000 } else { 10_000 };
        // Where policies name actions that are not offered, another is played, and estimated, in their place.
        let policies = ["exp4", "epoch-greedy", "iltcb", "bistro"].contains(&entry.name);
        let settings = CREDITS.into_iter().flat_map(|credit| FEEDS.map(|feed| (credit, feed)));
        for (credit, feed) in settings {
            for offered in if policies { vec![4, 2] } else { vec![4] } {
                let x = if offered < 4 { Context::tabular(0, offered) } else { x.clone() };
                let mut rng = Pcg64Dxsm::seed_from_u64(17);
                let params = EnsembleParams { credit, feed, ..EnsembleParams::default() };
                let (mut band, told) = band(arms(entry.name, &setup).unwrap(), &x, params, &mut rng);
                let own = if (credit, feed == Feed::Weighted) == (Crediting::Chosen, false) {
                    band.probabilities()[0]
                } else {
                    1.0
                };
                let of = |made: &Proposal<Arm>, told: Feedback| estimate(entry.name, made, told);
                let found = mean(&mut band, &told, &x, draws, &mut rng, of);
                for (arm, ((mean, error), c)) in found.iter().zip(truth(entry.name)).enumerate() {
                    let c = if arm < offered { c } else { 0.0 };
                    assert!(
                        (mean - own * c).abs() <= 4.5 * error + 1e-8,
                        "{} {credit:?} {feed:?}, arm {arm} of {offered}: {mean} +- {error}, not {}",
                        entry.name,
                        own * c
                    );
                }
            }
        }
    }
    assert!(watched >= 7, "{watched} bases divide by their own probability");
}

#[test]
fn weights_cut_at_one_bias_by_the_smaller_of_one_and_q_over_pi() {
    let x = Context::plain(4);
    let mut rng = Pcg64Dxsm::seed_from_u64(23);
    let credit = Crediting::Likelihood;
    let params = EnsembleParams { credit, feed: Feed::Everyone, cut: Some(1.0), ..EnsembleParams::default() };
    let (mut band, told) = band(arms("exp3", &plain(Some(500))).unwrap(), &x, params, &mut rng);
    let p: Vec<f64> = band.probabilities().to_vec();
    let watched = band.base(0).unwrap();
    let pi: Vec<f64> = (0..4).map(|arm| watched.likelihood(&x, &Arm(arm)).unwrap().0).collect();
    let found = mean(&mut band, &told, &x, 20_000, &mut rng, |made, told| {
        assert!(told.weight() <= 1.0);
        estimate("exp3", made, told)
    });
    for (arm, (mean, error)) in found.iter().enumerate() {
        let q = p[0] * pi[arm] + p[1] / 4.0 + if arm == 1 { p[2] } else { 0.0 };
        let biased = LOSSES[arm] * (q / pi[arm]).min(1.0);
        assert!((mean - biased).abs() <= 4.5 * error + 1e-9, "arm {arm}: {mean} +- {error}, not {biased}");
    }
}

#[test]
fn over_points_the_weights_have_mean_one() {
    // Points of different bases never coincide: the base is told its own alone. 4.5 standard errors.
    let setup = points(Set::Ball { dim: 4 }, Some(500));
    let x = Context::plain(0);
    for name in ["scrible", "bgd"] {
        for credit in CREDITS {
            let told = Told::default();
            let probe = Box::new(Probe { base: over_points(name, &setup), told: Arc::clone(&told) });
            let master = Corral::new(CorralParams::new(2, Horizon::Known(500))).unwrap();
            let params = EnsembleParams { credit, ..EnsembleParams::default() };
            let mut band =
                Ensemble::with_params(master, vec![probe, over_points("oful", &setup)], params).unwrap();
            let (state, mut rng) = (band.save(), Pcg64Dxsm::seed_from_u64(3));
            let (mut sum, mut square) = (0.0, 0.0);
            for _ in 0..4_000 {
                round(&mut band, &x, &mut rng, |_, _| 0.5);
                let weight: f64 = told.lock().unwrap().drain(..).map(|(_, told)| told.weight()).sum();
                (sum, square) = (sum + weight, square + weight * weight);
                band.load(&state).unwrap();
            }
            let (mean, n) = (sum / 4_000.0, 4_000.0);
            let error = ((square / n - mean * mean) / n).sqrt();
            assert!((mean - 1.0).abs() <= 4.5 * error, "{name} {credit:?}: {mean} +- {error}");
        }
    }
}

#[test]
fn bases_that_model_the_loss_are_told_the_loss() {
    for entry in entries() {
        let Some((setup, x)) = world(entry.name) else { continue };
        if !arms(entry.name, &setup).unwrap().abilities().learns_from_others {
            continue;
        }
        for credit in CREDITS {
            for feed in FEEDS {
                let mut rng = Pcg64Dxsm::seed_from_u64(29);
                let params = EnsembleParams { credit, feed, ..EnsembleParams::default() };
                let (_, told) = band(arms(entry.name, &setup).unwrap(), &x, params, &mut rng);
                let told = told.lock().unwrap();
                for (made, feedback) in &*told {
                    let loss = LOSSES[made.decision.index()];
                    assert!(feedback.observed().is_none_or(|seen| seen == loss), "{}", entry.name);
                }
                let seen = told.iter().filter(|(_, told)| told.observed().is_some()).count();
                assert!(feed != Feed::Everyone || seen == 60, "{} hears of every round", entry.name);
            }
        }
    }
}
