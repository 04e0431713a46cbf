//! A learner of ours, replayed over a log step by step.

use corral_bases::band::{Assembler, BaseRecipe};
use corral_core::{Arm, Base, Context, ContextShape, Feedback, Memo, Proposal, Setup, Space};
use corral_log::{Header, Motion, Row, Target};

/// A base that learns from the rows of a log and is valued by what it would have done next: its probabilities in a row
/// follow from the rows before alone, so that they are those of a policy that could have been run.
pub struct Replayed {
    name: String,
    recipe: String,
    /// How many actions the log names; 0 where it names none.
    named: usize,
    base: Option<Box<dyn Base<Context, Arm>>>,
    /// What was seen in the present row.
    x: Context,
    failed: bool,
}

impl Replayed {
    /// The base of this name, new.
    ///
    /// # Errors
    /// There is none, or it cannot learn from what others did.
    pub fn new(title: &str, name: &str) -> Result<Self, String> {
        // Whether it exists, and can learn from others, is known without the log: built for two actions.
        let built = build(name, 2, 0, 0).or_else(|_| build(name, 2, 1, 0)).or_else(|_| build(name, 2, 1, 1));
        if !built.map_err(|why| format!("{title}: {why}"))?.abilities().learns_from_others {
            return Err(format!(
                "{title}: {name} learns from its own decisions alone, and those of the log are another's"
            ));
        }
        let (name, recipe) = (title.to_owned(), name.to_owned());
        Ok(Self { name, recipe, named: 0, base: None, x: Context::default(), failed: false })
    }

    /// The base, built for what the first row looks like, what was seen in this one, and the place of the played action among the
    /// offered ones.
    fn base(&mut self, row: &Row) -> Option<(&mut dyn Base<Context, Arm>, &Context, Arm)> {
        let place = Arm(row.offered.position(row.action)? as u32);
        if self.failed || !row.seen(&mut self.x) {
            return None;
        }
        if self.base.is_none() {
            // Where actions are offered by number, there may be more of them than this row shows.
            let actions = if self.named > 0 { self.named } else { row.offered.len() };
            match build(&self.recipe, actions, self.x.features().len(), self.x.row_dim()) {
                Ok(base) => self.base = Some(base),
                Err(_) => self.failed = true,
            }
        }
        Some((self.base.as_deref_mut()?, &self.x, place))
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

impl Target for Replayed {
    fn name(&self) -> &str {
        &self.name
    }

    fn motion(&self) -> Motion {
        Motion::Moves
    }

    fn meet(&mut self, header: &Header) -> Result<(), String> {
        self.named = header.actions.len();
        Ok(())
    }

    fn probability(&mut self, row: &Row) -> Option<f64> {
        let (base, x, played) = self.base(row)?;
        base.likelihood(x, &played).map(|(p, _)| p)
    }

    fn distribution(&mut self, row: &Row, into: &mut Vec<f64>) -> bool {
        let from = into.len();
        let Some((base, x, _)) = self.base(row) else { return false };
        for place in 0..row.offered.len() as u32 {
            match base.likelihood(x, &Arm(place)) {
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
        let (Some(reward), Some((base, x, played))) = (row.reward, self.base(row)) else { return };
        let memo = match base.abilities().wants_memo {
            true => base.likelihood(x, &played).map_or_else(Memo::default, |(_, memo)| memo),
            false => Memo::default(),
        };
        let made = Proposal::with_memo(played, memo);
        if base.learn(x, &made, Feedback::plain(1.0 - reward)).is_err() {
            self.failed = true;
        }
    }
}
