//! Contexts that carry several representations of the actions, of which one makes the loss linear.

use super::sequence::{HALF, unit_vector};
use crate::prelude::*;

params! {
    /// Parameters of [`Representations`].
    pub struct RepresentationsParams {
        /// How many representations there are.
        maps: usize = 3, Bounds::between(1.0, 4_096.0);
        /// The one that fits, from 0; the last where it is not given.
        fitting: Option<usize> = None;
        /// The dimension of v; each representation has one number more.
        dim: usize = 5, Bounds::between(1.0, 4_096.0);
        /// The number of actions.
        arms: usize = 5, Bounds::between(1.0, 4_096.0);
    }
}

impl Builds for RepresentationsParams {
    fn build(self, ask: Ask<'_>) -> Result<AnyEnvironment, EnvError> {
        let fitting = self.fitting.unwrap_or(self.maps - 1);
        require(fitting < self.maps, "fitting", fitting, "one of the maps")?;
        ask.budget.claim(
            "maps",
            self.maps,
            (self.maps as u128) * (self.dim as u128 + 1) * (self.arms as u128),
        )?;
        let w = unit_vector(self.dim, &mut Draw::new(ask.rng).stream(0));
        let theta = std::iter::once(HALF).chain(w.into_iter().map(|w| HALF * w)).collect();
        let maps = Maps { maps: self.maps, fitting, dim: self.dim, arms: self.arms };
        let facts = [("fitting representation", maps.fitting as f64)];
        ask.game(Representations { maps: Arc::new(maps), theta, facts })
    }
}

/// The law of the contexts. An action has a hidden vector v, normal with variance 1/d and cut to the unit ball. Its row
/// holds the maps one after the other, each (1, u)/sqrt(2): the fitting one has u = v; map j has
/// u_i = cos(pi (j + 1) v_i), less what the loss needs: the sign.
#[derive(Debug)]
struct Maps {
    maps: usize,
    fitting: usize,
    dim: usize,
    arms: usize,
}

impl Maps {
    fn width(&self) -> usize {
        self.maps * (self.dim + 1)
    }

    fn write(&self, stream: &mut Stream, context: &mut Context) {
        let (width, spread) = (self.width(), 1.0 / libm::sqrt(self.dim as f64));
        context.refill_rows(width, |rows| {
            rows.resize(self.arms * width, 0.0);
            for row in rows.chunks_exact_mut(width) {
                // The hidden vector is drawn into the place of the fitting map, and read from there.
                let fitting = self.fitting * (self.dim + 1) + 1;
                let mut square = 0.0;
                for v in &mut row[fitting..fitting + self.dim] {
                    *v = spread * stream.normal();
                    square += *v * *v;
                }
                let cut = if square > 1.0 { 1.0 / libm::sqrt(square) } else { 1.0 };
                row[fitting..fitting + self.dim].iter_mut().for_each(|v| *v *= cut);
                for map in 0..self.maps {
                    let start = map * (self.dim + 1);
                    row[start] = HALF;
                    if map != self.fitting {
                        for i in 0..self.dim {
                            let angle = std::f64::consts::PI * (map + 1) as f64 * row[fitting + i];
                            row[start + 1 + i] = HALF * spread * libm::cos(angle);
                        }
                    }
                }
                row[fitting..fitting + self.dim].iter_mut().for_each(|v| *v *= HALF);
            }
        });
    }
}

impl ContextSampler for Maps {
    fn sample(&self, rng: &mut dyn Rng) -> Context {
        let mut context = Context::plain(self.arms);
        self.write(&mut Draw::new(rng).stream(0), &mut context);
        context
    }
}

/// P(loss of a = 1) = (1 + <w, v_a>)/2, where v_a is one of the representations that the row of a carries.
#[derive(Debug, Clone)]
pub struct Representations {
    maps: Arc<Maps>,
    theta: Vec<f64>,
    facts: [(&'static str, f64); 1],
}

impl Game for Representations {
    fn setup(&self) -> Setup {
        Setup {
            context: ContextShape { features: 0, row_features: self.maps.width(), cells: None },
            sampler: Some(Arc::clone(&self.maps) as Arc<dyn ContextSampler>),
            ..Setup::arms(self.maps.arms, None)
        }
    }

    fn next(&mut self, round: Round<'_>) -> Result<(), EnvError> {
        self.maps.write(&mut round.draw.stream(0), round.context);
        let start = self.maps.fitting * self.theta.len();
        round.means.clear();
        let rows = round.context.rows().chunks_exact(self.maps.width());
        round.means.extend(rows.map(|row| dot(&self.theta, &row[start..]).clamp(0.0, 1.0)));
        Ok(())
    }

    fn facts(&self) -> &[(&'static str, f64)] {
        &self.facts
    }
}
