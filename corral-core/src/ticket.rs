//! A round in flight.

use serde::{Deserialize, Serialize};

use crate::{Memo, Proposal};

/// A round in flight: what to play, and everything that its loss needs to find its way back. A value, held by whoever
/// waits for the loss; not `Clone`, because a loss is learned once. Feedback may come late and out of order.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Ticket<D> {
    /// What to play.
    pub decision: D,
    pub(crate) memo: Memo,
    pub(crate) trace: Trace,
}

impl<D> Ticket<D> {
    pub(crate) fn new(made: Proposal<D>, trace: Trace) -> Self {
        Self { decision: made.decision, memo: made.memo, trace }
    }

    /// The round it was made in, counted from 0.
    pub fn round(&self) -> u64 {
        self.trace.round
    }

    /// The base i_t that proposed the decision.
    pub fn base(&self) -> usize {
        self.trace.base as usize
    }

    /// The probability pbar_{t,i_t} with which that base was drawn.
    pub fn probability(&self) -> f64 {
        self.trace.probability
    }

    /// The bases that failed and were benched while this ticket was made: another one stood in for them.
    pub fn benched(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.trace.benched.iter().map(|b| *b as usize)
    }
}

/// Where a loss has to go: fixed when the decision is made, whatever happens until the loss is known.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Trace {
    /// The ensemble that it belongs to.
    pub ensemble: u64,
    /// How often that ensemble's master had started over.
    pub era: u64,
    pub round: u64,
    pub base: u32,
    /// The instance of the base: it may be restarted before the loss arrives.
    pub epoch: u64,
    pub probability: f64,
    /// The other bases that the loss is credited or told to.
    #[serde(deserialize_with = "crate::snapshot::untrusted")]
    pub shares: Vec<Share>,
    pub benched: Vec<u32>,
    /// The weight of the chosen base.
    pub weight: f64,
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
    pub fn fits(&self, bases: usize) -> bool {
        let weight = |w: f64| (0.0..f64::INFINITY).contains(&w);
        (self.base as usize) < bases
            && self.probability > 0.0
            && self.probability <= 1.0 + 1e-9
            && weight(self.weight)
            && self.shares.iter().all(|s| (s.base as usize) < bases && weight(s.weight))
    }

    /// Whether the loss will be told to `base`.
    pub fn takes_part(&self, base: usize) -> bool {
        self.base as usize == base || self.shares.iter().any(|s| s.base as usize == base)
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
            era: 2,
            round: 0,
            base: 1,
            epoch: 5,
            probability: 0.25,
            shares: vec![share(0, 1.5, &[0.5]), share(2, 0.0, &[]), share(3, 2.0, &[1.0; 9])],
            benched: vec![],
            weight: 4.0,
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
    fn what_cannot_be_a_trace_does_not_fit() {
        assert!(trace().fits(4));
        assert!(!trace().fits(3), "share 3 of 3 bases");
        for bad in [f64::NAN, f64::INFINITY, -1.0] {
            assert!(!Trace { weight: bad, ..trace() }.fits(4));
            assert!(!Trace { probability: bad, ..trace() }.fits(4));
            let mut shared = trace();
            shared.shares[1].weight = bad;
            assert!(!shared.fits(4));
        }
        assert!(!Trace { probability: 0.0, ..trace() }.fits(4));
        assert!(!Trace { base: 4, ..trace() }.fits(4));
    }
}
