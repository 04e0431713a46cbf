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
pub use linear::{LinearParams, LinearWorld, Link};
pub use reference::{ReferenceParams, Variant, reference_class};
pub use representations::{Representations, RepresentationsParams};
pub use sequence::{Contexts, Features, Sequence};
pub use sphere::{Sphere, SphereParams};
pub use tabular::{PlantedParams, Tabular, TabularLosses};
pub use tree::{TreeParams, TreeWorld};

use tabular::HYBRID;

crate::world::rows![
    PlantedParams,
    PlantedParams(HYBRID),
    ReferenceParams,
    TreeParams,
    LinearParams,
    SphereParams,
    RepresentationsParams,
    AdviceParams,
    ContraryParams,
];
