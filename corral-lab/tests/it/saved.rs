//! A band as Python saves it, and its log played again.

use std::sync::Arc;

use corral_bases::band::MasterRecipe;
use corral_core::{Context, FeatureRange, Feedback, Propensities, Scale, Space};
use corral_lab::run::Plugins;
use corral_lab::saved::{Flying, Members, Plan, Recipe, SavedBand, SavedError, verify};
use corral_log::{Both, Change, Given, Member, Record, Start, Writer};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

fn plan(bases: &[&str]) -> (Plan, Members) {
    let space = (Space::Arms(3), Arc::from([]));
    let (range, rewards) = (FeatureRange::Any, Scale::rewards(0.0, 1.0));
    let asked = (None, Propensities::EveryBase);
    let mut plan = Plan::new(space, (0, 0), range, rewards, MasterRecipe::default(), asked).unwrap();
    plan.params.id = Some(7);
    let build = |name: &&str| {
        let table = toml::from_str(&format!("name = \"{name}\"")).unwrap();
        plan.join(table, None, None, &Plugins::default()).unwrap()
    };
    let built = bases.iter().map(build).collect();
    let members = plan.ensemble(built).unwrap();
    (plan, members)
}

fn saved(plan: &Plan, members: &Members, rng: &Pcg64Dxsm) -> SavedBand {
    let (plan, members, rng) = (plan.clone(), members.save(), rng.clone());
    SavedBand { plan, members, rng, quota: None, waiting: None, watch: None }
}

/// A log of 50 rounds, in which a base joins, and the band before and after.
fn played() -> (Vec<u8>, SavedBand, SavedBand) {
    let (mut plan, mut members) = plan(&["ucb1", "exp3"]);
    let (mut rng, x) = (Pcg64Dxsm::seed_from_u64(3), Context::plain(3));
    let start = saved(&plan, &members, &rng);
    let mut log = Writer::new(Vec::new());
    log.write(&Record::Start(Start::new(7))).unwrap();
    for t in 0..50u32 {
        if t == 20 {
            let base =
                plan.join("name = \"thompson\"".parse().unwrap(), None, Some(0.2), &Plugins::default());
            members.add("thompson", base.unwrap(), 0.2).unwrap();
            let params = plan.members[2].params().unwrap();
            let (change, name) = (Change::Add, "thompson".to_owned());
            log.write(&Record::Member(Member { change, base: 2, name, share: Some(0.2), params })).unwrap();
        }
        let pbar = members.probabilities().to_vec();
        let made = members.choose(&x, &mut rng).unwrap();
        let decision = made.record(&pbar, &x);
        let reward = f64::from(t % 4) / 4.0;
        members.learn(&x, made, Feedback::plain(1.0 - reward)).map_err(|e| e.1).unwrap();
        log.write(&Record::Both(Both { decision, given: Given::reward(reward) })).unwrap();
    }
    (log.into_inner(), start, saved(&plan, &members, &rng))
}

fn again(log: &[u8], start: &SavedBand, end: Option<&SavedBand>) -> Result<String, SavedError> {
    let start = SavedBand::open(&start.seal()).unwrap();
    verify(log, start, end, &Plugins::default(), &mut ()).map(|found| format!("{found:?}"))
}

#[test]
fn a_log_comes_out_to_the_last_bit_or_names_its_line() {
    let (log, start, end) = played();
    assert_eq!(
        again(&log, &start, Some(&end)).unwrap(),
        "Replayed { lines: 52, before: 0, decisions: 50, learned: 50, same_state: Some(true) }"
    );
    assert!(again(&log, &start, Some(&start)).unwrap().ends_with("same_state: Some(false) }"));
    assert!(again(&log, &end, None).unwrap().contains("before: 50, decisions: 0"));
    // Every line again with another reward: the chain fits, and a later decision does not come out.
    let mut other = Writer::new(Vec::new());
    for line in log.split_inclusive(|c| *c == b'\n') {
        let record = match Record::read(line).unwrap() {
            Record::Both(Both { decision, .. }) if decision.id.round == 5 => {
                Record::Both(Both { decision, given: Given::reward(0.9) })
            }
            record => record,
        };
        other.write(&record).unwrap();
    }
    let why = again(&other.into_inner(), &start, None).unwrap_err().to_string();
    assert!(why.starts_with("line ") && why.ends_with("does not come out as it is written"), "{why}");
    let broken = String::from_utf8(log).unwrap().replacen("\"offered\":3", "\"offered\":2", 1);
    let why = again(broken.as_bytes(), &start, None).unwrap_err().to_string();
    assert!(why.starts_with("line 2: it does not follow the line before it"), "{why}");
}

#[test]
fn an_object_of_python_is_named_where_there_is_no_python() {
    let (log, mut start, _) = played();
    start.plan.enter("Coin".into(), Recipe::Python(vec![1, 2]), None);
    let why = again(&log, &start, None).unwrap_err().to_string();
    assert!(
        why.starts_with("the base \"Coin\" is an object of Python") && why.contains("corral.log.verify"),
        "{why}"
    );
}

#[test]
fn a_digest_says_what_a_band_was_built_from() {
    let digest = |bases: &[&str], change: fn(&mut Plan)| {
        let (mut plan, _) = plan(bases);
        change(&mut plan);
        plan.digest().unwrap()
    };
    let alike = digest(&["ucb1", "exp3"], |plan| (plan.params.id, plan.params.copy) = (Some(8), Some(2)));
    assert_eq!(alike, digest(&["ucb1", "exp3"], |_| ()));
    assert_ne!(alike, digest(&["exp3", "ucb1"], |_| ()));
    assert_ne!(alike, digest(&["ucb1", "exp3"], |plan| plan.rewards = Scale::rewards(0.0, 2.0)));
}

#[test]
fn a_decision_is_one_of_its_kind() {
    let (_, mut members) = plan(&["ucb1"]);
    let made = members.choose(&Context::plain(3), &mut Pcg64Dxsm::seed_from_u64(1)).unwrap();
    assert!(matches!(made, Flying::Arm(_)) && made.id().band == 7);
    let token = made.token(&Context::plain(3)).unwrap();
    assert_eq!(members.flying(&token).unwrap().1.id(), made.id());
}
