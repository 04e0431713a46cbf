//! What a caller may send, and what becomes of the rest.

use std::sync::Arc;

use corral_bases::band::{Assembler, Band, MasterRecipe, Recipe};
use corral_core::registry::Kind;
use corral_core::{Arm, Base, Context, EnsembleError, EnsembleParams, Setup};
use corral_log::Member;
use corral_serve::{FoldLearner, Front, FrontOptions, LearnerOptions, Model, ServeError, Step};

use crate::common::{Bench, Hands, Memory, reward};

/// A band of the caller's own, whose losses lie in [0, 1].
struct Plain;

impl Model<Arm> for Plain {
    fn band(&self) -> Result<Band<Arm>, ServeError> {
        let (setup, master) = (Setup::arms(2, None), MasterRecipe::default());
        let assembler = Assembler::new(&setup);
        let members = ["ucb1", "exp3"].map(|name| assembler.member(&master, &Recipe::from(name)).unwrap());
        let params = master.ensemble_params(Kind::Arms, &setup);
        let params = EnsembleParams { secret: 42_u64.try_into().ok(), copy: Some(0), ..params };
        Ok(assembler.ensemble(&master, members.into(), params).unwrap())
    }
    fn base(&self, _: &Member) -> Result<Box<dyn Base<Context, Arm>>, ServeError> {
        Err(ServeError::Asked("no base joins".into()))
    }
    fn describe(&self) -> String {
        "plain".into()
    }
}

/// A line with a loss that JSON cannot hold would end the segment for every learner.
#[test]
fn a_loss_that_cannot_be_is_refused_before_it_is_written() {
    let (store, clock) = (Arc::new(Memory::default()), Arc::new(Hands::default()));
    let mut learner =
        FoldLearner::open("x", Arc::new(Plain), store.clone(), LearnerOptions::default()).unwrap();
    let front = Front::open("x", Arc::new(Plain), store, clock, FrontOptions::default(), &learner).unwrap();
    let x = Context::plain(2);
    let made = [front.choose(&x, None).unwrap(), front.choose_default(0, &x, None).unwrap()];
    for chosen in &made {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.5, 1.5] {
            let refused = reward(&front, &chosen.token, bad);
            assert!(matches!(refused, Err(ServeError::Band(EnsembleError::Loss(_)))), "{bad}: {refused:?}");
        }
        assert_eq!(reward(&front, &chosen.token, 0.25), Ok(()));
    }
    while learner.step().unwrap() != Step::Idle {}
    let counts = learner.counts();
    assert_eq!((counts.learned, counts.default.count, counts.refused), (1, 1, 0));
}

#[test]
fn features_are_clipped_to_a_learned_range() {
    let text = "name = \"shop\"\nactions = 2\nfeatures = 2\nbases = [\"linucb\", \"greedy\"]";
    let mut bench = Bench::open(text, Arc::new(Memory::default())).unwrap();
    for features in [[0.5, -0.5], [1000.0, 0.5], [0.5, 0.5]] {
        let chosen = bench.choose(&features);
        bench.reward(&chosen.token, 1.0).unwrap();
        bench.learn();
    }
    assert_eq!(bench.front.metrics().clipped_features, 1);
}
