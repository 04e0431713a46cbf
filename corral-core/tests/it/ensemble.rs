//! One round, its credit rules and feeds, late feedback.
#![allow(missing_docs)]

use crate::common::*;
use corral_core::{
    Arm, Base, Context, Crediting, Ensemble, EnsembleError, EnsembleParams, Feed, Master, Order, Proposal,
    Ticket, forward,
};

pub type Band = Ensemble<Context, Arm, Toy>;

pub fn plain() -> Context {
    Context::plain(3)
}

pub fn params(credit: Crediting, feed: Feed) -> EnsembleParams {
    EnsembleParams { credit, feed, ..EnsembleParams::default() }
}

/// Constant bases that play `arms`, under a master that stays at `p`.
fn constants(p: &[f64], arms: &[u32], params: EnsembleParams) -> (Band, Vec<Diary>) {
    let (bases, diaries): (Vec<_>, Vec<_>) = arms.iter().map(|a| Constant::boxed(*a)).unzip();
    let band = Band::with_params(Toy::starting_from(p, 0.0), bases, params).unwrap();
    diaries.iter().for_each(Diary::clear);
    (band, diaries)
}

fn soft_band(bases: usize, params: EnsembleParams) -> Band {
    let bases_list = (0..bases).map(|i| Soft::boxed(3, 0.05 * (i + 1) as f64)).collect();
    Band::with_params(Toy::new(bases, 0.02), bases_list, params).unwrap()
}

/// The loss of an arm in a round: fixed, so that runs can be compared.
pub fn loss(round: u64, arm: Arm) -> f64 {
    let mixed = (round * 7 + u64::from(arm.0) * 13 + 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    0.2 * f64::from(arm.0) + 0.5 * (mixed as f64 / (1u64 << 24) as f64)
}

#[test]
fn only_the_chosen_base_is_asked_and_the_others_pass() {
    let (mut band, diaries) = constants(&[0.2, 0.3, 0.5], &[0, 1, 2], EnsembleParams::default());
    let ticket = band.choose(&plain(), &mut generator(1)).unwrap();
    let chosen = ticket.base();
    assert_eq!(ticket.decision, Arm(chosen as u32));
    assert_eq!(ticket.probability(), band.probabilities()[chosen]);
    let weight = 1.0 / ticket.probability();
    let outcome = band.learn(&plain(), ticket, 0.25).unwrap();
    assert_eq!((outcome.base, outcome.weight, outcome.learned, outcome.credited), (chosen, weight, 1, true));
    for (base, diary) in diaries.iter().enumerate() {
        let expected = if base == chosen {
            vec![Note::Asked, Note::Learned(chosen as u32, 0.25, weight)]
        } else {
            vec![Note::Passed]
        };
        assert_eq!(diary.notes(), expected);
    }
    let tally = band.tallies().nth(chosen).unwrap();
    assert_eq!((tally.plays, tally.max_weight, tally.effective_samples()), (1, weight, 1.0));
}

#[test]
fn bases_are_given_their_first_range() {
    for (feed, range) in [(Feed::Weighted, 6.0), (Feed::Raw, 1.0), (Feed::Everyone, 1.0)] {
        let (bases, diaries): (Vec<_>, Vec<_>) = (0..3).map(Constant::boxed).unzip();
        let _band = Band::with_params(Toy::new(3, 0.1), bases, params(Crediting::Chosen, feed)).unwrap();
        for diary in diaries {
            assert!(matches!(diary.notes()[..], [Note::Ranged(r)] if (r - range).abs() < 1e-12), "{feed:?}");
        }
    }
}

#[test]
fn same_decision_shares_the_weight_among_those_that_agree() {
    let (mut band, diaries) =
        constants(&[0.2, 0.3, 0.5], &[1, 2, 1], params(Crediting::SameDecision, Feed::Weighted));
    let mut rng = generator(2);
    for _ in 0..20 {
        diaries.iter().for_each(Diary::clear);
        let ticket = band.choose(&plain(), &mut rng).unwrap();
        let arm = ticket.decision.0;
        let outcome = band.learn(&plain(), ticket, 0.5).unwrap();
        // 1/(0.2 + 0.5) for those that proposed arm 1, 1/0.3 for the one that proposed arm 2.
        let weight = if arm == 1 { 1.0 / 0.7 } else { 1.0 / 0.3 };
        assert!((outcome.weight - weight).abs() < 1e-12);
        assert_eq!(outcome.learned, if arm == 1 { 2 } else { 1 });
        for (base, diary) in diaries.iter().enumerate() {
            let notes = diary.notes();
            let followed = [1, 2, 1][base] == arm;
            match notes[..] {
                [Note::Asked, Note::Learned(a, l, w)] if followed => {
                    assert!(a == arm && l == 0.5 && (w - weight).abs() < 1e-12);
                }
                [Note::Asked, Note::Learned(_, 0.0, 0.0)] if !followed => {}
                _ => panic!("base {base} noted {notes:?}"),
            }
        }
    }
}

#[test]
fn likelihood_credit_of_deterministic_bases_is_the_remarks_rule() {
    for frank in [true, false] {
        let diaries: Vec<Diary> = (0..3).map(|_| Diary::default()).collect();
        let bases = [1, 2, 1].iter().zip(&diaries).map(|(arm, diary)| {
            Box::new(Constant { arm: *arm, diary: diary.clone(), frank, listens: false })
                as Box<dyn Base<_, _>>
        });
        let master = Toy::starting_from(&[0.2, 0.3, 0.5], 0.0);
        let mut band =
            Band::with_params(master, bases.collect(), params(Crediting::Likelihood, Feed::Weighted))
                .unwrap();
        let mut rng = generator(3);
        for _ in 0..20 {
            diaries.iter().for_each(Diary::clear);
            let ticket = band.choose(&plain(), &mut rng).unwrap();
            let arm = ticket.decision.0;
            let outcome = band.learn(&plain(), ticket, 0.5).unwrap();
            let weight = if arm == 1 { 1.0 / 0.7 } else { 1.0 / 0.3 };
            assert!((outcome.weight - weight).abs() < 1e-12);
            for (base, diary) in diaries.iter().enumerate() {
                let learned = diary.notes().into_iter().filter_map(|n| match n {
                    Note::Learned(_, _, w) if w > 0.0 => Some(w),
                    _ => None,
                });
                let learned: Vec<f64> = learned.collect();
                assert_eq!(learned.len(), usize::from([1, 2, 1][base] == arm), "base {base}");
                assert!(learned.iter().all(|w| (w - weight).abs() < 1e-12));
                // Every base hears of every round once: it learns, or it passes.
                let rounds = diary.notes().iter().filter(|n| !matches!(n, Note::Asked)).count();
                assert_eq!(rounds, 1, "base {base}: {:?}", diary.notes());
            }
        }
    }
}

#[test]
fn feeds() {
    // Raw: weight 1 to the one that was followed. Everyone: also to those that learn from others.
    for (feed, listens, heard) in
        [(Feed::Raw, true, 1), (Feed::Everyone, true, 3), (Feed::Everyone, false, 1)]
    {
        let diaries: Vec<Diary> = (0..3).map(|_| Diary::default()).collect();
        let bases = diaries.iter().enumerate().map(|(i, diary)| {
            Box::new(Constant { arm: i as u32, diary: diary.clone(), frank: true, listens })
                as Box<dyn Base<_, _>>
        });
        let mut band =
            Band::with_params(Toy::new(3, 0.0), bases.collect(), params(Crediting::Chosen, feed)).unwrap();
        diaries.iter().for_each(Diary::clear);
        let ticket = band.choose(&plain(), &mut generator(4)).unwrap();
        let arm = ticket.decision.0;
        let outcome = band.learn(&plain(), ticket, 0.75).unwrap();
        assert_eq!(outcome.learned, heard);
        assert!((outcome.weight - 3.0).abs() < 1e-12, "the master's weight is not the feed's");
        let told =
            diaries.iter().flat_map(|d| d.notes()).filter(|n| *n == Note::Learned(arm, 0.75, 1.0)).count();
        assert_eq!(told, heard);
    }
}

#[test]
fn credit_is_unbiased_by_enumeration() {
    // Three randomised bases over two arms: E[loss * weight_i] over the draws of i_t and theta is base i's own
    // expected loss, sum_a pi_i(a) loss_a, for each rule; exact, by enumerating (i_t, theta_1, theta_2, theta_3).
    let pbar = [0.2, 0.3, 0.5];
    let pi = [[0.9, 0.1], [0.4, 0.6], [0.0, 1.0]];
    let losses = [0.3, 0.8];
    for rule in [Crediting::Chosen, Crediting::SameDecision, Crediting::Likelihood] {
        let mut mean = [0.0; 3];
        for draws in 0..8usize {
            let theta = [draws & 1, draws >> 1 & 1, draws >> 2 & 1];
            let chance: f64 = (0..3).map(|i| pi[i][theta[i]]).product();
            for chosen in 0..3 {
                let arm = theta[chosen];
                for base in 0..3 {
                    let weight = match rule {
                        Crediting::Chosen => f64::from(u8::from(base == chosen)) / pbar[base],
                        Crediting::SameDecision if theta[base] == arm => {
                            1.0 / (0..3).filter(|j| theta[*j] == arm).map(|j| pbar[j]).sum::<f64>()
                        }
                        Crediting::SameDecision => 0.0,
                        Crediting::Likelihood => {
                            pi[base][arm] / (0..3).map(|j| pbar[j] * pi[j][arm]).sum::<f64>()
                        }
                    };
                    mean[base] += pbar[chosen] * chance * losses[arm] * weight;
                }
            }
        }
        for base in 0..3 {
            let own = pi[base][0] * losses[0] + pi[base][1] * losses[1];
            assert!((mean[base] - own).abs() < 1e-12, "{rule:?}, base {base}: {} against {own}", mean[base]);
        }
    }
}

#[test]
fn late_and_out_of_order_feedback_reaches_the_base_that_was_asked() {
    // The master moves meanwhile: the weight is that of the choice, not of the day on which the loss arrives.
    let (bases, diaries): (Vec<_>, Vec<_>) = (0..3).map(Constant::boxed).unzip();
    let mut band = Band::new(Toy::new(3, 0.01), bases).unwrap();
    let mut rng = generator(5);
    let mut tickets: Vec<Ticket<Arm>> = (0..50).map(|_| band.choose(&plain(), &mut rng).unwrap()).collect();
    assert_eq!(tickets.iter().map(Ticket::round).collect::<Vec<_>>(), (0..50).collect::<Vec<_>>());
    diaries.iter().for_each(Diary::clear);
    tickets.reverse();
    tickets.swap(3, 40);
    for ticket in tickets {
        let (base, probability) = (ticket.base(), ticket.probability());
        let before = diaries[base].notes().len();
        let loss = if base == 1 { 1.0 } else { 0.25 };
        let outcome = band.learn(&plain(), ticket, loss).unwrap();
        assert_eq!((outcome.base, outcome.weight, outcome.ordered), (base, 1.0 / probability, 0));
        assert_eq!(diaries[base].notes()[before..], [Note::Learned(base as u32, loss, 1.0 / probability)]);
    }
    assert!(band.probabilities()[1] < 0.3, "{:?}", band.probabilities());
}

#[test]
fn a_seed_gives_the_same_run_for_ever() {
    // Who is followed and what it plays, by the toy master: the order of draws is part of the promise.
    let runs = [Crediting::Chosen, Crediting::SameDecision, Crediting::Likelihood].map(|credit| {
        let mut band = soft_band(3, params(credit, Feed::Weighted));
        let mut rng = generator(99);
        let round = |t| {
            let ticket = band.choose(&plain(), &mut rng).unwrap();
            let made = (ticket.base(), ticket.decision.0);
            let cost = loss(t, ticket.decision);
            band.learn(&plain(), ticket, cost).unwrap();
            made
        };
        (0..8).map(round).collect::<Vec<_>>()
    });
    let expected = [
        [(0, 0), (2, 2), (1, 0), (0, 2), (1, 0), (2, 2), (1, 2), (1, 0)],
        [(2, 2), (2, 0), (2, 2), (0, 1), (0, 0), (2, 0), (2, 1), (0, 2)],
        [(0, 0), (2, 2), (1, 0), (0, 2), (1, 0), (2, 2), (1, 2), (1, 0)],
    ];
    assert_eq!(runs, expected);
}

#[test]
fn an_instance_restarted_in_between_learns_nothing_of_it() {
    // One base keeps losing until its range doubles; an older ticket reaches the master and not the new instance.
    let (bases, diaries): (Vec<_>, Vec<_>) = (0..2).map(Constant::boxed).unzip();
    let mut band = Band::new(Toy::new(2, 0.5), bases).unwrap();
    let mut rng = generator(6);
    let mut kept = None;
    let mut ordered = 0;
    for _ in 0..200 {
        let ticket = band.choose(&plain(), &mut rng).unwrap();
        if ticket.base() == 1 && kept.is_none() {
            kept = Some(ticket);
            continue;
        }
        let loss = f64::from(u8::from(ticket.base() == 1));
        ordered += band.learn(&plain(), ticket, loss).unwrap().ordered;
    }
    assert!(ordered > 0);
    assert!(diaries[1].notes().iter().filter(|n| matches!(n, Note::Ranged(_))).count() > 1);
    diaries[1].clear();
    let before = band.probabilities().to_vec();
    let outcome = band.learn(&plain(), kept.unwrap(), 1.0).unwrap();
    assert_eq!((outcome.base, outcome.learned, outcome.credited), (1, 0, true));
    assert!(band.probabilities()[1] < before[1] || before[1] < 2e-3);
    assert!(!diaries[1].notes().iter().any(|n| matches!(n, Note::Learned(..))));
}

#[test]
fn bad_input_is_named_and_changes_nothing() {
    let mut band = soft_band(3, EnsembleParams::default());
    let mut other = soft_band(3, EnsembleParams { id: Some(9), ..EnsembleParams::default() });
    let mut rng = generator(7);
    for loss in [-0.1, 1.1, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let ticket = band.choose(&plain(), &mut rng).unwrap();
        let before = band.save();
        let error = band.learn(&plain(), ticket, loss).unwrap_err();
        assert!(error.to_string().contains(&loss.to_string()), "{error}");
        assert!(matches!(error.error, EnsembleError::Loss(_)));
        assert_eq!(band.save(), before);
    }
    let foreign = other.choose(&plain(), &mut rng).unwrap();
    let before = band.save();
    let error = band.learn(&plain(), foreign, 0.5).unwrap_err();
    assert_eq!(error.error, EnsembleError::Foreign { found: 9, expected: band.id() });
    assert_eq!(band.save(), before);
    assert!(matches!(Band::new(Toy::new(2, 0.1), vec![]), Err(EnsembleError::Empty)));
    let three = (0..3).map(|_| Soft::boxed(3, 0.1)).collect();
    assert!(matches!(Band::new(Toy::new(2, 0.1), three), Err(EnsembleError::Bases { master: 2, bases: 3 })));
}

#[test]
fn ensembles_with_other_ids_do_not_take_each_others_tickets() {
    let with_id = |id| soft_band(3, EnsembleParams { id, ..EnsembleParams::default() });
    assert_eq!(with_id(None).id(), with_id(None).id(), "the id follows from how it is built");
    assert_ne!(with_id(None).id(), soft_band(4, EnsembleParams::default()).id());
    let (mut a, mut b) = (with_id(None), with_id(Some(7)));
    let ticket = a.choose(&plain(), &mut generator(1)).unwrap();
    let refused = b.learn(&plain(), ticket, 0.5).unwrap_err();
    assert_eq!(refused.error, EnsembleError::Foreign { found: a.id(), expected: b.id() });
    assert!(a.learn(&plain(), refused.ticket, 0.5).is_ok(), "the ticket was given back");
}

#[test]
fn one_base_works() {
    for credit in [Crediting::Chosen, Crediting::SameDecision, Crediting::Likelihood] {
        let mut band = soft_band(1, params(credit, Feed::Weighted));
        let mut rng = generator(8);
        for t in 0..100 {
            let ticket = band.choose(&plain(), &mut rng).unwrap();
            let cost = loss(t, ticket.decision);
            let outcome = band.learn(&plain(), ticket, cost).unwrap();
            assert_eq!((outcome.base, outcome.weight), (0, 1.0));
        }
    }
}

#[test]
fn frequencies_follow_the_probabilities() {
    // 40 000 draws from a master that stays where it is: chi-square with 3 degrees of freedom, above 21.1 with
    // probability 1e-4; fixed seed.
    let pbar = [0.1, 0.2, 0.3, 0.4];
    let (mut band, _) = constants(&pbar, &[0, 1, 2, 0], EnsembleParams::default());
    let mut rng = generator(9);
    let mut counts = [0.0f64; 4];
    let rounds = 40_000;
    for _ in 0..rounds {
        counts[band.choose(&plain(), &mut rng).unwrap().base()] += 1.0;
    }
    let expected = pbar.map(|p| p * f64::from(rounds));
    let chi2: f64 = counts.iter().zip(expected).map(|(c, e)| (c - e).powi(2) / e).sum();
    assert!(chi2 < 21.1, "chi2 = {chi2}, counts {counts:?}");
}

#[test]
fn credit_is_unbiased_in_the_code() {
    // E[weight_i] = 1 and E[loss * weight_i] = base i's own expected loss, for each rule, by what the bases are fed:
    // 60 000 rounds, 3 rules x 3 bases x 2 means, each beyond 4.5 standard errors with probability 7e-6: 1.3e-4 in all.
    struct Fixed([f64; 2], std::sync::Arc<std::sync::Mutex<[f64; 5]>>);
    impl Base<Context, Arm> for Fixed {
        fn propose(
            &mut self,
            _: &Context,
            rng: &mut dyn corral_core::Rng,
        ) -> Result<Proposal<Arm>, corral_core::BaseError> {
            let arm = corral_core::sample_index(&self.0, 1.0, rng).unwrap_or(0);
            Ok(Proposal::new(Arm::at(arm)))
        }
        fn learn(
            &mut self,
            _: &Context,
            _: &Proposal<Arm>,
            f: corral_core::Feedback,
        ) -> Result<(), corral_core::BaseError> {
            let mut sums = self.1.lock().unwrap();
            for (sum, value) in
                sums.iter_mut().zip([f.weight(), f.weight().powi(2), f.estimate(), f.estimate().powi(2), 0.0])
            {
                *sum += value;
            }
            Ok(())
        }
        fn likelihood(&self, _: &Context, arm: &Arm) -> Option<(f64, corral_core::Memo)> {
            Some((self.0[arm.index()], corral_core::Memo::empty()))
        }
        fn apply_order(&mut self, _: Order) -> Result<(), corral_core::BaseError> {
            Ok(())
        }
        fn save(&self) -> Vec<u8> {
            Vec::new()
        }
        fn load(&mut self, _: &[u8]) -> Result<(), corral_core::BaseError> {
            Ok(())
        }
    }
    let pi = [[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]];
    let losses = [0.3, 0.8];
    let rounds = 60_000;
    for credit in [Crediting::Chosen, Crediting::SameDecision, Crediting::Likelihood] {
        let sums: Vec<_> = pi.iter().map(|_| std::sync::Arc::default()).collect();
        let bases = pi
            .iter()
            .zip(&sums)
            .map(|(p, s)| Box::new(Fixed(*p, std::sync::Arc::clone(s))) as Box<dyn Base<_, _>>);
        let master = Toy::starting_from(&[0.2, 0.3, 0.5], 0.0);
        let mut band = Band::with_params(master, bases.collect(), params(credit, Feed::Weighted)).unwrap();
        let mut rng = generator(10);
        for _ in 0..rounds {
            let ticket = band.choose(&plain(), &mut rng).unwrap();
            let loss = losses[ticket.decision.index()];
            band.learn(&plain(), ticket, loss).unwrap();
        }
        for (base, sums) in sums.iter().enumerate() {
            let s = *sums.lock().unwrap();
            let own = pi[base][0] * losses[0] + pi[base][1] * losses[1];
            for (sum, square, mean) in [(s[0], s[1], 1.0), (s[2], s[3], own)] {
                let n = f64::from(rounds);
                let (found, se) = (sum / n, ((square / n - (sum / n).powi(2)) / n).sqrt());
                assert!(
                    (found - mean).abs() < 4.5 * se,
                    "{credit:?} base {base}: {found} against {mean}, se {se}"
                );
            }
        }
    }
}

/// Knows no ranges, and orders none.
struct Unbounded(Toy);

impl Master for Unbounded {
    forward!(Master: self => self.0, except update, limits);
    fn update(
        &mut self,
        loss: f64,
        credit: corral_core::Credit<'_>,
    ) -> Result<&[(usize, Order)], corral_core::MasterError> {
        self.0.update(loss, credit).map(|_| &[][..])
    }
}

/// Where weights are cut, that is their range for good: no base is told another, which would make it a new instance, and what is in
/// flight is learned.
#[test]
fn weights_that_are_cut_leave_ranges_as_they_are() {
    fn hold<M: Master>(master: M, credit: Crediting) {
        let (mut bases, mut diaries): (Vec<_>, Vec<_>) = (0..3).map(Constant::boxed).unzip();
        let params = EnsembleParams { cut: Some(3.0), ..params(credit, Feed::Weighted) };
        let newcomer = bases.pop().unwrap();
        let mut band = Ensemble::with_params(master, bases, params).unwrap();
        if band.add("newcomer", newcomer, 0.01).is_err() {
            diaries.pop();
        }
        let (mut rng, mut flying) = (generator(21), std::collections::VecDeque::new());
        for _ in 0..600 {
            flying.push_back(band.choose(&plain(), &mut rng).unwrap());
            if flying.len() > 6 {
                let ticket = flying.pop_front().unwrap();
                let cost = if ticket.base() == 0 { 0.0 } else { 0.75 };
                let outcome = band.learn(&plain(), ticket, cost).unwrap();
                assert!(outcome.learned >= 1, "{credit:?}: {outcome:?}");
            }
        }
        assert!(band.benched().is_empty(), "{:?}", band.benched());
        assert!(band.tallies().all(|t| t.restarts == 0) && band.tallies().any(|t| t.max_weight > 6.0));
        for diary in &diaries {
            let notes = diary.notes();
            let ranges: Vec<_> = notes.iter().filter(|n| matches!(n, Note::Ranged(_))).collect();
            assert_eq!(ranges, [&Note::Ranged(3.0)], "{credit:?}");
            let told = |note: &Note| matches!(note, Note::Learned(_, _, weight) if *weight > 3.0);
            assert!(!notes.iter().any(told), "{credit:?}: {notes:?}");
        }
        let all = diaries.iter().flat_map(Diary::notes);
        assert!(all.into_iter().any(|note| matches!(note, Note::Learned(_, _, weight) if weight == 3.0)));
    }
    for credit in [Crediting::Chosen, Crediting::SameDecision, Crediting::Likelihood] {
        hold(Unbounded(Toy::new(2, 0.3)), credit);
        hold(Toy::new(2, 0.3), credit);
    }
}

#[test]
fn a_master_without_ranges_has_them_doubled_for_it() {
    for credit in [Crediting::Chosen, Crediting::SameDecision, Crediting::Likelihood] {
        let bases = (0..3).map(|_| Soft::boxed(3, 0.1)).collect();
        let mut band = Ensemble::with_params(
            Unbounded(Toy::new(3, 0.3)),
            bases,
            EnsembleParams { credit, ..EnsembleParams::default() },
        )
        .unwrap();
        let mut rng = generator(16);
        for t in 0..500 {
            let ticket: Ticket<Arm> = band.choose(&plain(), &mut rng).unwrap();
            let cost = if ticket.base() == 0 { 0.0 } else { 0.5 + 0.5 * loss(t, ticket.decision) };
            band.learn(&plain(), ticket, cost).unwrap();
        }
        // The bases check the weights that they get against the range that they were told.
        assert!(band.benched().is_empty(), "{:?}", band.benched());
        assert!(credit != Crediting::Chosen || band.tallies().any(|t| t.max_weight > 6.0));
    }
}
