//! Drawing in a time that does not depend on how many there are.

use rand_core::Rng;

use super::FlatBarrier;
use super::moments::LANES;
use crate::uniform;

/// Tries of a rejection, of which each succeeds with probability 1/8 at least: all of them fail in 1 of 10^58 draws.
const TRIES: usize = 1_000;

impl FlatBarrier {
    /// Draws from (1 - gamma) p + gamma/n, n being how many are left: with probability gamma anybody; else a cluster by its
    /// mass, and a member of it by rejection.
    pub(crate) fn sample(&self, gamma: f64, rng: &mut dyn Rng) -> usize {
        let u = uniform(rng);
        if u < gamma {
            return self.anybody(u / gamma);
        }
        let charges = &self.charges;
        let total: f64 = charges.octets.iter().flat_map(|o| &o.mass).sum();
        let mut left = (u - gamma) / (1.0 - gamma) * total;
        let mut cluster = 0;
        for (c, mass) in charges.octets.iter().flat_map(|o| &o.mass).enumerate() {
            if *mass > 0.0 {
                cluster = c;
                left -= mass;
                if left < 0.0 {
                    break;
                }
            }
        }
        let (octet, j) = (&charges.octets[cluster / LANES], cluster % LANES);
        let members = &charges.clusters[cluster].members;
        // p_i/p_max = (m_i/m_max) (D - r)/d_i
        let bound = charges.clusters[cluster].heaviest / (octet.distance[j] - octet.radius[j]);
        let mut drawn = 0;
        for _ in 0..TRIES {
            let wide = u128::from(rng.next_u64()) * members.len() as u128;
            drawn = members[(wide >> 64) as usize] as usize;
            let fraction = (wide as u64 >> 11) as f64 * (1.0 / (1u64 << 53) as f64);
            let charge = &charges.all[drawn];
            if fraction * bound * (charge.rate * (octet.distance[j] + charge.offset)) < 1.0 {
                break;
            }
        }
        drawn
    }

    /// The member at the fraction `u` of all that are there.
    fn anybody(&self, u: f64) -> usize {
        let mut at = ((u * self.active as f64) as usize).min(self.active - 1);
        for cluster in &self.charges.clusters {
            match cluster.members.get(at) {
                Some(i) => return *i as usize,
                None => at -= cluster.members.len(),
            }
        }
        0
    }
}
