//! What a caller does wrong is the caller's: no base is benched for it, nothing changes, and the ticket comes back.

use crate::common::{Constant, Soft, generator, opened};
use corral_core::masters::Practical;
use corral_core::{
    Abilities, Arm, Base, BaseError, BaseExtra, Context, ContextShape, Corral, CorralParams, Crediting,
    Ensemble, EnsembleError, EnsembleParams, Feed, Feedback, Horizon, Order, Propensities, Proposal, Rng,
    Setup, Ticket, uniform,
};

type Band = Ensemble<Context, Arm, Corral>;

fn setup() -> Setup {
    let mut setup = Setup::arms(3, None);
    setup.context = ContextShape { features: 2, ..ContextShape::default() };
    setup
}

fn band(params: EnsembleParams) -> Band {
    let master = Corral::new(CorralParams::new(3, Horizon::Known(10_000))).unwrap();
    let bases = (0..3).map(|i| Soft::boxed(3, 0.02 * f64::from(i + 1))).collect();
    let params = EnsembleParams { id: Some(1), ..opened(params) };
    Ensemble::with_params(master, bases, params).unwrap().with_setup(&setup())
}

fn x() -> Context {
    Context::shared(vec![0.5, -0.5], 3)
}

#[test]
fn a_bad_context_benches_no_base_and_changes_nothing() {
    for credit in [Crediting::Chosen, Crediting::SameDecision, Crediting::Likelihood] {
        let mut band = band(EnsembleParams { credit, ..Default::default() });
        let before = band.save();
        let bad = [
            Context::shared(vec![f64::NAN, 0.0], 3),
            Context::shared(vec![0.0, f64::INFINITY], 3),
            Context::shared(vec![0.0], 3),
            Context::shared(vec![0.0; 3], 3),
            Context::shared(vec![0.0; 2], 4),
            Context::shared(vec![0.0; 2], 0),
        ];
        for x in &bad {
            let refused = band.choose(x, &mut generator(1)).unwrap_err();
            assert!(matches!(refused, EnsembleError::Context(_)), "{refused}");
            assert_eq!(band.save(), before, "{refused}");
        }
        assert!(band.benched().is_empty());
        let ticket = band.choose(&x(), &mut generator(1)).unwrap();
        let refused = band.learn(&bad[0], ticket, 0.5).unwrap_err();
        assert!(band.learn(&x(), refused.ticket, 0.5).is_ok());
    }
}

#[test]
fn a_ticket_is_learned_once_also_after_serde() {
    let mut band = band(EnsembleParams::default());
    let ticket = band.choose(&x(), &mut generator(2)).unwrap();
    let bytes = postcard::to_stdvec(&ticket).unwrap();
    // It may be carried on by somebody who cannot read it.
    let carried: Ticket<Arm> = postcard::from_bytes(&bytes).unwrap();
    assert_eq!(carried, ticket);
    assert_eq!(postcard::to_stdvec(&carried).unwrap(), bytes);
    band.learn(&x(), carried, 0.5).unwrap();
    let before = band.save();
    let refused = band.learn(&x(), ticket, 0.5).unwrap_err();
    assert_eq!(refused.error, EnsembleError::AlreadyLearned { round: 0 });
    assert_eq!(band.save(), before);
}

/// Decision, memos, shares, weights, indices, round: there is no bit that could be another.
#[test]
fn a_ticket_that_was_changed_is_refused_whole() {
    for credit in [Crediting::Chosen, Crediting::Likelihood] {
        let params = EnsembleParams { credit, feed: Feed::Everyone, ..Default::default() };
        let inner = (0..2).map(|_| Soft::boxed(3, 0.1)).collect();
        let nested = Ensemble::with_params(
            Corral::new(CorralParams::new(2, Horizon::Known(10_000))).unwrap(),
            inner,
            EnsembleParams { id: Some(2), ..params },
        );
        let bases: Vec<Box<dyn Base<Context, Arm>>> = vec![Box::new(nested.unwrap()), Soft::boxed(3, 0.2)];
        let master = Corral::new(CorralParams::new(2, Horizon::Known(10_000))).unwrap();
        let mut band =
            Ensemble::with_params(master, bases, EnsembleParams { id: Some(1), ..opened(params) }).unwrap();
        let ticket = band.choose(&x(), &mut generator(3)).unwrap();
        let before = band.save();
        let good = postcard::to_stdvec(&ticket).unwrap();
        let mut learned = 0;
        for bit in 0..8 * good.len() {
            let mut bytes = good.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let Ok(changed) = postcard::from_bytes::<Ticket<Arm>>(&bytes) else { continue };
            let refused = band.learn(&x(), changed, 0.5).unwrap_err();
            let whose =
                matches!(refused.error, EnsembleError::Changed { .. } | EnsembleError::Foreign { .. });
            assert!(whose, "{credit:?}, bit {bit}: {}", refused.error);
            learned += 1;
        }
        assert!(learned > 2 * good.len(), "most of them can be read: {learned} of {}", 8 * good.len());
        assert_eq!(band.save(), before, "{credit:?}");
        for cut in 0..good.len() {
            assert!(postcard::from_bytes::<Ticket<Arm>>(&good[..cut]).is_err(), "cut to {cut}");
        }
        let whole = postcard::from_bytes(&good).unwrap();
        assert!(band.learn(&x(), whole, 0.5).is_ok() && band.everybody_benched().is_empty());
    }
}

#[test]
fn feedback_travels_whole() {
    let mut band = band(EnsembleParams::default());
    let mut rng = generator(4);
    // Unseen: the master does not move.
    let ticket = band.choose(&x(), &mut rng).unwrap();
    let before = band.probabilities().to_vec();
    let outcome = band.learn(&x(), ticket, Feedback::unseen()).unwrap();
    assert!(!outcome.credited && band.probabilities() == before);
    // A weight beyond the range that was announced is the caller's error.
    let ticket = band.choose(&x(), &mut rng).unwrap();
    let refused = band.learn(&x(), ticket, Feedback::new(0.5, 3.0)).unwrap_err();
    assert_eq!(refused.error, EnsembleError::Weight { weight: 3.0, range: 1.0 });
}

/// Evaluates the uniform policy from the log of a learning band by inverse propensities, for every credit rule. A false
/// alarm at four standard errors has probability 6e-5 per case.
#[test]
fn a_policy_is_evaluated_from_the_log_by_propensities() {
    for credit in [Crediting::Chosen, Crediting::SameDecision, Crediting::Likelihood] {
        let params = EnsembleParams { credit, propensities: Propensities::EveryBase, ..Default::default() };
        let mut band = band(params);
        let mut rng = generator(5);
        let means = [0.2, 0.5, 0.8];
        let (mut sum, mut squares, rounds) = (0.0, 0.0, 4_000);
        for _ in 0..rounds {
            let ticket = band.choose(&x(), &mut rng).unwrap();
            let propensity = ticket.propensity().unwrap();
            assert_eq!((ticket.likelihoods().len(), ticket.without_likelihood()), (3, None));
            let loss = f64::from(u8::from(uniform(&mut rng) < means[ticket.decision.index()]));
            let value = loss / (3.0 * propensity);
            (sum, squares) = (sum + value, squares + value * value);
            band.learn(&x(), ticket, loss).unwrap();
        }
        let n = f64::from(rounds);
        let error = ((squares / n - (sum / n).powi(2)) / n).sqrt();
        assert!((sum / n - 0.5).abs() <= 4.0 * error, "{credit:?}: {} +- {error}", sum / n);
    }
}

fn play(band: &mut Ensemble<Context, Arm, Practical>, rng: &mut dyn Rng) {
    let ticket = band.choose(&x(), rng).unwrap();
    let loss = 0.3 * f64::from(ticket.decision.0);
    band.learn(&x(), ticket, loss).unwrap();
}

#[test]
fn bases_come_and_go_and_the_others_keep_their_ratios() {
    let bases: Vec<Box<dyn Base<Context, Arm>>> = (0..3).map(|_| Soft::boxed(3, 0.05) as _).collect();
    let mut band = Ensemble::practical(bases).unwrap().with_setup(&setup()).with_names(["a", "b", "c"]);
    let mut rng = generator(6);
    (0..200).for_each(|_| play(&mut band, &mut rng));
    let out = band.choose(&x(), &mut rng).unwrap();
    let before = band.probabilities().to_vec();
    assert_eq!(band.add("d", Soft::boxed(3, 0.2), 0.25).unwrap(), 3);
    for (old, new) in before.iter().zip(band.probabilities()) {
        assert!((new - 0.75 * old).abs() < 1e-12);
    }
    assert!((band.probabilities()[3] - 0.25).abs() < 1e-12);
    band.learn(&x(), out, 0.1).unwrap();
    band.retire(1).unwrap();
    assert_eq!((band.probabilities()[1], band.benched()[0].name.as_str()), (0.0, "b"));
    (0..200).for_each(|_| play(&mut band, &mut rng));
    band.reinstate(1, 0.1).unwrap();
    assert!((band.probabilities()[1] - 0.1).abs() < 1e-12 && band.benched().is_empty());
    band.replace(0, Soft::boxed(3, 0.5)).unwrap();
    (0..200).for_each(|_| play(&mut band, &mut rng));
    assert!(band.add("e", Soft::boxed(3, 0.2), 1.0).is_err() && band.retire(9).is_err());
    assert!((band.probabilities().iter().sum::<f64>() - 1.0).abs() < 1e-9);
}

/// An order to start over reaches bases under every feed, and no base is given a horizon of 64 that ends.
#[test]
fn restarts_reach_bases_under_every_feed() {
    for feed in [Feed::Weighted, Feed::Raw, Feed::Everyone] {
        let master = Corral::new(CorralParams::new(2, Horizon::Restart)).unwrap();
        let bases = (0..2).map(|_| Soft::boxed(3, 0.05)).collect();
        let params = EnsembleParams { feed, ..Default::default() };
        let mut band = Ensemble::with_params(master, bases, params).unwrap().with_setup(&setup());
        let mut rng = generator(7);
        let mut ordered = 0;
        for _ in 0..300 {
            let ticket = band.choose(&x(), &mut rng).unwrap();
            ordered += band.learn(&x(), ticket, 0.5).unwrap().ordered;
        }
        assert!(ordered >= 4, "{feed:?}: epochs of 64, 128 and 256 rounds began: {ordered}");
        assert!(band.benched().is_empty(), "{feed:?}: {:?}", band.benched());
    }
}

/// A learner that is fed tickets which another copy made counts the rounds that it learned: its master and its bases know
/// how many are left.
#[test]
fn rounds_are_counted_where_they_are_learned() {
    let mut front = band(EnsembleParams::default());
    let mut learner = band(EnsembleParams::default());
    learner.set_copy(1);
    let mut rng = generator(11);
    for _ in 0..100 {
        let ticket = front.choose(&x(), &mut rng).unwrap();
        learner.learn(&x(), ticket, 0.5).unwrap();
    }
    assert_eq!((learner.rounds(), learner.master().remaining()), (100, 9_900));
    assert_eq!(front.master().remaining(), 10_000);
}

/// Rounds beyond a known horizon are played at the last rates: no base is benched, and the master learns on.
#[test]
fn a_band_goes_on_beyond_its_horizon() {
    let master = Corral::new(CorralParams::new(2, Horizon::Known(50))).unwrap();
    let bases = (0..2).map(|i| Soft::boxed(3, 0.05 * f64::from(i + 1))).collect();
    let mut band = Ensemble::new(master, bases).unwrap().with_setup(&setup());
    let mut rng = generator(12);
    let mut at_the_end = Vec::new();
    for round in 0..500 {
        let ticket = band.choose(&x(), &mut rng).unwrap();
        let loss = f64::from(u8::from(ticket.base() == 0));
        band.learn(&x(), ticket, loss).unwrap();
        if round == 49 {
            at_the_end = band.probabilities().to_vec();
        }
    }
    assert!(band.benched().is_empty(), "{:?}", band.benched());
    assert_eq!(band.master().remaining(), 0);
    assert!(band.probabilities()[0] < at_the_end[0], "{:?} after {at_the_end:?}", band.probabilities());
}

/// A band that had three bases goes on with four, by the name of the new one; whoever is not new forgets nothing.
#[test]
fn a_snapshot_of_three_loads_into_four() {
    let build = |names: &[&'static str]| {
        let bases: Vec<Box<dyn Base<Context, Arm>>> =
            names.iter().map(|_| Soft::boxed(3, 0.05) as _).collect();
        Ensemble::practical(bases).unwrap().with_setup(&setup()).with_names(names.to_vec())
    };
    let mut old = build(&["a", "b", "c"]);
    let mut rng = generator(6);
    (0..200).for_each(|_| play(&mut old, &mut rng));
    let out = old.choose(&x(), &mut rng).unwrap();
    let (snapshot, before) = (old.save(), old.probabilities().to_vec());
    let mut band = build(&["a", "b", "c", "d"]);
    (0..50).for_each(|_| play(&mut band, &mut rng));
    let untouched = band.save();
    assert!(band.load(&snapshot).is_err());
    for (name, share) in [("e", 0.2), ("d", 1.5), ("d", f64::NAN)] {
        assert!(band.load_with(&snapshot, &[(name, share)]).is_err(), "{name} {share}");
        assert!(band.load_with(&snapshot[..40], &[("d", 0.2)]).is_err());
        assert_eq!(band.save(), untouched, "{name} {share}: nothing changed");
    }
    band.load_with(&snapshot, &[("d", 0.2)]).unwrap();
    assert_eq!((band.len(), band.rounds(), band.name(3)), (4, old.rounds(), "d".to_string()));
    for (new, old) in band.probabilities().iter().zip(&before) {
        assert!((new - 0.8 * old).abs() < 1e-12);
    }
    for base in 0..3 {
        assert_eq!(band.base(base).unwrap().save(), old.base(base).unwrap().save());
    }
    band.learn(&x(), out, 0.3).unwrap();
    (0..200).for_each(|_| play(&mut band, &mut rng));
    let again = band.save();
    let mut third = build(&["a", "b", "c", "d"]);
    third.load(&again).unwrap();
    assert_eq!(third.save(), again);
}

/// A lazy base that a band is built with keeps what it knows, and so does one that is warmed by the state of another.
#[test]
fn a_warm_start_keeps_what_was_learned() {
    let mut trained = Soft::new(3, 0.05);
    let mut rng = generator(8);
    for _ in 0..100 {
        let made = Base::<Context, Arm>::propose(&mut trained, &x(), &mut rng).unwrap();
        let loss = f64::from(u8::from(made.decision.0 > 0));
        Base::<Context, Arm>::learn(&mut trained, &x(), &made, loss.into()).unwrap();
    }
    let state = Base::<Context, Arm>::save(&trained);
    let (lazy, _) = Constant::boxed(1);
    let mut band = Ensemble::practical(vec![Box::new(Kept(Soft::new(3, 0.05))), lazy]).unwrap();
    band.warm(0, &state).unwrap();
    assert_eq!(band.base(0).unwrap().save(), state);
    assert_eq!(band.metrics().bases[0].restarts, 0);
    let before = band.save();
    assert!(band.warm(0, &state[..10]).is_err() && band.warm(5, &state).is_err());
    assert_eq!(band.base(0).unwrap().save(), state);
    assert_eq!(band.save(), before);
    let built = Ensemble::<Context, Arm, _>::practical(vec![Box::new(Kept(trained))]).unwrap();
    assert_eq!(built.base(0).unwrap().save(), state);
}

/// A base to which a wider range is nothing.
struct Kept(Soft);

impl Base<Context, Arm> for Kept {
    fn propose(&mut self, x: &Context, rng: &mut dyn Rng) -> Result<Proposal<Arm>, BaseError> {
        Base::<Context, Arm>::propose(&mut self.0, x, rng)
    }
    fn learn(&mut self, x: &Context, made: &Proposal<Arm>, feedback: Feedback) -> Result<(), BaseError> {
        Base::<Context, Arm>::learn(&mut self.0, x, made, feedback)
    }
    fn apply_order(&mut self, _: Order) -> Result<(), BaseError> {
        Ok(())
    }
    fn save(&self) -> Vec<u8> {
        Base::<Context, Arm>::save(&self.0)
    }
    fn load(&mut self, state: &[u8]) -> Result<(), BaseError> {
        Base::<Context, Arm>::load(&mut self.0, state)
    }
}

/// A base that the caller stops while it works.
struct Stopped;

impl Base<Context, Arm> for Stopped {
    fn propose(&mut self, _: &Context, _: &mut dyn Rng) -> Result<Proposal<Arm>, BaseError> {
        Err(BaseError::Caller("Ctrl-C".into()))
    }
    fn learn(&mut self, _: &Context, _: &Proposal<Arm>, _: Feedback) -> Result<(), BaseError> {
        Err(BaseError::Caller("Ctrl-C".into()))
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
    fn abilities(&self) -> Abilities {
        Abilities { wants_passes: true, ..Abilities::OWN }
    }
    fn extra(&mut self) -> Option<&mut dyn BaseExtra<Context, Arm>> {
        Some(self)
    }
}

impl BaseExtra<Context, Arm> for Stopped {
    fn pass(&mut self, _: &Context) -> Result<(), BaseError> {
        Err(BaseError::Caller("Ctrl-C".into()))
    }
}

#[test]
fn no_base_is_benched_for_an_interrupt() {
    let master = Corral::new(CorralParams::new(2, Horizon::Known(1_000))).unwrap();
    let bases: Vec<Box<dyn Base<Context, Arm>>> = vec![Soft::boxed(3, 0.1), Box::new(Stopped)];
    let mut band = Ensemble::new(master, bases).unwrap();
    let mut rng = generator(4);
    let (mut served, mut stopped) = (0, 0);
    for _ in 0..50 {
        match band.choose(&x(), &mut rng) {
            Ok(ticket) => served += usize::from(band.learn(&x(), ticket, 0.5).is_ok()),
            Err(error) => {
                assert_eq!(error, EnsembleError::Context(BaseError::Caller("Ctrl-C".into())));
                stopped += 1;
            }
        }
    }
    assert!(served > 5 && stopped > 5 && band.benched().is_empty(), "{served}, {stopped}");
}
