//! Contextual bandits: the paper's example, in its stochastic, hybrid and adversarial kinds.

mod advice;
mod contrary;
mod linear;
mod reference;
mod representations;
mod sequence;
mod sphere;
mod tabular;
mod tree;

pub use advice::{Advice, AdviceParams};
pub use contrary::{Contrary, ContraryParams, Order};
pub use linear::{LinearParams, LinearWorld};
pub use reference::{ReferenceParams, Variant, reference_class};
pub use representations::{Representations, RepresentationsParams};
pub use sequence::{Contexts, Features, Sequence};
pub use sphere::{Sphere, SphereParams};
pub use tabular::{PlantedParams, Tabular, TabularLosses};
pub use tree::{TreeParams, TreeWorld};

crate::world::rows! {
    "planted": PlantedParams,
    "hybrid": PlantedParams = "contexts = 5\narms = 4\npolicies = 20\nweights = [1, 2, 3, 0, 1]\none_hot = true",
    "reference-contextual": ReferenceParams,
    "planted-tree": TreeParams = "depth = 8\npolicies = 5",
    "linear": LinearParams = "fewest = 4",
    "sphere": SphereParams = "theta = [0.0, 1.0, 2.0]\narms = 4",
    "representations": RepresentationsParams,
    "expert-advice": AdviceParams,
    "contrary": ContraryParams = "contexts = 3\nwindow = 5\norder = \"uniform\"",
}
