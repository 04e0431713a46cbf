//! An ensemble as a base: weights multiply, ranges multiply, a new range from above starts everything over.
#![allow(missing_docs)]

use crate::common::*;
use corral_core::{
    Arm, Base, BaseError, Context, Corral, CorralParams, Crediting, Ensemble, EnsembleParams, Feed, Feedback,
    Horizon, Master, MasterError, MasterExtra, Memo, Order, Proposal, Rate, Rng, Step, forward,
};

type Band = Ensemble<Context, Arm, Toy>;

fn x() -> Context {
    Context::plain(4)
}

/// Two ensembles of two constant bases each, under masters that stay where they are.
fn nested(outer: &[f64], inner: [&[f64]; 2], params: EnsembleParams) -> (Band, Vec<Diary>) {
    let mut diaries = Vec::new();
    let bases = inner.iter().enumerate().map(|(i, p)| {
        let (bases, notes): (Vec<_>, Vec<_>) = (0..2).map(|j| Constant::boxed(2 * i as u32 + j)).unzip();
        diaries.extend(notes);
        Box::new(Band::with_params(Toy::starting_from(p, 0.0), bases, params).unwrap()) as Box<dyn Base<_, _>>
    });
    let band = Band::with_params(Toy::starting_from(outer, 0.0), bases.collect(), params).unwrap();
    (band, diaries)
}

#[test]
fn ranges_multiply_at_the_start() {
    let (_, diaries) = nested(&[0.5, 0.5], [&[0.5, 0.5], &[0.5, 0.5]], EnsembleParams::default());
    for diary in diaries {
        // Built alone: 2M = 4. Put into a band whose range is 4: 4 * 4.
        assert_eq!(diary.notes(), [Note::Ranged(4.0), Note::Ranged(16.0)]);
    }
}

#[test]
fn weights_multiply() {
    // A new range starts the toy over at the uniform distribution: pbar_inner = 1/2.
    let (mut band, diaries) = nested(&[0.2, 0.8], [&[0.5, 0.5], &[0.5, 0.5]], EnsembleParams::default());
    let mut rng = generator(1);
    let mut counts = [0.0; 4];
    for _ in 0..4_000 {
        diaries.iter().for_each(Diary::clear);
        let ticket = band.choose(&x(), &mut rng).unwrap();
        let arm = ticket.decision.0 as usize;
        counts[arm] += 1.0;
        let outer = [0.2, 0.8][arm / 2];
        assert_eq!(ticket.base(), arm / 2);
        let outcome = band.learn(&x(), ticket, 0.5).unwrap();
        assert!((outcome.weight - 1.0 / outer).abs() < 1e-12);
        let notes = diaries[arm].notes();
        let [Note::Asked, Note::Learned(played, loss, weight)] = notes[..] else { panic!("{notes:?}") };
        assert_eq!((played as usize, loss), (arm, 0.5));
        assert!((weight - 1.0 / (outer * 0.5)).abs() < 1e-12, "{weight}");
        // Everybody hears of the round once.
        for (other, diary) in diaries.iter().enumerate().filter(|(i, _)| *i != arm) {
            assert_eq!(diary.notes(), [Note::Passed], "base {other}");
        }
    }
    // Frequencies are the product rule's: chi-square with 3 degrees of freedom above 21.1 with probability 1e-4.
    let expected = [0.1, 0.1, 0.4, 0.4].map(|p| 4_000.0 * p);
    let chi2: f64 = counts.iter().zip(expected).map(|(c, e)| (c - e) * (c - e) / e).sum();
    assert!(chi2 < 21.1, "{counts:?}");
}

#[test]
fn an_ensemble_of_one_ensemble_is_that_ensemble() {
    // The outer master has one base, so it changes nothing: same draws but for its own, same decisions, same state.
    for credit in [Crediting::Chosen, Crediting::SameDecision, Crediting::Likelihood] {
        let params = EnsembleParams { credit, id: Some(1), ..EnsembleParams::default() };
        let band =
            || Band::with_params(Toy::new(3, 0.1), (0..3).map(|_| Soft::boxed(4, 0.1)).collect(), params);
        let mut alone = band().unwrap();
        alone.apply_order(Order::Widen { range: 2.0, remaining: None }).unwrap();
        let mut around = Band::new(Toy::new(1, 0.1), vec![Box::new(band().unwrap())]).unwrap();
        for t in 0..300u64 {
            let (mut a, mut b) = (generator(t), generator(t));
            // The outer draw.
            let _ = b.next_u64();
            let made = alone.propose(&x(), &mut b).unwrap();
            let ticket = around.choose(&x(), &mut a).unwrap();
            assert_eq!(made.decision, ticket.decision);
            let loss = 0.2 * f64::from(made.decision.0) + 0.01 * (t % 7) as f64;
            Base::learn(&mut alone, &x(), &made, Feedback::plain(loss)).unwrap();
            around.learn(&x(), ticket, loss).unwrap();
        }
        assert_eq!(around.base(0).unwrap().save(), Base::<Context, Arm>::save(&alone), "{credit:?}");
    }
}

#[test]
fn the_likelihood_is_the_mixture() {
    let (band, _) = nested(&[0.2, 0.8], [&[0.5, 0.5], &[0.5, 0.5]], EnsembleParams::default());
    for (arm, expected) in [0.1, 0.1, 0.4, 0.4].into_iter().enumerate() {
        let (q, _) = band.likelihood(&x(), &Arm::at(arm)).unwrap();
        assert!((q - expected).abs() < 1e-12, "arm {arm}: {q}");
    }
    // A base without a likelihood leaves the ensemble without one.
    let bases: Vec<Box<dyn Base<Context, Arm>>> = vec![
        Soft::boxed(4, 0.1),
        Box::new(Constant { arm: 1, diary: Diary::default(), frank: false, listens: false }),
    ];
    let band = Band::new(Toy::new(2, 0.1), bases).unwrap();
    assert_eq!(band.likelihood(&x(), &Arm(1)), None);
}

#[test]
fn likelihood_credit_goes_through_two_levels() {
    // Feeding an ensemble the memo of its likelihood credits each inner base with outer weight * pi_j / mixture.
    let params = EnsembleParams { credit: Crediting::Likelihood, ..EnsembleParams::default() };
    let (mut band, diaries) = nested(&[0.2, 0.8], [&[0.5, 0.5], &[0.5, 0.5]], params);
    let mut rng = generator(3);
    for _ in 0..50 {
        diaries.iter().for_each(Diary::clear);
        let ticket = band.choose(&x(), &mut rng).unwrap();
        let arm = ticket.decision.0 as usize;
        band.learn(&x(), ticket, 1.0).unwrap();
        // Deterministic bases on four different arms: weight 1/(pbar_outer pbar_inner) for the one that proposes it.
        let weight = 1.0 / ([0.2, 0.8][arm / 2] * 0.5);
        for (base, diary) in diaries.iter().enumerate() {
            let learned: Vec<f64> = diary
                .notes()
                .into_iter()
                .filter_map(|n| if let Note::Learned(_, _, w) = n { Some(w) } else { None })
                .filter(|w| *w > 0.0)
                .collect();
            match learned[..] {
                [w] if base == arm => assert!((w - weight).abs() < 1e-9, "{w} against {weight}"),
                [] if base != arm => {}
                _ => panic!("base {base} of arm {arm}: {learned:?}"),
            }
        }
    }
    assert!(band.benched().is_empty(), "{:?}", band.benched());
}

#[test]
fn a_new_range_from_above_starts_everything_over() {
    let build = || {
        let master = Corral::new(CorralParams::new(3, Horizon::Known(500))).unwrap();
        Ensemble::<Context, Arm, _>::new(master, (0..3).map(|_| Soft::boxed(4, 0.1)).collect()).unwrap()
    };
    let mut used = build();
    let mut rng = generator(4);
    for t in 0..200 {
        let ticket = used.choose(&x(), &mut rng).unwrap();
        let loss = f64::from(u8::from(ticket.base() != 1 || t % 3 == 0));
        used.learn(&x(), ticket, loss).unwrap();
    }
    let mut fresh = build();
    let outstanding = used.propose(&x(), &mut rng).unwrap();
    used.apply_order(Order::Widen { range: 8.0, remaining: Some(300) }).unwrap();
    fresh.apply_order(Order::Widen { range: 8.0, remaining: Some(300) }).unwrap();
    assert_eq!(used.probabilities(), fresh.probabilities());
    for base in 0..3 {
        let saved = |band: &Ensemble<Context, Arm, Corral>| band.base(base).unwrap().save();
        assert_eq!(saved(&used), saved(&fresh), "base {base}");
    }
    // Feedback from before the restart reaches no instance.
    Base::learn(&mut used, &x(), &outstanding, Feedback::new(1.0, 8.0)).unwrap();
    for base in 0..3 {
        assert_eq!(used.base(base).unwrap().save(), fresh.base(base).unwrap().save());
    }
    for bad in [f64::NAN, 0.5, f64::INFINITY] {
        let before = used.save();
        assert!(used.apply_order(Order::Widen { range: bad, remaining: None }).is_err());
        assert_eq!(used.save(), before);
    }
}

/// Three flat Corrals of 40 constant bases under a flat Corral: every arm belongs to one base, so the likelihood of an arm is
/// the probability that its base was asked, and the weight that the base learns is one over it.
#[test]
fn flat_steps_nest() {
    let flat = |bases| {
        let params = CorralParams::new(bases, Horizon::Known(4_000));
        Corral::new(CorralParams { step: Step::Flat, rate: Rate::Fast, ..params }).unwrap()
    };
    let build = || {
        let mut diaries = Vec::new();
        let inner = |i: u32| {
            let (bases, notes): (Vec<_>, Vec<_>) = (0..40).map(|j| Constant::boxed(40 * i + j)).unzip();
            diaries.extend(notes);
            Box::new(Ensemble::new(flat(40), bases).unwrap()) as Box<dyn Base<Context, Arm>>
        };
        let bases = (0..3).map(inner).collect();
        let band = Ensemble::with_params(
            flat(3),
            bases,
            EnsembleParams { id: Some(1), ..EnsembleParams::default() },
        );
        (band.unwrap(), diaries)
    };
    let x = Context::plain(120);
    let (mut band, diaries) = build();
    let mut rng = generator(6);
    let loss = |arm: u32| if arm == 57 { 0.1 } else { 0.8 };
    for t in 0..3_000 {
        diaries.iter().for_each(Diary::clear);
        let ticket = band.choose(&x, &mut rng).unwrap();
        let arm = ticket.decision;
        let (asked, _) = band.likelihood(&x, &arm).unwrap();
        band.learn(&x, ticket, loss(arm.0)).unwrap();
        let notes = diaries[arm.0 as usize].notes();
        let learned = notes.iter().find_map(|n| match n {
            Note::Learned(_, _, weight) => Some(*weight),
            _ => None,
        });
        let weight = learned.unwrap_or_else(|| panic!("round {t}: {notes:?}"));
        assert!((weight * asked - 1.0).abs() < 1e-11, "round {t}: {weight} {asked}");
        if t % 500 == 0 {
            let all: f64 = (0..120).map(|a| band.likelihood(&x, &Arm(a)).unwrap().0).sum();
            assert!((all - 1.0).abs() < 1e-12, "round {t}: {all}");
        }
    }
    assert!(band.master().is_flat());
    let (mut again, _) = build();
    again.load(&band.save()).unwrap();
    for _ in 0..300 {
        let mut other = rng.clone();
        let (a, b) = (band.choose(&x, &mut rng).unwrap(), again.choose(&x, &mut other).unwrap());
        assert_eq!(a.decision, b.decision);
        let paid = loss(a.decision.0);
        band.learn(&x, a, paid).unwrap();
        again.learn(&x, b, paid).unwrap();
    }
    assert_eq!(band.save(), again.save());
}

#[test]
fn foreign_memos_are_refused_and_change_nothing() {
    let mut band = Band::new(Toy::new(3, 0.1), (0..3).map(|_| Soft::boxed(4, 0.1)).collect()).unwrap();
    let mut rng = generator(5);
    let made = band.propose(&x(), &mut rng).unwrap();
    let before = band.save();
    let mut bad: Vec<Memo> = vec![Memo::empty(), Memo::one(1.0), Memo::from(&[f64::NAN; 9][..])];
    for at in 0..made.memo.numbers().len() - 1 {
        for value in [-1.0, 0.5, 1e300, f64::NAN, f64::INFINITY] {
            let mut numbers = made.memo.numbers().to_vec();
            numbers[at] = value;
            // A probability or a weight of one half could be true, and an era may be any.
            let possible = value == 0.5 && (at == 5 || at == 6);
            if !possible {
                bad.push(Memo::from(&numbers[..]));
            }
        }
    }
    for memo in bad {
        let proposal = Proposal::with_memo(made.decision, memo);
        let refused = Base::learn(&mut band, &x(), &proposal, Feedback::plain(0.5));
        assert!(refused.is_err(), "{:?}", proposal.memo);
        assert_eq!(band.save(), before, "{:?}", proposal.memo);
    }
    for feedback in [Feedback::new(0.5, 1.5), Feedback::new(2.0, 1.0), Feedback::new(0.5, -1.0)] {
        assert!(Base::learn(&mut band, &x(), &made, feedback).is_err());
        assert_eq!(band.save(), before);
    }
    assert!(Base::learn(&mut band, &x(), &made, Feedback::plain(0.5)).is_ok());
}

#[test]
fn everyone_overhears_through_two_levels() {
    // An inner ensemble without a likelihood still hears what others played.
    let diary = Diary::default();
    let inner_bases: Vec<Box<dyn Base<Context, Arm>>> =
        vec![Box::new(Constant { arm: 1, diary: diary.clone(), frank: false, listens: true })];
    let params = EnsembleParams { feed: Feed::Everyone, ..EnsembleParams::default() };
    let inner = Band::with_params(Toy::new(1, 0.0), inner_bases, params).unwrap();
    let (other, _) = Constant::boxed(2);
    let mut band = Band::with_params(Toy::new(2, 0.0), vec![Box::new(inner), other], params).unwrap();
    let mut rng = generator(6);
    for _ in 0..20 {
        diary.clear();
        let ticket = band.choose(&x(), &mut rng).unwrap();
        let arm = ticket.decision.0;
        band.learn(&x(), ticket, 0.25).unwrap();
        assert_eq!(diary.notes().last(), Some(&Note::Learned(arm, 0.25, 1.0)));
    }
    assert!(band.benched().is_empty(), "{:?}", band.benched());
}

/// Always proposes the same, and learns nothing.
struct Dull {
    proposal: Result<Arm, &'static str>,
    /// The likelihood of every other arm.
    others: f64,
}

impl Base<Context, Arm> for Dull {
    fn propose(&mut self, _: &Context, _: &mut dyn Rng) -> Result<Proposal<Arm>, BaseError> {
        self.proposal.map(Proposal::new).map_err(|why| BaseError::Failed(why.into()))
    }
    fn learn(&mut self, _: &Context, _: &Proposal<Arm>, _: Feedback) -> Result<(), BaseError> {
        Ok(())
    }
    fn likelihood(&self, _: &Context, arm: &Arm) -> Option<(f64, Memo)> {
        Some((if self.proposal == Ok(*arm) { 1.0 } else { self.others }, Memo::empty()))
    }
    fn apply_order(&mut self, _: Order) -> Result<(), BaseError> {
        Ok(())
    }
    fn save(&self) -> Vec<u8> {
        Vec::new()
    }
    fn load(&mut self, _: &[u8]) -> Result<(), BaseError> {
        Ok(())
    }
}

#[test]
fn an_inner_ensemble_without_bases_left_is_benched_by_the_outer() {
    let broken = || Box::new(Dull { proposal: Err("the fixture fails"), others: 0.0 });
    let inner = Band::new(Toy::new(2, 0.1), vec![broken(), broken()]).unwrap();
    let mut band = Band::new(Toy::new(2, 0.1), vec![Box::new(inner), Soft::boxed(4, 0.1)]).unwrap();
    let mut rng = generator(7);
    for _ in 0..50 {
        let ticket = band.choose(&x(), &mut rng).unwrap();
        assert_eq!(ticket.base(), 1);
        band.learn(&x(), ticket, 0.5).unwrap();
    }
    assert_eq!(band.benched()[0].base, 0);
    assert!(band.benched()[0].reason.contains("no base is left"), "{:?}", band.benched());
}

/// The guard of an inner band would play what its likelihood says it never does: it rests, and no base is benched for it.
#[test]
fn practical_bands_nest() {
    let setup = corral_core::Setup::arms(3, None);
    let stuck = || -> Box<dyn Base<Context, Arm>> {
        let habits = (0..2).map(|_| Constant::boxed(0).0).collect();
        Box::new(Ensemble::practical(habits).unwrap().with_setup(&setup))
    };
    let mut band = Ensemble::practical(vec![stuck(), Soft::boxed(3, 0.1)]).unwrap().with_setup(&setup);
    let (x, mut rng) = (Context::plain(3), generator(4));
    let mut plays = [0; 3];
    for _ in 0..300 {
        let ticket = band.choose(&x, &mut rng).unwrap();
        plays[ticket.decision.index()] += 1;
        let loss = [0.9, 0.1, 0.5][ticket.decision.index()];
        band.learn(&x, ticket, loss).unwrap();
    }
    assert!(band.everybody_benched().is_empty(), "{:?}", band.everybody_benched());
    assert!(plays[1] > 150, "{plays:?}");
}

/// docs/practical.md, the guard: it leaves the first rounds to a band that looks at every arm by itself (K g = 77 is more than 50
/// rounds have), and has every arm played where all bases are stuck on one.
#[test]
fn the_guard_speaks_where_no_base_looks() {
    let demanded = |arm_of: fn(u32) -> u32| {
        let bases = (0..10).map(|base| Constant::boxed(arm_of(base)).0).collect();
        let mut band = Ensemble::practical(bases).unwrap().with_setup(&corral_core::Setup::arms(10, None));
        let (x, mut rng) = (Context::plain(10), generator(4));
        let mut demanded = [0; 10];
        for _ in 0..50 {
            let ticket = band.choose(&x, &mut rng).unwrap();
            let arm = ticket.decision.index();
            demanded[arm] += u32::from(!band.learn(&x, ticket, 0.5).unwrap().credited);
        }
        demanded
    };
    assert_eq!(demanded(|base| base), [0; 10]);
    let stuck = demanded(|_| 0);
    assert!(stuck.iter().all(|n| *n > 0), "{stuck:?}");
}

/// A probability that underflows is none: the shares of those who could have made the decision are no numbers then.
#[test]
fn a_likelihood_that_underflows_is_zero() {
    let faint = || Box::new(Dull { proposal: Ok(Arm(0)), others: 5e-324 });
    let inner = Band::new(Toy::new(2, 0.1), vec![faint(), faint()]).unwrap();
    assert_eq!(inner.likelihood(&x(), &Arm(1)), Some((0.0, Memo::empty())));
    let params = EnsembleParams { credit: Crediting::Likelihood, feed: Feed::Everyone, ..Default::default() };
    let bases: Vec<Box<dyn Base<Context, Arm>>> = vec![Box::new(inner), Soft::boxed(4, 0.1)];
    let mut band = Band::with_params(Toy::new(2, 0.1), bases, params).unwrap();
    let mut rng = generator(7);
    for _ in 0..200 {
        let ticket = band.choose(&x(), &mut rng).unwrap();
        band.learn(&x(), ticket, 0.5).unwrap();
    }
    assert!(band.everybody_benched().is_empty(), "{:?}", band.everybody_benched());
}

/// A master that has nothing beyond what every master must.
struct Plain(Toy);

impl Master for Plain {
    forward!(Master: self => self.0, except extra);
    fn extra(&mut self) -> Option<&mut dyn MasterExtra> {
        None
    }
}

/// Its band goes alone. As a base it refuses the first order, says why and changes nothing, so no band is built around it.
#[test]
fn a_master_that_cannot_start_over_is_no_base() {
    let bases = || vec![Soft::boxed(4, 0.1), Soft::boxed(4, 0.2)];
    let mut alone = Ensemble::new(Plain(Toy::new(2, 0.1)), bases()).unwrap();
    let mut rng = generator(3);
    for _ in 0..50 {
        let ticket = alone.choose(&x(), &mut rng).unwrap();
        alone.learn(&x(), ticket, 0.5).unwrap();
    }
    let before = alone.save();
    let order = Order::StartOver { range: 2.0, remaining: None };
    let refused = alone.apply_order(order).unwrap_err().to_string();
    assert!(refused.contains(&MasterError::Alone.to_string()), "{refused}");
    assert_eq!(alone.save(), before);
    let inner = Ensemble::new(Plain(Toy::new(2, 0.1)), bases()).unwrap();
    let outer = Band::new(Toy::new(2, 0.1), vec![Box::new(inner), Soft::boxed(4, 0.1)]);
    let refused = outer.err().unwrap().to_string();
    assert!(refused.contains("cannot start over"), "{refused}");
}
