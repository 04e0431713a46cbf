//! A learner of ours, replayed over a log step by step.

use corral_bases::band::{Assembler, BaseRecipe};
use corral_core::{Abilities, Arm, Base, Context, ContextShape, Feedback, Memo, Proposal, Setup, Space};
use corral_log::{Motion, Offered, Policy, Row};

/// A base that learns from the rows of a log and is valued by what it would have done next: its probabilities in a row
/// follow from the rows before alone, so that they are those of a policy that could have been run.
pub struct Learner {
    name: String,
    recipe: String,
    base: Option<Box<dyn Base<Context, Arm>>>,
    failed: bool,
}

impl Learner {
    /// The base of this name, new.
    ///
    /// # Errors
    /// There is none, or it cannot learn from what others did.
    pub fn new(title: &str, name: &str) -> Result<Self, String> {
        // Whether it exists, and can learn from others, is known without the log: built for two actions.
        for features in [0, 1] {
            if let Ok(base) = build(name, 2, features, 0) {
                return match base.abilities().learns_from_others {
                    true => Ok(Self {
                        name: title.to_owned(),
                        recipe: name.to_owned(),
                        base: None,
                        failed: false,
                    }),
                    false => Err(format!(
                        "{title}: {name} learns from its own decisions alone, and those of the log are another's"
                    )),
                };
            }
        }
        build(name, 2, 1, 1).map(|_| ()).map_err(|why| format!("{title}: {why}"))?;
        Ok(Self { name: title.to_owned(), recipe: name.to_owned(), base: None, failed: false })
    }

    fn context(row: &Row) -> Context {
        row.context.clone().unwrap_or_else(|| Context::plain(row.offered.len()))
    }

    /// The base, built for what the first row looks like.
    fn base(&mut self, row: &Row) -> Option<&mut Box<dyn Base<Context, Arm>>> {
        // Actions are counted from 0 within a context.
        if self.failed || !matches!(row.offered, Offered::First(_)) {
            return None;
        }
        if self.base.is_none() {
            let x = Self::context(row);
            match build(&self.recipe, row.offered.len(), x.features().len(), x.row_dim()) {
                Ok(base) => self.base = Some(base),
                Err(_) => self.failed = true,
            }
        }
        self.base.as_mut()
    }
}

fn build(
    name: &str,
    actions: usize,
    features: usize,
    row_features: usize,
) -> Result<Box<dyn Base<Context, Arm>>, String> {
    let setup = Setup {
        context: ContextShape { features, row_features, cells: None },
        ..Setup::new(Space::Arms(actions), None)
    };
    let recipe = BaseRecipe { name: name.to_owned(), ..BaseRecipe::default() };
    Assembler::new(&setup).base(&recipe).map_err(|e| e.to_string())
}

impl Policy for Learner {
    fn name(&self) -> &str {
        &self.name
    }

    fn motion(&self) -> Motion {
        Motion::Moves
    }

    fn probability(&mut self, row: &Row) -> Option<f64> {
        let action = Arm(row.action);
        self.base(row)?.likelihood(&Self::context(row), &action).map(|(p, _)| p)
    }

    fn distribution(&mut self, row: &Row, into: &mut Vec<f64>) -> bool {
        let (from, x) = (into.len(), Self::context(row));
        let Some(base) = self.base(row) else { return false };
        for action in 0..row.offered.len() as u32 {
            match base.likelihood(&x, &Arm(action)) {
                Some((p, _)) => into.push(p),
                None => {
                    into.truncate(from);
                    return false;
                }
            }
        }
        true
    }

    fn learn(&mut self, row: &Row) {
        let (Some(reward), x) = (row.reward, Self::context(row)) else { return };
        let Some(base) = self.base(row) else { return };
        let action = Arm(row.action);
        let Abilities { wants_memo, .. } = base.abilities();
        let memo = match wants_memo {
            true => base.likelihood(&x, &action).map_or_else(Memo::default, |(_, memo)| memo),
            false => Memo::default(),
        };
        let made = Proposal::with_memo(action, memo);
        if base.learn(&x, &made, Feedback::plain(1.0 - reward)).is_err() {
            self.failed = true;
        }
    }
}
