//! Requests that offer some of the actions, by their names and in any order.

use std::io::Cursor;
use std::sync::Arc;
use std::time::{Duration, Instant};

use corral_core::Context;
use corral_log::{Offered, Played, Reader, Record};
use corral_serve::http::Limits;
use corral_serve::{Question, Serving, ServingOptions, SystemClock, spec, verify_from};
use serde_json::{Value, json};

use crate::common::{Memory, SPEC};
use crate::web::{Client, Running};

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

fn reward(action: &str) -> f64 {
    // The first action is the best, and c is the best of the others.
    match action {
        "a" => 1.0,
        "c" => 0.8,
        "d" => 0.4,
        _ => 0.2,
    }
}

/// Waits until so many rewards are learned, and served.
fn caught_up(client: &mut Client, rewards: usize) {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let report: Value = serde_json::from_str(&client.get("/v1/bands/x/report").1).unwrap();
        if report["learned"] == rewards && report["served_fold"] == report["folds"] && report["stale_ms"] == 0
        {
            return;
        }
        assert!(Instant::now() < until, "{rewards} rewards are not served: {report}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Plays batches of ten with these requests, after `before` others; how often each action was played in the second half.
fn play(client: &mut Client, before: usize, batches: usize, request: impl Fn(usize) -> Value) -> [f64; 4] {
    let mut plays = [0.0; 4];
    for batch in 0..batches {
        let asked: Vec<Value> = (0..10).map(|i| request(batch * 10 + i)).collect();
        let (status, chosen) = client.post("/v1/bands/x/choose/batch", &json!(asked));
        assert_eq!(status, 200, "{chosen}");
        let mut given = Vec::new();
        for (asked, chosen) in asked.iter().zip(chosen.as_array().unwrap()) {
            let action = chosen["action"].as_str().unwrap_or_else(|| panic!("{chosen}"));
            let number = NAMES.iter().position(|name| *name == action).unwrap();
            assert_eq!(chosen["index"], number, "the index is that of the spec");
            let rows = |offered: &&Vec<Value>| !offered[0].is_array();
            if let Some(offered) = asked["actions"].as_array().filter(rows) {
                assert!(offered.iter().any(|o| o == action || o["name"] == action), "{asked} {chosen}");
            }
            plays[number] += f64::from(u8::from(batch >= batches / 2));
            given.push(json!({ "token": chosen["token"], "reward": reward(action) }));
        }
        let (status, answers) = client.post("/v1/bands/x/reward/batch", &json!(given));
        assert!(status == 200 && answers.as_array().unwrap().iter().all(|a| a["status"] == 200), "{answers}");
        if batch % 5 == 4 {
            caught_up(client, 10 * (before + batch + 1));
        }
    }
    let all: f64 = plays.iter().sum();
    plays.map(|count| count / all)
}

/// The first action is taken out of the offer after a while, and the others come in any order: with names alone, with shared
/// features, and with features of the actions.
#[test]
fn what_is_offered_by_name_is_learned_under_that_name() {
    let order = |i: usize| [["d", "c", "b"], ["b", "d", "c"], ["c", "b", "d"]][i % 3];
    let row = |name: &str| NAMES.map(|other| f64::from(u8::from(other == name)));
    let named = |i: usize| json!({ "actions": order(i) });
    let shared = |i: usize| json!({ "features": [0.5, 1.0], "actions": order(i) });
    let rows = |i: usize| {
        let actions = order(i).map(|name| json!({ "name": name, "features": row(name) }));
        json!({ "actions": actions })
    };
    let everything = |i: usize| match i % 3 {
        0 => json!({ "actions": NAMES.map(|name| json!({ "name": name, "features": row(name) })) }),
        _ => json!({ "actions": NAMES.map(row) }),
    };
    let all = |_: usize| json!({});
    let features = |_: usize| json!({ "features": [0.5, 1.0] });
    type Ask<'a> = &'a dyn Fn(usize) -> Value;
    let cases: [(&str, &str, Ask<'_>, Ask<'_>); 3] = [
        ("", r#"["ucb1", "exp3", "thompson", "epsilon-greedy"]"#, &all, &named),
        ("features = 2", r#"["linucb", "squarecb", "epsilon-greedy"]"#, &features, &shared),
        ("action_features = 4", r#"["linucb", "squarecb"]"#, &everything, &rows),
    ];
    for (keys, bases, before, after) in cases {
        let folder = tempfile::tempdir().unwrap();
        let text = format!("name = \"x\"\nactions = [\"a\", \"b\", \"c\", \"d\"]\nbases = {bases}\n{keys}\n");
        let mut running = Running::start(&text, folder.path(), "", Limits::default());
        let mut client = running.client();
        let [a, ..] = play(&mut client, 0, 40, before);
        // At random it is a quarter. How soon it is more depends on when what was learned is served.
        assert!(a > 0.35, "{keys:?}: the best of all four in {a} of the rounds");
        // At random it is a third.
        let [a, _, c, _] = play(&mut client, 40, 60, after);
        assert!(a == 0.0 && c > 0.6, "{keys:?}: the best of the offer in {c} of the rounds");
        drop(client);
        running.stop();

        let log: Vec<u8> =
            corral_serve::Export::of(Arc::new(corral_serve::Directory::open(folder.path()).unwrap()), "x")
                .flat_map(Result::unwrap)
                .collect();
        let mut reader = Reader::new(Cursor::new(&log)).checked(0).strict(true);
        let mut some = 0;
        while let Some(record) = reader.read().unwrap() {
            let Record::Both(both) = record else { continue };
            let Played::Arm(number) = both.decision.action else { panic!("{both:?}") };
            assert_eq!(both.given.reward, Some(reward(NAMES[number as usize])));
            assert!(both.decision.offered.position(number).is_some());
            some += usize::from(both.decision.offered == Offered::These(vec![1, 2, 3]));
        }
        assert_eq!(some, 600);
        let origin = folder.path().join("bands/x/origin");
        let verified = verify_from(&log[..], &origin, false).unwrap();
        assert_eq!((verified.learned, verified.same_state), (1_000, Some(true)));
    }
}

/// By its place in the request, what was learned of one action would be taken for another as soon as one is left out.
#[test]
fn actions_that_the_spec_cannot_tell_apart_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let text = "name = \"x\"\nactions = 3\nbases = [\"ucb1\", \"linucb\"]\naction_features = 1\n";
    let mut running = Running::start(text, folder.path(), "", Limits::default());
    let mut client = running.client();
    let row = |name: &str| json!({ "name": name, "features": [0.5] });
    let (status, why) = client.post("/v1/bands/x/choose", &json!({ "actions": [row("small"), row("mid")] }));
    assert_eq!(status, 422, "{why}");
    let why = why["error"].as_str().unwrap();
    assert!(why.contains("\"small\" is a name") && why.contains("actions = [\"small\", ...]"), "{why}");
    let (status, chosen) = client.post("/v1/bands/x/choose", &json!({ "actions": [[0.5], [0.25]] }));
    assert!(status == 200 && chosen["action"] == chosen["index"], "{chosen}");
    drop(client);
    running.stop();

    let folder = tempfile::tempdir().unwrap();
    let named = text.replace("3", "[\"a\", \"b\", \"c\"]");
    let mut running = Running::start(&named, folder.path(), "", Limits::default());
    let mut client = running.client();
    let (status, why) = client.post("/v1/bands/x/choose", &json!({ "actions": [[0.5], [0.25]] }));
    assert_eq!(status, 422, "{why}");
    assert!(why["error"].as_str().unwrap().contains("2 rows without names, where the band has 3"), "{why}");
    let (status, chosen) = client.post("/v1/bands/x/choose", &json!({ "actions": [row("c"), row("a")] }));
    assert!(status == 200 && chosen["action"] != "b", "{chosen}");
    drop(client);
    running.stop();
}

fn open(more: &str) -> Serving {
    let band = spec::read(&format!("{SPEC}{more}")).unwrap().remove(0);
    Serving::open(band, Arc::new(Memory::default()), Arc::new(SystemClock), ServingOptions::default())
        .unwrap()
}

fn ask(context: Context, unit: &str) -> Question {
    Question { context, unit: Some(unit.to_owned()), ..Question::default() }
}

#[test]
fn the_default_action_is_given_where_it_is_offered_and_missed_where_it_is_not() {
    let serving = open("default_action = \"b\"\nholdout = 0.5\n");
    let some = || Context::plain(2).offering(vec![1, 2]);
    for unit in (0..20).map(|i| i.to_string()) {
        let answer = serving.choose(ask(some(), &unit)).unwrap();
        assert!(!answer.default || (answer.action, answer.chosen.decision.0) == (1, 0), "{answer:?}");
        serving.front().unwrap().reward_now(&answer.chosen.token, 5.0).unwrap();
        // Said to everyone, not only to those who are held out.
        let error = serving.choose(ask(Context::plain(2).offering(vec![0, 2]), &unit)).unwrap_err();
        assert!(error.to_string().contains("default action \"b\" is not offered"), "{error}");
    }
    serving.stop();
    let log: Vec<u8> = serving.export().flat_map(Result::unwrap).collect();
    let mut reader = Reader::new(Cursor::new(&log)).strict(true);
    let mut defaults = 0;
    while let Some(record) = reader.read().unwrap() {
        let Record::Both(both) = record else { continue };
        assert_eq!(both.decision.offered, Offered::These(vec![1, 2]));
        if both.decision.ticket.is_none() {
            defaults += 1;
            assert_eq!((both.decision.action, both.decision.forced), (Played::Arm(1), true));
        }
    }
    assert!(defaults > 0);
}

#[test]
fn a_unit_keeps_its_action_while_that_is_offered() {
    let serving = open("sticky = 3600\n");
    for unit in (0..10).map(|i| i.to_string()) {
        let first = serving.choose(ask(Context::plain(3), &unit)).unwrap();
        let with: Vec<u32> = (0..3).filter(|n| *n == first.action || *n == 2).collect();
        let again = serving.choose(ask(Context::plain(with.len()).offering(with), &unit)).unwrap();
        assert_eq!(again, first);
        let without: Vec<u32> = (0..3).filter(|n| *n != first.action).collect();
        let other = serving.choose(ask(Context::plain(2).offering(without), &unit)).unwrap();
        assert_ne!(other.action, first.action);
    }
}
