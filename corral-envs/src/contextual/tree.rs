//! Contexts uniform in a cube, and a planted decision tree of a given depth.

use corral_core::memory::Budget;
use corral_core::policy::{Node, Tree};

use crate::prelude::*;

params! {
    /// Parameters of [`TreeWorld`].
    pub struct TreeParams {
        /// The depth of the planted tree that separates classes of different depth.
        depth: usize = 3, Bounds::between(0.0, 20.0);
        /// The number of features.
        features: usize = 10, Bounds::between(1.0, 65_536.0);
        /// The number of actions.
        arms: usize = 3, Bounds::between(2.0, 65_536.0);
        /// How much better the planted action is.
        gap: f64 = 0.3, Bounds::between(0.0, 0.5);
        /// The levels at which the tree decides; its depth is always one. At the first of them every node takes a uniform
        /// action; at a later one every node departs from its ancestor's action with probability `change`, else hands it
        /// on. So the best tree that ends at a rung is right more often than one that ends above it.
        rungs: Vec<usize> = vec![3, 8, 15];
        /// The probability that a node of a later rung departs.
        change: f64 = 0.3, Bounds::UNIT;
        /// The number of trees of the class that is offered to bases, the planted one last; 0: none is.
        policies: usize = 0, Bounds::between(0.0, 65_536.0);
    }
}

impl Builds for TreeParams {
    fn build(self, ask: Ask<'_>) -> Result<AnyEnvironment, EnvError> {
        let world = self.draw(ask.rng, &ask.budget)?;
        ask.game(world)
    }
}

impl TreeParams {
    /// Draws the tree.
    ///
    /// # Errors
    /// The trees take more memory than is allowed.
    pub fn draw(self, rng: &mut dyn Rng, budget: &Budget) -> Result<TreeWorld, ParamError> {
        let nodes = (2 * self.policies.max(1) as u128) << self.depth;
        budget.claim("policies", self.policies, nodes * 3)?;
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
        Ok(TreeWorld {
            planted,
            class: (self.policies > 0).then(|| class.into()),
            cube: Arc::new(cube),
            gap: self.gap,
        })
    }

    /// A tree whose splits halve the box that they split, in a random feature, so that every node of a level is met
    /// equally often. The two leftmost leaves differ, so that it has its depth; splits with equal sides go.
    fn tree(&self, stream: &mut Stream) -> Result<Tree, ParamError> {
        let mut nodes = Vec::with_capacity(2 << self.depth);
        let mut sides = vec![(0.0, 1.0); self.features];
        self.grow(0, None, &mut sides, stream, &mut nodes);
        Tree::from_nodes(&nodes)
    }

    fn grow(
        &self,
        level: usize,
        mut action: Option<usize>,
        sides: &mut [(f64, f64)],
        stream: &mut Stream,
        nodes: &mut Vec<Node>,
    ) {
        let leaf = level == self.depth;
        if leaf || self.rungs.contains(&level) {
            let (fresh, other) = (stream.index(self.arms), 1 + stream.index(self.arms - 1));
            let departs = stream.uniform() < self.change;
            action = Some(match action {
                None => fresh,
                Some(kept) if departs => (kept + other) % self.arms,
                Some(kept) => kept,
            });
        }
        if leaf {
            let mut action = action.unwrap_or(0);
            // After the splits of the leftmost path and one leaf comes its sibling.
            if nodes.len() == self.depth + 1
                && let Some(Node::Leaf(first)) = nodes.last()
                && usize::from(*first) == action
            {
                action = (action + 1) % self.arms;
            }
            nodes.push(Node::Leaf(action as u16));
            return;
        }
        let feature = stream.index(self.features);
        let (low, high) = sides[feature];
        let middle = 0.5 * (low + high);
        nodes.push(Node::Split(feature as u32, middle));
        for side in [(low, middle), (middle, high)] {
            sides[feature] = side;
            self.grow(level + 1, action, sides, stream, nodes);
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
}

impl TreeWorld {
    /// The planted tree.
    pub fn planted(&self) -> &Tree {
        &self.planted
    }
}

impl Game for TreeWorld {
    fn setup(&self) -> Setup {
        Setup {
            context: ContextShape { features: self.cube.features, row_features: 0, cells: None },
            policies: self.class.clone(),
            sampler: Some(Arc::clone(&self.cube) as Arc<dyn ContextSampler>),
            ..Setup::arms(self.cube.arms, None)
        }
    }

    fn next(&mut self, round: Round<'_>) -> Result<(), EnvError> {
        self.cube.write(&mut round.draw.stream(0), round.context);
        round.means.fill(0.5);
        round.means[self.planted.act(round.context.features()).unwrap_or(0)] -= self.gap;
        Ok(())
    }

    fn best(&self, rounds: u64, _least: f64) -> f64 {
        // The planted tree is the best policy of all.
        rounds as f64 * (0.5 - self.gap)
    }
}
