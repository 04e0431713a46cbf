//! What several benches measure with.

#![allow(dead_code)]

use corral_core::snapshot::{open, seal};
use corral_core::{Abilities, Arm, Base, BaseError, Feedback, Memo, Order, Proposal, Rng};

/// The floor of a step: one pass computing sum_i 1/(w_i - eta_i lambda), as fast as it can be written: four sums, which the
/// compiler turns into vector code.
pub fn floor(w: &[f64], rates: &[f64], lambda: f64) -> f64 {
    let mut sums = [0.0; 4];
    let (w, w_rest) = w.as_chunks::<4>();
    let (rates, rates_rest) = rates.as_chunks::<4>();
    for (w, e) in w.iter().zip(rates) {
        for j in 0..4 {
            sums[j] += 1.0 / (w[j] - e[j] * lambda);
        }
    }
    let rest: f64 = w_rest.iter().zip(rates_rest).map(|(w, e)| 1.0 / (w - e * lambda)).sum();
    (sums[0] + sums[2]) + (sums[1] + sums[3]) + rest
}

/// The cheapest base there is: always the same arm, one of four.
pub struct Cheap(u32);

impl Cheap {
    /// `count` of them.
    pub fn bases(count: usize) -> Vec<Box<dyn Base<(), Arm>>> {
        (0..count).map(|i| Box::new(Cheap(i as u32 % 4)) as Box<dyn Base<(), Arm>>).collect()
    }
}

impl Base<(), Arm> for Cheap {
    fn propose(&mut self, _x: &(), _rng: &mut dyn Rng) -> Result<Proposal<Arm>, BaseError> {
        Ok(Proposal::with_memo(Arm(self.0), Memo::one(1.0)))
    }
    fn learn(&mut self, _x: &(), _made: &Proposal<Arm>, _feedback: Feedback) -> Result<(), BaseError> {
        Ok(())
    }
    fn abilities(&self) -> Abilities {
        Abilities::OWN
    }
    fn likelihood(&self, _x: &(), arm: &Arm) -> Option<(f64, Memo)> {
        Some((f64::from(u8::from(arm.0 == self.0)), Memo::one(1.0)))
    }
    fn apply_order(&mut self, _: Order) -> Result<(), BaseError> {
        Ok(())
    }
    fn save(&self) -> Vec<u8> {
        seal("cheap", 1, &self.0)
    }
    fn load(&mut self, state: &[u8]) -> Result<(), BaseError> {
        self.0 = open("cheap", 1, state)?;
        Ok(())
    }
}
