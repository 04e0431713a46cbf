//! The pair of environments of the hardness theorem. Its two bases are `hardness-first` and `hardness-second`.

use crate::arms::deterministic;
use crate::prelude::*;

params! {
    /// Parameters of the hardness environment.
    pub struct HardnessParams {
        /// Which of the two.
        which: Which = Which::Random;
    }

    /// Which of the two environments.
    pub enum Which {
        /// E_1: arms 0 and 1 are the better ones.
        First,
        /// E_2: arms 2 and 3 are.
        Second,
        /// One of the two, with equal probability.
        #[default]
        Random,
    }
}

impl Builds for HardnessParams {
    fn build(self, ask: Ask<'_>) -> Result<AnyEnvironment, EnvError> {
        let (losses, which) = self.draw(ask.rng);
        ask.game(deterministic(losses.to_vec()).with_fact("environment", f64::from(which)))
    }
}

impl HardnessParams {
    /// The losses of the four arms, which never change: in E_1 those of a_1 and a_2 are 0.1 and 0.2 in random order,
    /// those of a_3 and a_4 are 0.3 and 0.4 in random order; in E_2 the halves are exchanged. The second number tells
    /// which of the two it is, 1 or 2.
    pub fn draw(&self, rng: &mut dyn Rng) -> ([f64; 4], u8) {
        let draw = Draw::new(rng);
        let coin = |index: u64| draw.uniform(index) < 0.5;
        let order = |low: [f64; 2], swap: bool| if swap { [low[1], low[0]] } else { low };
        let second = match self.which {
            Which::First => false,
            Which::Second => true,
            Which::Random => coin(2),
        };
        let (good, bad) = (order([0.1, 0.2], coin(0)), order([0.3, 0.4], coin(1)));
        let [left, right] = if second { [bad, good] } else { [good, bad] };
        ([left[0], left[1], right[0], right[1]], 1 + u8::from(second))
    }
}

crate::world::rows! { "hardness": HardnessParams }

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    /// All eight worlds of the proof occur, each about as often: 5 standard errors around 100 of 800.
    #[test]
    fn the_worlds_are_those_of_the_proof() {
        let mut rng = rand_pcg::Pcg64Dxsm::seed_from_u64(1);
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..800 {
            let (losses, which) = HardnessParams::default().draw(&mut rng);
            let mut sorted = losses;
            sorted.sort_by(f64::total_cmp);
            assert_eq!(sorted, [0.1, 0.2, 0.3, 0.4]);
            assert_eq!(losses[0] < 0.25 && losses[1] < 0.25, which == 1);
            *seen.entry(losses.map(|l| (10.0 * l) as u32)).or_insert(0) += 1;
        }
        assert_eq!(seen.len(), 8);
        assert!(seen.values().all(|n| (53..=147).contains(n)), "{seen:?}");
        for (which, number) in [(Which::First, 1), (Which::Second, 2)] {
            assert!((0..20).all(|_| HardnessParams { which }.draw(&mut rng).1 == number));
        }
    }
}
