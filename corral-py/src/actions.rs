//! Which actions a band has, and which it offers.

use std::sync::Arc;

/// The actions of a band: what their names are, and which are offered.
#[derive(Clone)]
pub struct Actions {
    /// By number; empty where actions are numbered.
    pub names: Arc<[Arc<str>]>,
    /// The numbers of those that are offered; empty: all.
    pub offer: Arc<[u32]>,
}

impl Actions {
    /// The numbers of the actions that can be offered; empty where they are numbered.
    pub fn live(&self) -> Vec<u32> {
        if self.offer.is_empty() { (0..self.names.len() as u32).collect() } else { self.offer.to_vec() }
    }
}
