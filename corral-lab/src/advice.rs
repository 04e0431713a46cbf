//! What a user should know before a run, though nothing is wrong.

use std::collections::HashMap;

use corral_core::Feed;

use crate::spec::{BandSpec, LearnerSpec, Spec};

/// Notes on a spec.
pub fn warnings(spec: &Spec) -> Vec<String> {
    let (mut feeding, mut notes) = (Vec::new(), Vec::new());
    let mut asked: Vec<&str> = Vec::new();
    for learner in &spec.learners {
        if let LearnerSpec::Band(band) = &learner.learner {
            band_warnings(&learner.label, band, &mut feeding, &mut notes);
            // The practical preset is what we recommend, and its page says what covers it.
            if band.master.feed == Some(Feed::Everyone) && band.master.name != "practical" {
                asked.push(&learner.label);
            }
        }
    }
    feeding.dedup();
    if let [first, others @ ..] = asked.as_slice() {
        let (more, feed) = match others.len() {
            0 => (String::new(), "feeds"),
            more => (format!(" and {more} more"), "feed"),
        };
        notes.insert(
            0,
            format!(
                "{first:?}{more} {feed} everyone: bases no longer run in their own induced environment, so the paper's \
                 theorem does not cover that"
            ),
        );
    }
    // Where an environment reacts to the choices, whoever feeds everyone is misled.
    let reacts = |name: &str| ADAPTIVE.contains(&name);
    if let (Some(first), Some(world)) = (feeding.first(), spec.environments.iter().find(|e| reacts(&e.name)))
    {
        notes.push(format!(
            "{:?} reacts to the choices: a band that feeds everyone, as {first:?}, may have linear regret there; take \
             master = \"safe\", or corral with a horizon",
            world.label
        ));
    }
    notes
}

/// Environments whose losses depend on what was played before.
const ADAPTIVE: [&str; 2] = ["anti-greedy", "anti-cumulative"];

fn band_warnings<'a>(label: &'a str, band: &BandSpec, feeding: &mut Vec<&'a str>, notes: &mut Vec<String>) {
    if feeds_everyone(band) {
        feeding.push(label);
    }
    let mut seen = HashMap::new();
    for base in &band.bases {
        let LearnerSpec::Base(base) = base else { continue };
        if let Some(twin) = seen.insert((&base.recipe.name, base.recipe.params.to_string()), base) {
            let worse = if feeds_everyone(band) {
                "; with feed everyone, copies of one greedy learner all stay on the same wrong arm"
            } else {
                ""
            };
            notes.push(format!(
                "{label:?} has the base {:?} twice (also {}){worse}",
                base.recipe.name,
                twin.origin.place()
            ));
            break;
        }
    }
    for base in &band.bases {
        if let LearnerSpec::Band(inner) = base {
            band_warnings(label, inner, feeding, notes);
        }
    }
}

fn feeds_everyone(band: &BandSpec) -> bool {
    match band.master.feed {
        Some(feed) => feed == Feed::Everyone,
        None => band.master.name == "practical",
    }
}
