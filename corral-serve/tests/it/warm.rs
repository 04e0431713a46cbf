//! A band that begins with what a log has taught its bases.

use std::sync::Arc;

use corral_core::Context;
use corral_log::{Csv, Ours, Reader, Wants, actions_of};
use corral_serve::{LearnerOptions, Open, ServeError, Store, spec, warm_up};

use crate::common::{Bench, Memory};

/// A table of a logger that plays c in `rare`, a in 30 and b in the others of 100 rounds; c is the best, b the worst.
fn table(rare: usize) -> String {
    let mut text = "action,propensity,reward\n".to_owned();
    for i in 0..3_000 {
        let (action, propensity, mean) = match i * 37 % 100 {
            i if i < rare => ("c", rare as f64 / 100.0, 9),
            i if i < rare + 30 => ("a", 0.3, 5),
            _ => ("b", (70 - rare) as f64 / 100.0, 2),
        };
        // One in ten is off by 1, up and down.
        let reward = mean + [0, 1, 0, 0, 0, 0, -1, 0, 0, 0][i / 100 % 10];
        text += &format!("{action},{propensity},{reward}\n");
    }
    text
}

fn csv(text: &str) -> Csv<&[u8]> {
    let actions = actions_of(text.as_bytes()).unwrap();
    let scale = Some(corral_core::Scale::rewards(0.0, 10.0));
    Csv::new(text.as_bytes(), &Wants::default(), actions, scale, false).unwrap()
}

fn text(bases: &str, more: &str) -> String {
    format!("name = \"x\"\nactions = [\"a\", \"b\", \"c\"]\nreward_range = [0, 10]\nbases = {bases}\n{more}")
}

/// The share of the best action in the first 60 decisions of a band, over 20 bands.
fn first(text: &str, log: Option<&str>) -> f64 {
    let mut best = 0;
    for _ in 0..20 {
        let store = Memory::default();
        if let Some(log) = log {
            let band = spec::read(text).unwrap().remove(0);
            warm_up(&band, &store, &LearnerOptions::default(), &|| Ok(Box::new(csv(log)))).unwrap().unwrap();
        }
        let mut bench = Bench::open(text, Arc::new(store)).unwrap();
        for _ in 0..60 {
            let chosen = bench.choose(&[]);
            best += usize::from(chosen.decision.0 == 2);
            bench.reward(&chosen.token, [5.0, 2.0, 9.0][chosen.decision.0 as usize]).unwrap();
            bench.learn();
        }
    }
    best as f64 / 1_200.0
}

/// Bases that model losses, and one that divides by its own probability: each alone and all together begin near the best,
/// though the log has played it in one of ten rounds. At random the share is 1/3.
#[test]
fn a_warm_band_begins_where_a_cold_one_ends() {
    let log = table(10);
    let all = r#"["ucb1", "exp3", "thompson", "epsilon-greedy"]"#;
    // With the guard, which counts what the log has seen, and without it.
    let practical = ["{ name = \"practical\", guard = false }", "\"practical\""];
    let ones = [r#"["ucb1"]"#, r#"["exp3"]"#, r#"["thompson"]"#, all];
    let pairs = ones.iter().flat_map(|bases| practical.map(|master| (*bases, master)));
    for (bases, master) in pairs.chain([(all, "\"uniform\"")]) {
        let text = text(bases, &format!("master = {master}\n"));
        let (cold, warm) = (first(&text, None), first(&text, Some(&log)));
        assert!(warm > cold + 0.05 && warm > 0.8, "{bases} {master}: {warm} after {cold} without the log");
    }
}

/// A base that learns from its own decisions alone is left as it is where weights would be large; others learn.
#[test]
fn a_logger_that_hardly_plays_an_action_does_not_teach_every_base() {
    let (log, text) = (table(2), text(r#"["ucb1", "exp3"]"#, ""));
    let (band, store) = (spec::read(&text).unwrap().remove(0), Memory::default());
    let open: Open<'_> = &|| Ok(Box::new(csv(&log)));
    let warmed = warm_up(&band, &store, &LearnerOptions::default(), open).unwrap().unwrap();
    assert_eq!((warmed.used, &warmed.untaught[..]), (3_000, &["exp3".to_owned()][..]));
    assert!(warmed.to_string().ends_with("not taught: exp3"), "{warmed}");
}

#[test]
fn rows_that_cannot_teach_are_counted() {
    let log = "action,propensity,reward\na,0.5,5\nb,,5\nz,0.5,5\na,0.5,11\nc,1.5,5\nb,0.5,\nc,0.5,9\n";
    let open: Open<'_> = &|| Ok(Box::new(csv(log)));
    let band = spec::read(&text(r#"["ucb1", "exp3"]"#, "")).unwrap().remove(0);
    let store = Memory::default();
    let warmed = warm_up(&band, &store, &LearnerOptions::default(), open).unwrap().unwrap();
    assert_eq!((warmed.rows, warmed.used), (7, 2), "{warmed}");
    assert_eq!(warmed.refused.values().sum::<u64>(), 5, "{warmed}");
    for why in ["propensity", "reward", "an action that the band does not have"] {
        assert!(warmed.to_string().contains(why), "{why}: {warmed}");
    }
    // It has begun: another log is not learned.
    assert_eq!(warm_up(&band, &store, &LearnerOptions::default(), open).unwrap(), None);

    // A log that teaches nothing is an error, and the band has not begun.
    let (empty, store) = ("action,propensity,reward\na,,5\n", Memory::default());
    let open: Open<'_> = &|| Ok(Box::new(csv(empty)));
    let error = warm_up(&band, &store, &LearnerOptions::default(), open).unwrap_err();
    assert!(matches!(&error, ServeError::Model(why) if why.contains("0 of 1 rows; 1 ")), "{error}");
    assert_eq!(store.list("bands/x").unwrap(), Vec::<String>::new());
}

/// The log of a service teaches another one: contexts, and actions that are offered by their numbers, whose names may stand
/// in another order.
#[test]
fn the_log_of_a_service_teaches_another() {
    let text = text(r#"["linucb", "squarecb"]"#, "features = 2\n");
    let store = Memory::default();
    let mut old = Bench::open(&text, Arc::new(store.clone())).unwrap();
    let reward = |action: &str, x: f64| if (action == "a") == (x > 0.5) { 8.0 } else { 1.0 };
    for i in 0..200 {
        let x = f64::from(i % 2);
        let context = Context::shared(vec![x, 1.0 - x], 2).offering(vec![0, 2]);
        let chosen = old.front.choose(&context, None).unwrap();
        let action = ["a", "c"][chosen.decision.0 as usize];
        old.reward(&chosen.token, reward(action, x)).unwrap();
        old.learn();
    }
    let log: Vec<u8> = corral_serve::Export::of(Arc::new(store), "x").flat_map(Result::unwrap).collect();
    let open: Open<'_> = &|| {
        let wants = Wants { context: true, ..Wants::default() };
        Ok(Box::new(Ours::new(Reader::new(&log[..]), wants)))
    };
    let turned = text.replace(r#"["a", "b", "c"]"#, r#"["c", "b", "a"]"#);
    let band = spec::read(&turned).unwrap().remove(0);
    let store = Memory::default();
    let warmed = warm_up(&band, &store, &LearnerOptions::default(), open).unwrap().unwrap();
    assert!(warmed.used >= 190, "{warmed}");
    let mut new = Bench::open(&turned, Arc::new(store)).unwrap();
    // It learns meanwhile: a confidence bound that is due to look at an action would look at it for ever.
    let right = (0..100).filter(|i| {
        let x = f64::from(i % 2);
        let context = Context::shared(vec![x, 1.0 - x], 2).offering(vec![0, 2]);
        let chosen = new.front.choose(&context, None).unwrap();
        let earned = reward(["c", "a"][chosen.decision.0 as usize], x);
        new.reward(&chosen.token, earned).unwrap();
        new.learn();
        earned > 5.0
    });
    let right = right.count();
    // Each band draws its own numbers: in 400 runs the least was 87.
    assert!(right > 75, "{right} of the first 100, where 50 are right at random");
}
