//! A round in flight.

mod seal;
mod token;

use std::num::NonZeroU64;
use std::ops::Deref;

use seal::Seal;
use serde::{Deserialize, Serialize};

use crate::{Memo, Proposal};

pub use token::TokenError;

/// A round in flight: what to play, and everything that its loss needs to find its way back. A value, held by whoever
/// waits for the loss; not `Clone`, because a loss is learned once. Feedback may come late and out of order.
///
/// What it says can be read and not written: `ticket.decision` is what to play. It is learned with the context that it was
/// made for, and with no other.
///
/// A ticket leaves the process as a [token](Ticket::token), one line of text, or through serde: sealed, so that one that was
/// changed on its way is refused whole and no base is benched for it. Whoever does not know the
/// [secret](crate::EnsembleParams::secret) of the ensemble cannot make one.
///
/// ```
/// use corral_core::{Context, Corral, CorralParams, Ensemble, EnsembleParams, Feedback, Horizon, Ticket};
/// # use corral_core::{Arm, Base, BaseError, Order, Proposal, Rng};
/// # use rand::SeedableRng;
/// # struct Always(u32);
/// # impl Base<Context, Arm> for Always {
/// #     fn propose(&mut self, _: &Context, _: &mut dyn Rng) -> Result<Proposal<Arm>, BaseError> {
/// #         Ok(Proposal::new(Arm(self.0)))
/// #     }
/// #     fn learn(&mut self, _: &Context, _: &Proposal<Arm>, _: Feedback) -> Result<(), BaseError> { Ok(()) }
/// #     fn apply_order(&mut self, _: Order) -> Result<(), BaseError> { Ok(()) }
/// #     fn save(&self) -> Vec<u8> { Vec::new() }
/// #     fn load(&mut self, _: &[u8]) -> Result<(), BaseError> { Ok(()) }
/// # }
/// # let bases: Vec<Box<dyn Base<Context, Arm>>> = vec![Box::new(Always(0)), Box::new(Always(1))];
/// # let master = Corral::new(CorralParams::new(2, Horizon::Known(1_000)))?;
/// # let (x, mut rng) = (Context::plain(2), rand_pcg::Pcg64Dxsm::seed_from_u64(1));
/// # let random = 0x5eed_u64;
/// let open = EnsembleParams { secret: random.try_into().ok(), copy: Some(0), ..EnsembleParams::default() };
/// let mut band = Ensemble::with_params(master, bases, open)?;
/// let ticket: Ticket<Arm> = band.choose(&x, &mut rng)?;
/// assert_eq!((ticket.round(), ticket.probability()), (0, 0.5));
/// let token = ticket.token_with(&x)?;                        // it may wait in a queue, or in another process
/// let (x, ticket) = Ticket::<Arm>::from_token_with::<Context>(&token)?;
/// band.learn(&x, ticket, 0.5)?;
/// let again = Ticket::<Arm>::from_token(&token)?;            // a copy of the text is no second loss
/// assert!(band.learn(&x, again, 0.5).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Ticket<D> {
    made: Proposal<D>,
    trace: Trace,
    seal: Seal,
}

impl<D> Deref for Ticket<D> {
    type Target = Proposal<D>;

    /// What to play; to be read alone.
    fn deref(&self) -> &Proposal<D> {
        &self.made
    }
}

impl<D: PartialEq> PartialEq for Ticket<D> {
    /// Whether they say the same, wherever they have been.
    fn eq(&self, other: &Self) -> bool {
        (&self.made, &self.trace) == (&other.made, &other.trace)
    }
}

/// What tells a ticket from every other: the band, which of its copies made it, and the round of that copy.
///
/// A decision can be reproduced when the generator of its round follows from its id:
///
/// ```
/// use corral_core::TicketId;
/// let id = TicketId { band: 7, copy: 2, round: 1_000 };
/// assert_eq!(id.to_string(), "0000000000000007-2-1000");
/// assert_ne!(id.seed(42), TicketId { round: 1_001, ..id }.seed(42));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TicketId {
    /// The band.
    pub band: u64,
    /// Which of the copies of the band that choose side by side.
    pub copy: u64,
    /// The round of that copy, counted from 0.
    pub round: u64,
}

impl TicketId {
    /// A seed that follows from the id and a secret of the service: whoever draws each decision with a generator of its
    /// own can draw it again.
    pub fn seed(self, secret: u64) -> u64 {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.copy.to_le_bytes());
        bytes[8..].copy_from_slice(&self.round.to_le_bytes());
        seal::siphash(secret, self.band, &bytes)
    }
}

impl std::fmt::Display for TicketId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}-{}-{}", self.band, self.copy, self.round)
    }
}

impl<D> Ticket<D> {
    pub(crate) fn new(made: Proposal<D>, trace: Trace, secret: Option<NonZeroU64>) -> Self {
        Self { made, trace, seal: Seal::Home(secret) }
    }

    /// Whether it is what an ensemble of its band with this secret made.
    pub(crate) fn is_genuine(&self, secret: Option<NonZeroU64>) -> bool {
        self.seal.holds(secret, self.trace.ensemble)
    }

    /// What is learned from it.
    pub(crate) fn parts(&mut self) -> (&mut Proposal<D>, &mut Trace) {
        (&mut self.made, &mut self.trace)
    }

    pub(crate) fn trace(&self) -> &Trace {
        &self.trace
    }

    /// The proposal and the shares, whose memory is used again.
    pub(crate) fn into_buffers(self) -> (Proposal<D>, Vec<Share>) {
        (self.made, self.trace.shares)
    }

    /// What tells it from every other ticket.
    pub fn id(&self) -> TicketId {
        TicketId { band: self.trace.ensemble, copy: self.trace.copy, round: self.trace.round }
    }

    /// The round it was made in, counted from 0.
    pub fn round(&self) -> u64 {
        self.trace.round
    }

    /// The base i_t that proposed the decision.
    pub fn base(&self) -> usize {
        self.trace.base as usize
    }

    /// The probability pbar_{t,i_t} with which that base was drawn. That of the decision is
    /// [`propensity`](Ticket::propensity).
    pub fn probability(&self) -> f64 {
        self.trace.probability
    }

    /// The probability with which the decision was made, sum_i pbar_i pi_i(decision | x): what a log must keep for
    /// policies to be evaluated from it. `None` where it was not asked for
    /// ([`EnsembleParams::propensities`](crate::EnsembleParams)) and the credit rule does not compute it anyway, where decisions are points of a continuum, and where a base
    /// cannot say its own probability: see [`without_likelihood`](Ticket::without_likelihood). It is as exact as what the bases say
    /// (`docs/bases.md`, "Likelihoods"): that of a joint normal law is an estimate.
    pub fn propensity(&self) -> Option<f64> {
        match self.trace.propensity {
            Propensity::Exact(probability) => Some(probability),
            _ => None,
        }
    }

    /// The first base that could not say with which probability it would have made the decision.
    pub fn without_likelihood(&self) -> Option<usize> {
        match self.trace.propensity {
            Propensity::Unknown { base } => Some(base as usize),
            _ => None,
        }
    }

    /// Whether the band made the decision by itself, to look at an arm that no base looks at
    /// ([`guard`](crate::EnsembleParams::guard)): its probability was 1, and no base is credited for it. Such rounds are to
    /// be left out where policies are evaluated from a log.
    pub fn is_forced(&self) -> bool {
        self.trace.forced
    }

    /// Every base's own probability of the decision, where that was asked for; NaN for a base that cannot say it or
    /// cannot be drawn.
    pub fn likelihoods(&self) -> &[f64] {
        &self.trace.likelihoods
    }

    /// Every base's own probability of every arm that was offered, one base after the other, where that was asked for
    /// ([`Propensities::Full`](crate::Propensities::Full)); NaN for a base that cannot say it. It stays in the process: tokens and
    /// snapshots do not have it.
    pub fn whole(&self) -> &[f64] {
        &self.trace.whole
    }

    /// The bases that failed and were benched while this ticket was made: another one stood in for them.
    pub fn benched(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.trace.benched.iter().map(|b| *b as usize)
    }
}

/// What is known of the probability of a decision.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) enum Propensity {
    #[default]
    NotAsked,
    Exact(f64),
    /// This base cannot say its own.
    Unknown {
        base: u32,
    },
}

/// Where a loss has to go: fixed when the decision is made, whatever happens until the loss is known.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Trace {
    /// The ensemble that it belongs to, and which copy of it.
    pub ensemble: u64,
    pub copy: u64,
    /// Of the context: see [`Observation::digest`](crate::Observation::digest).
    pub digest: u64,
    /// How often that ensemble's master had started over.
    pub era: u64,
    pub round: u64,
    pub base: u32,
    /// The instance of the base: it may be restarted before the loss arrives.
    pub epoch: u64,
    pub probability: f64,
    pub propensity: Propensity,
    #[serde(deserialize_with = "crate::snapshot::untrusted")]
    pub likelihoods: Vec<f64>,
    /// Each base's own probability of every arm.
    #[serde(skip)]
    pub whole: Vec<f64>,
    /// The other bases that the loss is credited or told to.
    #[serde(deserialize_with = "crate::snapshot::untrusted")]
    pub shares: Vec<Share>,
    pub benched: Vec<u32>,
    /// The weight of the chosen base.
    pub weight: f64,
    /// Whether the guard made the decision: no base proposed it.
    pub forced: bool,
}

/// A base that has a share in a decision without having been followed.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Share {
    pub base: u32,
    pub epoch: u64,
    /// Its weight in the master's estimate; 0 where it only listens.
    pub weight: f64,
    /// What its own proposal of the decision carries.
    pub memo: Memo,
}

// The head of a packed trace: 32 bits of the ensemble, 32 more, era, base, epoch, probability, weight, shares.
const HEAD: usize = 8;
const SHARE: usize = 4;

impl Trace {
    /// Whether every index and weight can be that of an ensemble of `bases`. Written so that NaN fails.
    ///
    /// # Errors
    /// Says what cannot be.
    pub fn check(&self, bases: usize) -> Result<(), &'static str> {
        let weight = |w: f64| (0.0..f64::INFINITY).contains(&w);
        let exists = |base: u32| (base as usize) < bases;
        if !exists(self.base) || !self.benched.iter().all(|b| exists(*b)) {
            return Err("it names a base that does not exist");
        }
        if !(self.probability > 0.0 && self.probability <= 1.0 + 1e-9) {
            return Err("its probability is not in (0, 1]");
        }
        if self.shares.len() + usize::from(!self.forced) > bases
            || !self.shares.iter().all(|s| exists(s.base))
        {
            return Err("it has shares of bases that do not exist");
        }
        if !weight(self.weight) || !self.shares.iter().all(|s| weight(s.weight)) {
            return Err("a weight is negative or not finite");
        }
        Ok(())
    }

    /// The probability with which the decision was made, or the nearest that is known of it: base i says pi_i(theta) as
    /// 1 where it knows none, so that the weight pi_i/Q is 1/Q.
    pub fn played_with(&self) -> f64 {
        match self.propensity {
            Propensity::Exact(probability) => probability,
            _ if self.weight > 0.0 => (1.0 / self.weight).min(1.0),
            _ => 1.0,
        }
    }

    /// Whether the loss will be told to `base`.
    pub fn takes_part(&self, base: usize) -> bool {
        (self.base as usize == base && !self.forced) || self.shares.iter().any(|s| s.base as usize == base)
    }

    /// Writes the trace and the memo of the chosen base into one memo of finite numbers: an ensemble that is a base
    /// gets it back from the ensemble above.
    pub fn pack(&self, memo: &Memo, into: &mut Memo) {
        into.set(&[
            (self.ensemble >> 32) as f64,
            (self.ensemble & 0xffff_ffff) as f64,
            self.era as f64,
            f64::from(self.base),
            self.epoch as f64,
            self.probability,
            self.weight,
            self.shares.len() as f64,
        ]);
        for share in &self.shares {
            let numbers = share.memo.numbers();
            into.extend(&[f64::from(share.base), share.epoch as f64, share.weight, numbers.len() as f64]);
            into.extend(numbers);
        }
        into.extend(memo.numbers());
    }

    /// Reads back what [`pack`](Trace::pack) wrote; the memo of the chosen base goes to `memo`.
    pub fn unpack(&mut self, packed: &Memo, memo: &mut Memo) -> Option<()> {
        let (head, mut rest) = packed.numbers().split_at_checked(HEAD)?;
        self.ensemble = whole(head[0])? << 32 | whole(head[1])?;
        self.era = whole(head[2])?;
        self.base = whole(head[3])?.try_into().ok()?;
        self.epoch = whole(head[4])?;
        self.probability = head[5];
        self.weight = head[6];
        self.shares.clear();
        for _ in 0..whole(head[7])? {
            let (share, after) = rest.split_at_checked(SHARE)?;
            let (numbers, after) = after.split_at_checked(whole(share[3])? as usize)?;
            self.shares.push(Share {
                base: whole(share[0])?.try_into().ok()?,
                epoch: whole(share[1])?,
                weight: share[2],
                memo: Memo::from(numbers),
            });
            rest = after;
        }
        memo.set(rest);
        Some(())
    }
}

/// A count that went through an f64: below 2^53, so exact.
fn whole(value: f64) -> Option<u64> {
    (value >= 0.0 && value < (1u64 << 53) as f64 && value.fract() == 0.0).then_some(value as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace() -> Trace {
        let share = |base, weight, memo: &[f64]| Share { base, epoch: 3, weight, memo: Memo::from(memo) };
        Trace {
            ensemble: 0xfedc_ba98_7654_3210,
            copy: 0,
            digest: 0,
            propensity: Propensity::NotAsked,
            likelihoods: vec![],
            whole: vec![],
            era: 2,
            round: 0,
            base: 1,
            epoch: 5,
            probability: 0.25,
            shares: vec![share(0, 1.5, &[0.5]), share(2, 0.0, &[]), share(3, 2.0, &[1.0; 9])],
            benched: vec![],
            weight: 4.0,
            forced: false,
        }
    }

    #[test]
    fn a_packed_trace_is_read_back() {
        let (trace, memo) = (trace(), Memo::from(&[0.125, -7.0][..]));
        let mut packed = Memo::one(3.0);
        trace.pack(&memo, &mut packed);
        assert!(packed.numbers().iter().all(|v| v.is_finite()));
        let (mut read, mut own) = (Trace::default(), Memo::one(1.0));
        assert_eq!(read.unpack(&packed, &mut own), Some(()));
        assert_eq!((read, own), (trace, memo));
    }

    #[test]
    fn a_cut_memo_is_none() {
        let mut packed = Memo::empty();
        trace().pack(&Memo::empty(), &mut packed);
        for cut in 0..packed.numbers().len() {
            let memo = Memo::from(&packed.numbers()[..cut]);
            assert_eq!(Trace::default().unpack(&memo, &mut Memo::empty()), None, "cut to {cut}");
        }
    }

    #[test]
    fn what_cannot_be_a_trace_is_refused() {
        assert_eq!(trace().check(4), Ok(()));
        assert!(trace().check(3).is_err(), "share 3 of 3 bases");
        for bad in [f64::NAN, f64::INFINITY, -1.0] {
            assert!(Trace { weight: bad, ..trace() }.check(4).is_err());
            assert!(Trace { probability: bad, ..trace() }.check(4).is_err());
            let mut shared = trace();
            shared.shares[1].weight = bad;
            assert!(shared.check(4).is_err());
        }
        assert!(Trace { probability: 0.0, ..trace() }.check(4).is_err());
        assert!(Trace { base: 4, ..trace() }.check(4).is_err());
    }
}
