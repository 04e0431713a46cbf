//! Contexts uniform in a cube, and a planted decision tree of a given depth.

use std::sync::Arc;

use corral_core::policy::{Node, Tree};
use corral_core::{
    Arm, Context, ContextSampler, ContextShape, Feedback, ParamError, Policy, Rng, Setup, Space,
};
use serde::Deserialize;

use crate::registry::{Row, entry, field};
use crate::{Draw, EnvError, Environment, Stream};

/// Parameters of [`TreeWorld`].
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TreeParams {
    /// The depth of the planted tree: 3, 8 and 15 make the ladder that separates classes of different depth.
    #[serde(default = "three")]
    pub depth: usize,
    /// The number of features.
    #[serde(default = "ten")]
    pub features: usize,
    /// The number of actions.
    #[serde(default = "three")]
    pub arms: usize,
    /// How much better the planted action is.
    #[serde(default = "gap")]
    pub gap: f64,
    /// The probability that a node above the leaves' parents hands its action on to a child: with much of it a
    /// shallower tree is nearly as good, with none the actions of the leaves are unrelated.
    #[serde(default = "inherit")]
    pub inherit: f64,
    /// The number of trees of the class that is offered to bases, the planted one last; 0: none is.
    #[serde(default)]
    pub policies: usize,
}

fn three() -> usize {
    3
}

fn ten() -> usize {
    10
}

fn gap() -> f64 {
    0.3
}

fn inherit() -> f64 {
    0.8
}

impl TreeParams {
    /// Draws the tree, and builds the world for a run of `rounds` rounds.
    ///
    /// # Errors
    /// The depth is beyond 20, there are no features or fewer than two actions, the gap is outside [0, 1/2], or the
    /// probability is none.
    pub fn draw(self, rounds: u64, rng: &mut dyn Rng) -> Result<TreeWorld, ParamError> {
        let size = |name, size: usize, from: usize, most: usize, must| {
            if (from..=most).contains(&size) { Ok(()) } else { Err(ParamError::new(name, size, must)) }
        };
        size("depth", self.depth, 0, 20, "at most 20")?;
        size("features", self.features, 1, 1 << 16, "in 1..=2^16")?;
        size("arms", self.arms, 2, 1 << 16, "in 2..=2^16")?;
        size("policies", self.policies, 0, 1 << 16, "at most 2^16")?;
        if self.policies.max(1) << self.depth > 1 << 24 {
            return Err(ParamError::new("policies", self.policies, "fewer for trees of such a depth"));
        }
        if !(0.0..=0.5).contains(&self.gap) {
            return Err(ParamError::new("gap", self.gap, "in [0, 1/2]"));
        }
        ParamError::unit("inherit", self.inherit)?;
        let mut stream = Draw::new(rng).stream(0);
        let mut class = Vec::with_capacity(self.policies.max(1));
        for _ in 0..self.policies.max(1) {
            class.push(Policy::Tree(self.tree(&mut stream)?));
        }
        let planted = match class.last() {
            Some(Policy::Tree(tree)) => tree.clone(),
            _ => Tree::leaf(0),
        };
        let cube = Cube { features: self.features, arms: self.arms };
        let context = Context::shared(vec![0.0; self.features], self.arms);
        Ok(TreeWorld {
            planted,
            class: (self.policies > 0).then(|| class.into()),
            cube: Arc::new(cube),
            gap: self.gap,
            horizon: rounds,
            context,
            best: 0,
            draw: Draw::none(),
            rounds: 0,
        })
    }

    /// A full tree whose splits halve the box that they split, in a random feature: every leaf is met with
    /// probability 2^-depth. Siblings that are leaves differ, so that the tree has its full depth.
    fn tree(&self, stream: &mut Stream) -> Result<Tree, ParamError> {
        let mut nodes = Vec::with_capacity(2 << self.depth);
        let mut sides = vec![(0.0, 1.0); self.features];
        let action = stream.index(self.arms);
        self.grow(self.depth, action, &mut sides, stream, &mut nodes);
        Tree::from_nodes(&nodes)
    }

    fn grow(
        &self,
        depth: usize,
        action: usize,
        sides: &mut [(f64, f64)],
        stream: &mut Stream,
        nodes: &mut Vec<Node>,
    ) {
        if depth == 0 {
            nodes.push(Node::Leaf(action as u16));
            return;
        }
        let feature = stream.index(self.features);
        let (low, high) = sides[feature];
        let middle = 0.5 * (low + high);
        nodes.push(Node::Split(feature as u32, middle));
        let another = |stream: &mut Stream| (action + 1 + stream.index(self.arms - 1)) % self.arms;
        // The parents of leaves hand their action to one child and another to the other.
        let children = if depth == 1 {
            let (swap, other) = (stream.index(2) == 1, another(stream));
            if swap { [other, action] } else { [action, other] }
        } else {
            let mut child = || {
                let (keep, other) = (stream.uniform() < self.inherit, another(stream));
                if keep { action } else { other }
            };
            [child(), child()]
        };
        for (child, side) in children.into_iter().zip([(low, middle), (middle, high)]) {
            sides[feature] = side;
            self.grow(depth - 1, child, sides, stream, nodes);
        }
        sides[feature] = (low, high);
    }
}

/// Contexts uniform in [0, 1)^d.
#[derive(Debug)]
struct Cube {
    features: usize,
    arms: usize,
}

impl Cube {
    fn write(&self, stream: &mut Stream, context: &mut Context) {
        let features = context.features_mut();
        features.clear();
        features.extend((0..self.features).map(|_| stream.uniform()));
    }
}

impl ContextSampler for Cube {
    fn sample(&self, rng: &mut dyn Rng) -> Context {
        let mut context = Context::plain(self.arms);
        self.write(&mut Draw::new(rng).stream(0), &mut context);
        context
    }
}

/// Uniform contexts and a planted tree: P(loss = 1) is 1/2 - gap for the tree's action, else 1/2.
#[derive(Debug, Clone)]
pub struct TreeWorld {
    planted: Tree,
    class: Option<Arc<[Policy]>>,
    cube: Arc<Cube>,
    gap: f64,
    horizon: u64,
    context: Context,
    // The planted action of this round.
    best: usize,
    draw: Draw,
    rounds: u64,
}

impl TreeWorld {
    /// The planted tree.
    pub fn planted(&self) -> &Tree {
        &self.planted
    }
}

impl Environment<Context, Arm> for TreeWorld {
    fn setup(&self) -> Setup {
        Setup {
            context: ContextShape { features: self.cube.features, row_features: 0, cells: None },
            policies: self.class.clone(),
            sampler: Some(Arc::clone(&self.cube) as Arc<dyn ContextSampler>),
            ..Setup::new(Space::Arms(self.cube.arms), Some(self.horizon))
        }
    }

    fn next(&mut self, rng: &mut dyn Rng) -> Result<(), EnvError> {
        self.draw = Draw::new(rng);
        self.cube.write(&mut self.draw.stream(0), &mut self.context);
        self.best = self.planted.act(self.context.features()).unwrap_or(0);
        self.rounds += 1;
        Ok(())
    }

    fn context(&self) -> &Context {
        &self.context
    }

    fn loss(&self, decision: &Arm) -> f64 {
        let mean = self.mean_loss(decision);
        if mean.is_nan() { mean } else { f64::from(self.draw.uniform(1 + u64::from(decision.0)) < mean) }
    }

    fn mean_loss(&self, decision: &Arm) -> f64 {
        match decision.index() {
            a if a >= self.cube.arms => f64::NAN,
            a if a == self.best => 0.5 - self.gap,
            _ => 0.5,
        }
    }

    fn play(&mut self, decision: &Arm) -> Result<Feedback, EnvError> {
        EnvError::check_arm(*decision, self.cube.arms)?;
        Ok(Feedback::plain(self.loss(decision)))
    }

    fn best_so_far(&self) -> f64 {
        // The planted tree is the best policy of all.
        self.rounds as f64 * (0.5 - self.gap)
    }
}

pub(super) const PLANTED_TREE: Row = Row {
    entry: entry(
        "planted-tree",
        "contextual",
        "contexts uniform in a cube; the action of a planted tree costs less by the gap",
        "the paper's contextual applications: classes of trees of different depth",
        "stochastic; offers its contexts' law, and a policy class where one is asked for",
        "O(d + depth)",
        &[
            field("depth", "3", "depth of the planted tree: 3, 8 and 15 make the ladder"),
            field("features", "10", "number of features"),
            field("arms", "3", "number of actions"),
            field("gap", "0.3", "how much better the planted action is"),
            field("inherit", "0.8", "probability that an inner node hands its action on to a child"),
            field("policies", "0", "trees of the class offered to bases, the planted one last; 0: none"),
        ],
    ),
    example: "depth = 8\npolicies = 5",
    build: |request, rng| {
        let params: TreeParams = request.read()?;
        request.arms(params.draw(request.rounds, rng))
    },
};
