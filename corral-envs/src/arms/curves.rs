//! Arms that are learners: an arm's loss is its learning curve at the number of times it was played.

use std::collections::BTreeMap;

use corral_core::registry::Unknown;

use super::{Moving, Noise, Past};
use crate::data::{File, Row, Rows, at, resolve};
use crate::prelude::*;

params! {
    /// Parameters of arms that are learners: arm i costs curve_i(n) in its play after n others. The best in hindsight is the
    /// learner that is best had it been followed in every round.
    pub struct LearningCurvesParams {
        /// A CSV with the columns set, learner, size and loss, here or in the folder that `CORRAL_DATA` names.
        file: String;
        /// Which set of curves; the only one where it is not given.
        set: Option<String> = None;
        /// How losses follow their means.
        noise: Noise = Noise::Bernoulli;
    }
}

impl Builds for LearningCurvesParams {
    fn build(self, ask: Ask<'_>) -> Result<AnyEnvironment, EnvError> {
        let noise = self.noise;
        let curves = Arc::new(self.read()?);
        let (arms, all) = (curves.len(), Arc::clone(&curves));
        let alone = move |rounds: u64| {
            let alone = |curve: &Curve| (0..rounds).map(|plays| curve.at(plays)).sum();
            all.iter().map(alone).reduce(f64::min)
        };
        let path = move |past: &Past<'_>, means: &mut [f64]| {
            for ((mean, curve), plays) in means.iter_mut().zip(curves.iter()).zip(past.plays) {
                *mean = curve.at(*plays);
            }
        };
        ask.game(Moving::new(arms, noise, path).alone(alone))
    }
}

impl LearningCurvesParams {
    /// Reads the curves of one set; learners are numbered in the order of their names.
    fn read(self) -> Result<Vec<Curve>, EnvError> {
        let file = File::csv(resolve(&self.file));
        let (path, mut rows, mut row) = (&file.path, Rows::open(&file)?, Row::default());
        let columns = [rows.find("set")?, rows.find("learner")?, rows.find("size")?, rows.find("loss")?];
        let mut sets: BTreeMap<String, BTreeMap<String, BTreeMap<u64, f64>>> = BTreeMap::new();
        while rows.next(&mut row)? {
            let refuse = |why: String| at(path, Some(row.line), why);
            let text =
                |column| std::str::from_utf8(&row.cells[column]).map_err(|_| refuse("not UTF-8".to_owned()));
            let [set, learner, size, loss] = columns.map(text);
            let (set, learner, size, loss) = (set?, learner?, size?, loss?);
            let number = |text: &str| text.trim().parse::<f64>().unwrap_or(f64::NAN);
            let (anchor, value) = (number(size), number(loss));
            if !(1.0..=1e15).contains(&anchor) {
                return Err(refuse(format!("a size is at least 1, but this is {size:?}")));
            }
            if !(0.0..=1.0).contains(&value) {
                return Err(refuse(format!("a loss is in [0, 1], but this is {loss:?}")));
            }
            let curve = sets.entry(set.to_owned()).or_default().entry(learner.to_owned()).or_default();
            if curve.insert(anchor as u64, value).is_some() {
                return Err(refuse(format!("{learner:?} has the size {size} twice in the set {set:?}")));
            }
        }
        let known = || sets.keys().map(String::as_str);
        let learners = match &self.set {
            Some(name) => sets
                .get(name)
                .ok_or_else(|| at(path, None, Unknown::new("set", name, known()).to_string()))?,
            None if sets.len() == 1 => {
                sets.values().next().ok_or_else(|| at(path, None, "the file is empty"))?
            }
            None => {
                let why = format!(
                    "{} sets of curves; `set` says which: {}",
                    sets.len(),
                    known().take(5).collect::<Vec<_>>().join(", ")
                );
                return Err(at(path, None, why));
            }
        };
        let curve = |anchors: &BTreeMap<u64, f64>| {
            Curve(anchors.iter().map(|(size, loss)| (libm::log(*size as f64), *loss)).collect())
        };
        Ok(learners.values().map(curve).collect())
    }
}

/// A learning curve: losses at the logarithms of sizes.
#[derive(Debug, Clone)]
struct Curve(Vec<(f64, f64)>);

impl Curve {
    /// The loss after `plays` plays: linear in the logarithm of the size, and constant before the first and after the
    /// last that was measured.
    fn at(&self, plays: u64) -> f64 {
        let x = libm::log(plays as f64);
        let after = self.0.partition_point(|(size, _)| *size <= x);
        match (after.checked_sub(1).map(|i| self.0[i]), self.0.get(after).copied()) {
            (Some((from, low)), Some((to, high))) => low + (high - low) * (x - from) / (to - from),
            (Some((_, loss)), None) | (None, Some((_, loss))) => loss,
            (None, None) => f64::NAN,
        }
    }
}
