//! Tickets that leave the process: to which context, band and copy they belong, and how they travel.

use crate::common::{Soft, generator, opened};
use corral_core::{
    Arm, Context, ContextShape, Corral, CorralParams, Crediting, Ensemble, EnsembleError, EnsembleParams,
    Horizon, Observation, Setup, Ticket, TicketId, TokenError,
};
use proptest::prelude::*;

type Band = Ensemble<Context, Arm, Corral>;

fn band(params: EnsembleParams) -> Band {
    let master = Corral::new(CorralParams::new(3, Horizon::Known(10_000))).unwrap();
    let bases = (0..3).map(|i| Soft::boxed(3, 0.02 * f64::from(i + 1))).collect();
    let context = ContextShape { features: 2, ..ContextShape::default() };
    let setup = Setup { context, ..Setup::arms(3, None) };
    Ensemble::with_params(master, bases, params).unwrap().with_setup(&setup)
}

fn open() -> Band {
    band(opened(EnsembleParams::default()))
}

fn x() -> Context {
    Context::shared(vec![0.5, -0.5], 3)
}

fn read(token: &str) -> Ticket<Arm> {
    Ticket::from_token(token).unwrap()
}

#[test]
fn a_ticket_is_learned_with_its_own_context_alone() {
    for params in [EnsembleParams::default(), opened(EnsembleParams::default())] {
        let mut band = band(params);
        let mut ticket = band.choose(&x(), &mut generator(1)).unwrap();
        let before = band.save();
        for other in [
            Context::shared(vec![0.5, -0.5 + 1e-16], 3),
            Context::shared(vec![-0.5, 0.5], 3),
            Context::shared(vec![0.5, -0.5], 2),
        ] {
            assert_eq!(band.check(&other, &ticket, 0.5), Err(EnsembleError::OtherContext { round: 0 }));
            let refused = band.learn(&other, ticket, 0.5).unwrap_err();
            assert_eq!(refused.error, EnsembleError::OtherContext { round: 0 });
            assert_eq!(band.save(), before);
            ticket = refused.ticket;
        }
        assert_eq!(band.check(&x(), &ticket, 0.5), Ok(()));
        assert!(band.learn(&x(), ticket, 0.5).is_ok());
    }
}

/// What is asked before anything changes is what `learn` answers.
#[test]
fn a_check_says_what_learn_would_say() {
    let (mut band, mut rng) = (open(), generator(2));
    let mut ticket = band.choose(&x(), &mut rng).unwrap();
    for bad in [f64::NAN, -0.1, 1.1] {
        let said = band.check(&x(), &ticket, bad).unwrap_err();
        let refused = band.learn(&x(), ticket, bad).unwrap_err();
        assert_eq!(refused.error.to_string(), said.to_string());
        ticket = refused.ticket;
    }
    let copy = read(&ticket.token().unwrap());
    band.learn(&x(), ticket, 0.5).unwrap();
    assert_eq!(band.check(&x(), &copy, 0.5), Err(EnsembleError::AlreadyLearned { round: 0 }));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Equal contexts have equal digests, and others have others.
    #[test]
    fn digests_tell_contexts_apart(
        features in prop::collection::vec(-1e3..1e3, 0..5), rows in prop::collection::vec(-1e3..1e3, 0..9),
        dim in 0_usize..4, actions in 1_usize..4, cell in prop::option::of(0_usize..3), at in 0_usize..14, key: u64,
    ) {
        let build = |features: &[f64], rows: &[f64]| {
            let mut x = match dim {
                0 => Context::shared(features.to_vec(), actions),
                _ => Context::with_rows(features.to_vec(), rows.to_vec(), dim),
            };
            x.set_cell(cell);
            x
        };
        let own = build(&features, &rows);
        prop_assert_eq!(own.digest(key), own.clone().digest(key));
        let numbers: Vec<f64> = features.iter().chain(&rows).copied().collect();
        for at in [at, features.len(), features.len().saturating_sub(1)] {
            let mut changed = numbers.clone();
            let Some(number) = changed.get_mut(at) else { continue };
            *number += 0.5;
            // The border between features and rows matters too.
            for split in [features.len(), features.len().saturating_sub(1)] {
                let other = build(&changed[..split], &changed[split..]);
                prop_assert_eq!(other == own, other.digest(key) == own.digest(key));
            }
        }
        let mut other = own.clone();
        other.set_cell(cell.map_or(Some(0), |cell| (cell > 0).then(|| cell - 1)));
        prop_assert_ne!(other.digest(key), own.digest(key));
    }
}

#[test]
fn both_zeros_are_one_context() {
    let (plus, minus) = (Context::shared(vec![0.0], 2), Context::shared(vec![-0.0], 2));
    assert!(plus == minus && plus.digest(7) == minus.digest(7) && plus.digest(7) != plus.digest(8));
}

#[test]
fn a_token_is_one_safe_line_and_comes_back_to_the_last_bit() {
    let mut band = band(opened(EnsembleParams { credit: Crediting::Likelihood, ..Default::default() }));
    let ticket = band.choose(&x(), &mut generator(3)).unwrap();
    let (alone, whole) = (ticket.token().unwrap(), ticket.token_with(&x()).unwrap());
    for token in [&alone, &whole] {
        assert!(token.starts_with("c2.") && token.len() < 400, "{token}");
        assert!(token.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b)), "{token}");
        assert_eq!(read(token), ticket);
        // It may be carried on by somebody who cannot check it.
        assert_eq!(read(token).token().unwrap(), alone);
        assert_eq!(read(token).token_with(&x()).unwrap(), whole);
    }
    assert_eq!(toml::Value::try_from(&ticket).unwrap().as_str(), Some(&*alone), "serde writes the same");
    let (context, carried) = Ticket::<Arm>::from_token_with::<Context>(&whole).unwrap();
    assert_eq!((&context, &carried), (&x(), &ticket));
    assert!(band.learn(&context, carried, 0.5).is_ok());
    let again = band.learn(&x(), read(&alone), 0.5).unwrap_err();
    assert_eq!(again.error, EnsembleError::AlreadyLearned { round: 0 });
    let other = ticket.token_with(&Context::shared(vec![0.0; 2], 3));
    assert_eq!(other, Err(TokenError::OtherContext { round: 0 }));
}

#[test]
fn what_is_wrong_with_a_token_is_named() {
    let mut band = open();
    let ticket = band.choose(&x(), &mut generator(4)).unwrap();
    let (alone, whole) = (ticket.token().unwrap(), ticket.token_with(&x()).unwrap());
    let of = |text: &str| Ticket::<Arm>::from_token(text).unwrap_err();
    for text in ["", "c", "c1", "1.AA", "hello", "cx.AA", "C1.AA", "c-1.AA", "\u{e9}1.AA"] {
        assert_eq!(of(text), TokenError::NotAToken, "{text}");
    }
    assert_eq!(of(&alone.replacen("c2.", "c1.", 1)), TokenError::Version { found: 1 });
    for text in ["c2.", "c2.AAAA", "c2.====", "c2.+/+/", &alone[..alone.len() / 2], &format!("{alone} ")] {
        assert_eq!(of(text), TokenError::Damaged, "{text}");
    }
    let with = |text: &str| Ticket::<Arm>::from_token_with::<Context>(text).unwrap_err();
    assert_eq!(with(&alone), TokenError::NoContext);
    assert_eq!(with(&whole[..whole.len() - 2]), TokenError::Damaged);
    assert_eq!(with(&format!("{whole}.AA")), TokenError::Damaged);
}

/// Every character of a token, replaced by every other: refused when it is read or when it is learned, and nothing changes.
#[test]
fn a_token_that_was_changed_is_refused_whole() {
    let mut band = open();
    let ticket = band.choose(&x(), &mut generator(5)).unwrap();
    let (whole, before) = (ticket.token_with(&x()).unwrap(), band.save());
    let mut learned = 0;
    for at in 0..whole.len() {
        for other in "Aa0-_.z9".chars().filter(|c| !whole[at..].starts_with(*c)) {
            let text = format!("{}{other}{}", &whole[..at], &whole[at + 1..]);
            let Ok((context, changed)) = Ticket::<Arm>::from_token_with::<Context>(&text) else { continue };
            let refused = band.learn(&context, changed, 0.5).unwrap_err();
            let whose = matches!(
                refused.error,
                EnsembleError::Changed { .. }
                    | EnsembleError::Foreign { .. }
                    | EnsembleError::OtherContext { .. }
            );
            assert!(whose, "{text}: {}", refused.error);
            learned += 1;
        }
    }
    assert!(learned > whole.len(), "most of them can be read: {learned}");
    assert_eq!(band.save(), before);
    assert!(band.learn(&x(), read(&whole), 0.5).is_ok() && band.benched().is_empty());
}

#[test]
fn without_the_secret_no_ticket_can_be_made() {
    let with = |secret: u64| {
        band(EnsembleParams {
            id: Some(1),
            secret: secret.try_into().ok(),
            copy: Some(0),
            ..Default::default()
        })
    };
    let (mut ours, mut theirs) = (with(0x0123_4567_89ab_cdef), with(1));
    let theirs = theirs.choose(&Context::plain(3), &mut generator(2)).err();
    assert!(theirs.is_some(), "the band has two features");
    let mut theirs = with(1);
    let theirs = theirs.choose(&x(), &mut generator(2)).unwrap();
    let own = ours.choose(&x(), &mut generator(2)).unwrap();
    let (before, token) = (ours.save(), theirs.token().unwrap());
    for forged in [theirs, read(&token)] {
        let refused = ours.learn(&x(), forged, 0.5).unwrap_err();
        assert_eq!(refused.error, EnsembleError::Changed { round: 0 });
    }
    assert_eq!(ours.save(), before);
    let (shown, token) = (format!("{own:?}"), own.token().unwrap());
    assert!(!shown.contains(&0x0123_4567_89ab_cdef_u64.to_string()), "{shown}");
    // Another copy, that learns what this one chose, has the secret too.
    assert!(with(0x0123_4567_89ab_cdef).learn(&x(), read(&token), 0.5).is_ok());
}

/// 0 is not a secret, and a band without one lets no ticket out.
#[test]
fn tickets_of_a_band_without_a_secret_stay_in_the_process() {
    let mut closed = band(EnsembleParams { secret: 0_u64.try_into().ok(), ..Default::default() });
    let ticket = closed.choose(&x(), &mut generator(1)).unwrap();
    assert_eq!(ticket.token(), Err(TokenError::NoSecret));
    assert!(postcard::to_stdvec(&ticket).is_err() && toml::Value::try_from(&ticket).is_err());
    let mut store = corral_core::Pending::new(9);
    store.insert(x(), ticket, 0).unwrap();
    assert_eq!(store.save(), Err(TokenError::NoSecret));
    // A forger who guesses that there is no secret makes a ticket with the secret 0 or any other: refused.
    let mut forger = band(EnsembleParams { id: Some(closed.id()), ..opened(Default::default()) });
    let token = forger.choose(&x(), &mut generator(1)).unwrap().token().unwrap();
    let refused = closed.learn(&x(), read(&token), 0.5).unwrap_err();
    assert_eq!(refused.error, EnsembleError::Changed { round: 0 });
    let numberless = EnsembleParams { copy: None, ..opened(Default::default()) };
    let master = Corral::new(CorralParams::new(1, Horizon::Known(10))).unwrap();
    let refused = Band::with_params(master, vec![Soft::boxed(3, 0.1)], numberless).err().unwrap();
    assert!(refused.to_string().contains("copy"), "{refused}");
}

#[test]
fn a_secret_is_part_of_a_snapshot_and_no_part_of_an_id() {
    let (mut first, mut second) =
        (open(), band(EnsembleParams { secret: 7_u64.try_into().ok(), copy: Some(1), ..Default::default() }));
    assert_eq!(first.id(), second.id(), "it follows from how they are built");
    let token = first.choose(&x(), &mut generator(1)).unwrap().token().unwrap();
    assert!(second.learn(&x(), read(&token), 0.5).is_err());
    second.load(&first.save()).unwrap();
    assert_eq!(second.save(), first.save());
    assert!(second.learn(&x(), read(&token), 0.5).is_ok());
}

/// Copies that were loaded from one snapshot, the one that was saved, and one that crashed and was loaded again, choose side
/// by side: no id is handed out twice, and the original and each copy learn the loss of every one, once.
#[test]
fn copies_of_one_snapshot_never_share_an_id_and_learn_each_others_tickets() {
    let mut original = open();
    let mut rng = generator(6);
    for _ in 0..20 {
        let ticket = original.choose(&x(), &mut rng).unwrap();
        original.learn(&x(), ticket, 0.5).unwrap();
    }
    let snapshot = original.save();
    let mut copies: Vec<Band> = (1..=20)
        .map(|copy| {
            let mut copy = band(EnsembleParams { copy: Some(copy), ..opened(Default::default()) });
            copy.load(&snapshot).unwrap();
            copy
        })
        .collect();
    copies.push(original);
    let mut out = Vec::new();
    let mut play = |copies: &mut [Band]| {
        for band in copies {
            let tickets = (0..10).map(|_| band.choose(&x(), &mut rng).unwrap());
            out.extend(tickets.map(|ticket| (ticket.id(), ticket.token().unwrap())));
        }
    };
    play(&mut copies);
    // The original falls back to its own snapshot, and goes on: what it handed out meanwhile stays good.
    for _ in 0..3 {
        copies.last_mut().unwrap().load(&snapshot).unwrap();
        play(&mut copies[20..]);
    }
    let ids: std::collections::HashSet<_> = out.iter().map(|(id, _)| *id).collect();
    assert_eq!((ids.len(), out.len()), (240, 240), "no id is handed out twice");
    for band in &mut copies {
        for (id, token) in &out {
            assert!(band.learn(&x(), read(token), 0.5).is_ok(), "{id}");
            assert!(band.has_learned(*id) && band.learn(&x(), read(token), 0.5).is_err(), "{id}");
        }
    }
}

/// Who goes on as the same copy from an older snapshot hands out no id again that it has heard of.
#[test]
fn a_round_that_was_learned_is_not_handed_out_again() {
    let (mut rng, x) = (generator(7), x());
    let mut before = open();
    let snapshot = before.save();
    let made: Vec<_> = (0..10).map(|_| before.choose(&x, &mut rng).unwrap()).collect();
    let mut again = open();
    again.load(&snapshot).unwrap();
    assert_eq!(again.next_id(), made[0].id());
    again.learn(&x, read(&made[7].token().unwrap()), 0.5).unwrap();
    assert_eq!(again.next_id(), made[8].id());
}

/// The literal was computed with a SipHash-2-4 in Python: the keys are the secret and the band, the bytes copy and round.
#[test]
fn a_seed_follows_from_the_whole_id_and_the_secret() {
    let id = TicketId { band: 7, copy: 2, round: 1_000 };
    let others = [TicketId { band: 8, ..id }, TicketId { copy: 3, ..id }, TicketId { round: 1_001, ..id }];
    assert_eq!(id.seed(42), 0x6202_3106_68ef_0bd3);
    assert!(others.iter().all(|other| other.seed(42) != id.seed(42)) && id.seed(43) != id.seed(42));
}
