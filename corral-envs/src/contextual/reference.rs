//! The contextual instance of the reference figures: 8 contexts, 3 actions, 64 policies, gap 0.3.

use super::tabular::Cells;
use super::{Tabular, TabularLosses};
use crate::prelude::*;

/// One policy per word: digit s is the action in context s.
const TABLE: &str = "\
    10011001 01021202 12002012 20112021 11121100 10012102 21110010 20011200 \
    12210212 10112002 21022200 11100112 01220110 00201010 02012011 02000012 \
    01021200 22201222 20211202 02111211 02010110 11121002 10012110 10101111 \
    02100210 22201111 20020102 02201000 12100012 00222212 02000012 21102220 \
    22100002 11022121 21200220 12020100 20212000 02202111 01212210 12200020 \
    10220112 12011011 22020202 20202012 10222012 11110121 00221000 22011121 \
    10120002 11100021 22010122 02222012 00111022 20200212 20212020 10222122 \
    10112202 00022000 12120111 11220102 21120010 11000220 20200010 22022100";

/// The 64 policies of the reference instance; policy 0 is planted (hybrid: 0, then 1).
pub fn reference_class() -> Arc<[Policy]> {
    let policy = |word: &str| Policy::Table(word.bytes().map(|b| u16::from(b - b'0')).collect());
    TABLE.split_whitespace().map(policy).collect()
}

params! {
    /// Parameters of the reference instance.
    pub struct ReferenceParams {
        /// Whether the planted policy changes at T/3.
        variant: Variant = Variant::Stochastic;
    }

    /// Which of the two instances.
    pub enum Variant {
        /// The same policy is planted throughout, and losses are drawn.
        #[default]
        Stochastic,
        /// The planted policy changes at T/3, and losses are their means.
        Hybrid,
    }
}

impl Builds for ReferenceParams {
    fn build(self, ask: Ask<'_>) -> Result<AnyEnvironment, EnvError> {
        let (losses, planted) = match self.variant {
            Variant::Stochastic => (TabularLosses::Stochastic, [0, 0]),
            Variant::Hybrid => (TabularLosses::Hybrid, [0, 1]),
        };
        let cells = Cells::new(8, 3, Vec::new(), false)?;
        ask.game(Tabular::new(cells, reference_class(), planted, 0.3, losses, ask.rounds)?)
    }
}
