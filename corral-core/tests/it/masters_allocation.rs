//! No master allocates in a round.
#![allow(missing_docs)]

use corral_core::masters::{self, CorralProgram, CorralSpec, MasterSetup};
use corral_core::{Credit, Master, draw_base};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;
use serde::de::value::{Error, MapDeserializer};

fn allocations(master: &mut dyn Master) -> u64 {
    let mut rng = Pcg64Dxsm::seed_from_u64(1);
    let mut weights = vec![0.0; master.probabilities().len()];
    let before = crate::counting::calls();
    for t in 0..2_000u64 {
        let base = draw_base(&mut *master, &mut rng).0;
        let weight = 1.0 / master.probabilities()[base];
        let loss = (t % 7) as f64 / 7.0;
        let step = if t % 3 == 0 {
            weights.fill(0.0);
            weights[base] = weight;
            master.update(loss, Credit::Shared(&weights)).map(<[_]>::len)
        } else {
            master.update(loss, Credit::Chosen { base, weight }).map(<[_]>::len)
        };
        assert!(step.is_ok());
    }
    crate::counting::calls() - before
}

#[test]
fn a_round_allocates_nothing() {
    assert!(crate::counting::calls() > 0, "the counter counts");
    // The second run goes beyond the horizon.
    let setup = MasterSetup::new(6, Some(2_000));
    for entry in masters::REGISTRY.entries() {
        let none = MapDeserializer::<_, Error>::new(std::iter::empty::<(&str, f64)>());
        let mut master = masters::build(entry.name, none, &setup).unwrap();
        assert_eq!(allocations(&mut *master), 0, "{}", entry.name);
        // Nor after a snapshot was read.
        let state = master.save();
        master.load(&state).unwrap();
        assert_eq!(allocations(&mut *master), 0, "{} after a snapshot", entry.name);
    }
    for rules in [
        CorralProgram::AsModelselection,
        CorralProgram::AsCoba,
        CorralProgram::AsSmpybandits,
        CorralProgram::AsAdversarialMasterH,
    ] {
        let mut master = CorralSpec { rules, ..CorralSpec::default() }.master(&setup).unwrap();
        assert_eq!(allocations(&mut *master), 0, "{rules:?}");
    }
    for name in ["exp3", "ucb", "rbbe", "d3rb", "ed2rb"] {
        let published = MapDeserializer::<_, Error>::new([("rules", "published-code")].into_iter());
        let mut master = masters::build(name, published, &setup).unwrap();
        assert_eq!(allocations(&mut *master), 0, "{name} by the published code");
    }
}
