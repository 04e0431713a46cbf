//! The laws of proposing and learning.

use std::fmt::Debug;

use super::{Finding, OnRange, Subject, demand};
use crate::{Base, Feedback, Order, Proposal, uniform};

/// An ordinary life that is long enough to have learned something.
const LIFE: u64 = 200;

pub(super) fn proposals<X, D: Clone + PartialEq + Debug>(subject: &Subject<'_, X, D>) -> Finding {
    let (mut base, mut other) = (subject.build(LIFE)?, subject.build(LIFE)?);
    let (mut rng, mut rng_other) = (subject.tape(1), subject.tape(1));
    let mut buffer: Option<Proposal<D>> = None;
    for round in 0..LIFE {
        let made = subject.play(&mut *base, round, &mut rng, |world| subject.ordinary(world))?;
        let x = subject.context(round);
        let buffer = buffer.get_or_insert_with(|| made.clone());
        buffer.refill(&mut *other, &x, &mut rng_other).map_err(|e| format!("propose_into: {e}"))?;
        same_proposal(round, "propose and propose_into", &made, buffer)?;
        let feedback = subject.ordinary(&mut subject.tape(1_000_003 + round));
        other.learn(&x, buffer, feedback).map_err(|e| format!("round {round}: learn: {e}"))?;
    }
    Ok(())
}

pub(super) fn randomness<X, D: Clone + PartialEq + Debug>(subject: &Subject<'_, X, D>) -> Finding {
    let (mut a, mut b) = (subject.build(LIFE)?, subject.build(LIFE)?);
    let (mut rng_a, mut rng_b) = (subject.tape(2), subject.tape(2));
    for round in 0..LIFE {
        let drawn = rng_a.drawn();
        let made = subject.play(&mut *a, round, &mut rng_a, |world| subject.ordinary(world))?;
        let again = subject.play(&mut *b, round, &mut rng_b, |world| subject.ordinary(world))?;
        same_proposal(round, "two lives with the same generator", &made, &again)?;
        let alike = rng_a.drawn() == rng_b.drawn();
        demand(alike, format_args!("round {round}: two lives drew differently many numbers"))?;
        // A fresh base is asked: what it drew is judged by what it says it would do.
        if round == 0 && rng_a.drawn() == drawn {
            let x = subject.context(0);
            let fresh = subject.build(LIFE)?;
            let said = fresh.likelihood(&x, &made.decision).map(|(q, _)| q);
            if let Some(q) = said.filter(|q| *q > 0.0 && *q < 1.0 - 1e-9) {
                return Err(format!(
                    "it proposed {:?} with probability {q} and drew no number",
                    made.decision
                ));
            }
        }
    }
    Ok(())
}

pub(super) fn pass<X, D: Clone + PartialEq + Debug>(subject: &Subject<'_, X, D>) -> Finding {
    let mut base = subject.build(2 * LIFE)?;
    let mut rng = subject.tape(3);
    subject.train(&mut *base, 0, LIFE, &mut rng)?;
    for round in LIFE..LIFE + 5 {
        let before = base.save();
        let wants = base.abilities().wants_passes;
        demand(
            !wants || base.extra().is_some(),
            "it says that it wants passes, but has no extra to get them",
        )?;
        base.pass(&subject.context(round)).map_err(|e| format!("pass: {e}"))?;
        if base.save() != before {
            demand(wants, "its state changed in a pass, and it says that it wants none")?;
            let why = "its state changed in a pass, and it does not declare to count rounds";
            demand(subject.counts_rounds, why)?;
        }
    }
    // It goes on.
    subject.train(&mut *base, LIFE + 5, LIFE + 25, &mut rng).map(drop)
}

pub(super) fn unseen<X, D: Clone + PartialEq + Debug>(subject: &Subject<'_, X, D>) -> Finding {
    let mut lives = Vec::new();
    for loss in [0.0, 0.3, 1.0] {
        let mut base = subject.build(2 * LIFE)?;
        let mut rng = subject.tape(4);
        subject.train(&mut *base, 0, LIFE, &mut rng)?;
        let (x, made) = subject.propose(&mut *base, LIFE, &mut rng)?;
        let before = base.save();
        base.learn(&x, &made, Feedback::new(loss, 0.0)).map_err(|e| format!("learn with weight 0: {e}"))?;
        let why = "its state changed with weight 0, and it does not declare to count rounds";
        demand(subject.counts_rounds || base.save() == before, why)?;
        lives.push(base.save());
    }
    demand(!lives.windows(2).any(|pair| pair[0] != pair[1]), "a loss with weight 0 left its mark")
}

pub(super) fn outstanding<X, D: Clone + PartialEq + Debug>(subject: &Subject<'_, X, D>) -> Finding {
    let mut base = subject.build(LIFE)?;
    let mut rng = subject.tape(5);
    for batch in 0..4 {
        let mut waiting = Vec::new();
        for i in 0..16 {
            waiting.push(subject.propose(&mut *base, 16 * batch + i, &mut rng)?);
        }
        // Backwards, and every third never.
        for (i, (x, made)) in waiting.iter().enumerate().rev().filter(|(i, _)| i % 3 != 2) {
            let feedback = subject.ordinary(&mut subject.tape(77 + i as u64));
            base.learn(x, made, feedback).map_err(|e| format!("feedback of {i} rounds ago: {e}"))?;
        }
    }
    subject.train(&mut *base, 64, LIFE, &mut rng).map(drop)
}

pub(super) fn likelihoods<X, D: Clone + PartialEq + Debug>(subject: &Subject<'_, X, D>) -> Finding {
    let mut base = subject.build(2 * LIFE)?;
    let mut rng = subject.tape(6);
    for round in 0..LIFE {
        likelihoods_at(subject, &*base, round)?;
        let x = subject.context(round);
        let (_, made) = subject.propose(&mut *base, round, &mut rng)?;
        match base.likelihood(&x, &made.decision) {
            None => {}
            Some((q, _)) if !(q > 0.0) => {
                return Err(format!("round {round}: it proposed {:?}, with probability {q}", made.decision));
            }
            Some((_, memo)) => {
                demand(
                    subject.own_memos || near(memo.numbers(), made.memo.numbers()),
                    format_args!(
                        "round {round}: the memo of {:?} is {:?} when proposed, {:?} by likelihood",
                        made.decision,
                        made.memo.numbers(),
                        memo.numbers()
                    ),
                )?;
            }
        }
        let feedback = subject.ordinary(&mut subject.tape(1_000_003 + round));
        base.learn(&x, &made, feedback).map_err(|e| format!("round {round}: learn: {e}"))?;
    }
    frequencies(subject, &mut *base)
}

fn likelihoods_at<X, D: Debug>(subject: &Subject<'_, X, D>, base: &dyn Base<X, D>, round: u64) -> Finding {
    let x = subject.context(round);
    let Some(decisions) = subject.decisions(&x) else { return Ok(()) };
    let mut total = 0.0;
    let mut some = 0;
    for decision in &decisions {
        let Some((q, memo)) = base.likelihood(&x, decision) else { continue };
        let told = format_args!("round {round}: the likelihood of {decision:?}");
        demand((0.0..=1.0 + 1e-9).contains(&q), format_args!("{told} is {q}"))?;
        let (numbers, finite) = (memo.numbers(), memo.numbers().iter().all(|v| v.is_finite()));
        demand(finite, format_args!("round {round}: the memo of {decision:?} is {numbers:?}"))?;
        let again = base.likelihood(&x, decision).map(|(q, _)| q);
        demand(again == Some(q), format_args!("{told} changes by being asked"))?;
        total += q;
        some += 1;
    }
    let all = decisions.len();
    let every = some == 0 || some == all;
    demand(every, format_args!("round {round}: {some} of {all} decisions have a likelihood"))?;
    let sum = some == 0 || (total - 1.0).abs() <= 1e-9;
    demand(sum, format_args!("round {round}: the likelihoods sum to {total}"))
}

/// How often each decision is proposed, starting again and again from one state.
fn frequencies<X, D: PartialEq + Debug>(subject: &Subject<'_, X, D>, base: &mut dyn Base<X, D>) -> Finding {
    let x = subject.context(LIFE);
    let Some(decisions) = subject.decisions(&x) else { return Ok(()) };
    let said: Vec<f64> = decisions.iter().filter_map(|d| base.likelihood(&x, d).map(|(q, _)| q)).collect();
    if said.len() != decisions.len() {
        return Ok(());
    }
    let state = base.save();
    let draws = 1_000;
    let mut counts = vec![0u32; decisions.len()];
    let mut rng = subject.tape(7);
    for _ in 0..draws {
        let made = base.propose(&x, &mut rng).map_err(|e| format!("propose: {e}"))?;
        if let Some(at) = decisions.iter().position(|d| *d == made.decision) {
            counts[at] += 1;
        }
        base.load(&state).map_err(|e| format!("load of its own snapshot: {e}"))?;
    }
    // |count - n q| <= sqrt(2 n q (1 - q) L) + L/3 with L = ln(2/1e-9)                            Bernstein
    let level = (2.0f64 / 1e-9).ln();
    for ((decision, q), count) in decisions.iter().zip(&said).zip(&counts) {
        let n = f64::from(draws);
        let allowed = (2.0 * n * q * (1.0 - q).max(0.0) * level).sqrt() + level / 3.0;
        demand(
            (f64::from(*count) - n * q).abs() <= allowed,
            format_args!("{decision:?} has probability {q}, and was proposed {count} times of {draws}"),
        )?;
    }
    Ok(())
}

pub(super) fn start_over<X, D: Clone + PartialEq + Debug>(subject: &Subject<'_, X, D>) -> Finding {
    let mut base = subject.build(2 * LIFE)?;
    subject.train(&mut *base, 0, LIFE, &mut subject.tape(8))?;
    let range = subject.range;
    // A smaller range too: whoever starts over forgets the range as well.
    for range in [2.0 * range, range] {
        as_new(subject, &mut *base, Order::StartOver { range, remaining: Some(LIFE) })?;
    }
    Ok(())
}

/// Gives `order` to `base` and to a new one: they live the same life from then on.
fn as_new<X, D: Clone + PartialEq + Debug>(
    subject: &Subject<'_, X, D>,
    base: &mut dyn Base<X, D>,
    order: Order,
) -> Finding {
    let mut new = subject.as_built()?;
    base.apply_order(order).map_err(|e| format!("{order:?}: {e}"))?;
    new.apply_order(order).map_err(|e| format!("{order:?}: {e}"))?;
    let (mut rng, mut rng_new) = (subject.tape(9), subject.tape(9));
    for round in LIFE..2 * LIFE {
        let made = subject.play(base, round, &mut rng, |w| subject.ordinary(w))?;
        let mut expected = subject.play(&mut *new, round, &mut rng_new, |w| subject.ordinary(w))?;
        // An ensemble's memo names the instance, which a restart changes.
        if subject.own_memos {
            expected.memo = made.memo.clone();
        }
        same_proposal(round - LIFE, "the restarted base and a new one", &made, &expected)?;
    }
    Ok(())
}

pub(super) fn widen<X, D: Clone + PartialEq + Debug>(subject: &Subject<'_, X, D>) -> Finding {
    let range = subject.range;
    let mut base = subject.build(2 * LIFE)?;
    subject.train(&mut *base, 0, LIFE, &mut subject.tape(8))?;
    let before = base.save();
    for bad in [f64::NAN, f64::INFINITY, -1.0, 0.0, 0.5] {
        let refused = base.apply_order(Order::Widen { range: bad, remaining: Some(10) }).is_err();
        demand(refused, format_args!("it accepts the range {bad}"))?;
        demand(base.save() == before, format_args!("the range {bad} is refused, but changed its state"))?;
    }
    let wider = 2.0 * range;
    let was =
        subject.decisions(&subject.context(LIFE)).map(|list| all(&*base, &subject.context(LIFE), &list));
    let order = Order::Widen { range: wider, remaining: Some(LIFE) };
    match subject.on_range {
        OnRange::Restart => as_new(subject, &mut *base, order),
        OnRange::Keep | OnRange::Retune => {
            base.apply_order(order).map_err(|e| format!("{order:?}: {e}"))?;
            let is =
                subject.decisions(&subject.context(LIFE)).map(|l| all(&*base, &subject.context(LIFE), &l));
            let as_declared = subject.on_range != OnRange::Keep || was == is;
            demand(as_declared, "it declares to keep, but a new range changed its likelihoods")?;
            let widest = |_: &mut super::Tape| Feedback::new(1.0, wider);
            for round in LIFE..2 * LIFE {
                subject.play(&mut *base, round, &mut subject.tape(9 + round), widest)?;
            }
            Ok(())
        }
    }
}

fn all<X, D>(base: &dyn Base<X, D>, x: &X, decisions: &[D]) -> Vec<Option<f64>> {
    decisions.iter().map(|d| base.likelihood(x, d).map(|(q, _)| q)).collect()
}

pub(super) fn bad_feedback<X, D: Clone + PartialEq + Debug>(subject: &Subject<'_, X, D>) -> Finding {
    let mut base = subject.build(2 * LIFE)?;
    let mut rng = subject.tape(10);
    subject.train(&mut *base, 0, LIFE, &mut rng)?;
    let (x, made) = subject.propose(&mut *base, LIFE, &mut rng)?;
    let before = base.save();
    let nan = f64::NAN;
    let bad = [
        (nan, 1.0),
        (-0.1, 1.0),
        (1.1, 1.0),
        (f64::INFINITY, 1.0),
        (0.5, nan),
        (0.5, -1.0),
        (0.5, f64::INFINITY),
    ];
    for (loss, weight) in bad {
        let refused = base.learn(&x, &made, Feedback::new(loss, weight)).is_err();
        demand(refused, format_args!("it accepts the loss {loss} with weight {weight}"))?;
        demand(
            base.save() == before,
            format_args!("the loss {loss} with weight {weight} is refused, but changed its state"),
        )?;
    }
    Ok(())
}

pub(super) fn survival<X, D: Clone + PartialEq + Debug>(subject: &Subject<'_, X, D>) -> Finding {
    let Subject { rounds, range, .. } = *subject;
    let mut base = subject.build(rounds)?;
    let mut rng = subject.tape(11);
    for round in 0..rounds {
        // Phases of a tenth of the run each, one kind of malice in each.
        let malice = |world: &mut super::Tape| match round * 10 / rounds {
            0 => Feedback::new(1.0, range),
            1 => Feedback::new(0.0, range),
            2 if uniform(world) < 0.01 => Feedback::new(1.0, range),
            2 => Feedback::unseen(),
            3 => Feedback::new(f64::from(u8::from(round % 2 == 0)), range),
            4 => Feedback::new(1.0, 1.0),
            5 => Feedback::new(f64::from(u8::from(uniform(world) < 0.5)), range),
            6 => Feedback::new(1e-300, range),
            7 => Feedback::new(1.0, 1e-300),
            8 => Feedback::new(uniform(world), 1.0 + (range - 1.0) * uniform(world)),
            _ => Feedback::new(1.0, range),
        };
        subject.play(&mut *base, round, &mut rng, malice)?;
        if round % 1_000 == 0 {
            likelihoods_at(subject, &*base, round)?;
        }
    }
    likelihoods_at(subject, &*base, rounds)
}

pub(super) fn same_proposal<D: PartialEq + Debug>(
    round: u64,
    who: &str,
    a: &Proposal<D>,
    b: &Proposal<D>,
) -> Finding {
    let differ = format_args!("round {round}: {who} propose {:?} and {:?}", a.decision, b.decision);
    demand(a.decision == b.decision, differ)?;
    let (a, b) = (a.memo.numbers(), b.memo.numbers());
    demand(a == b, format_args!("round {round}: {who} have the memos {a:?} and {b:?}"))
}

/// Equal up to rounding: a likelihood may be computed another way.
fn near(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-9 * (1.0 + a.abs()))
}
