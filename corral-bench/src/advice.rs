//! What a user should know before a run, though nothing is wrong.

use std::collections::HashMap;

use corral_core::Feed;

use crate::spec::{BandSpec, LearnerSpec, Spec};

/// Notes on a spec.
pub fn warnings(spec: &Spec) -> Vec<String> {
    let mut notes = Vec::new();
    for learner in &spec.learners {
        if let LearnerSpec::Band(band) = &learner.learner {
            band_warnings(&learner.label, band, &mut notes);
        }
    }
    notes
}

fn band_warnings(label: &str, band: &BandSpec, notes: &mut Vec<String>) {
    if feeds_everyone(band) {
        notes.push(format!(
            "{label:?} feeds everyone: bases no longer run in their own induced environment, so the paper's theorem \
             does not cover it"
        ));
    }
    let mut seen = HashMap::new();
    for base in &band.bases {
        let LearnerSpec::Base(base) = base else { continue };
        if let Some(twin) = seen.insert((&base.name, base.params.to_string()), base) {
            let worse = if feeds_everyone(band) {
                "; with feed everyone, copies of one greedy learner all stay on the same wrong arm"
            } else {
                ""
            };
            notes.push(format!("{label:?} has the base {:?} twice (also {}){worse}", base.name, twin.place));
            break;
        }
    }
    for base in &band.bases {
        if let LearnerSpec::Band(inner) = base {
            band_warnings(label, inner, notes);
        }
    }
}

fn feeds_everyone(band: &BandSpec) -> bool {
    match band.feed {
        Some(feed) => feed == Feed::Everyone,
        None => band.master == "practical",
    }
}
