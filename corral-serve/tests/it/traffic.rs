//! Who gets which decision: units that stick, those that are held out, and the gate.

use std::sync::Arc;
use std::time::{Duration, Instant};

use corral_core::Context;
use corral_serve::{Answer, Question, Serving, ServingOptions, SystemClock, spec};

use crate::common::{Memory, SPEC};

fn open(more: &str) -> Serving {
    let band = spec::read(&format!("{SPEC}{more}")).unwrap().remove(0);
    Serving::open(band, Arc::new(Memory::default()), Arc::new(SystemClock), ServingOptions::default())
        .unwrap()
}

fn ask(serving: &Serving, unit: Option<&str>) -> Answer {
    let question =
        Question { context: Context::plain(3), unit: unit.map(str::to_owned), ..Question::default() };
    serving.choose(question).unwrap()
}

/// Waits until so many rewards are learned.
fn settle(serving: &Serving, rewards: u64) {
    let until = Instant::now() + Duration::from_secs(20);
    while serving.learned().band.count + serving.learned().default.count < rewards {
        assert!(Instant::now() < until, "{:?}", serving.learned());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_unit_is_given_the_same_decision_again() {
    let serving = open("sticky = 3600\n");
    let first = ask(&serving, Some("u"));
    assert!((0..20).all(|_| ask(&serving, Some("u")) == first), "the same decision, token and propensity");
    assert_ne!(ask(&serving, Some("v")).chosen.id, first.chosen.id);
    assert_ne!(ask(&serving, None).chosen.id, ask(&serving, None).chosen.id);
}

#[test]
fn a_share_of_the_units_is_held_out_and_compared() {
    let serving = open("default_action = \"b\"\nholdout = 0.25\n");
    let (mut held, mut rewards) = (0, 0);
    for i in 0..400 {
        let unit = format!("u{i}");
        let answer = ask(&serving, Some(&unit));
        assert_eq!(ask(&serving, Some(&unit)).default, answer.default, "a unit stays where it is");
        if answer.default {
            held += 1;
            assert_eq!((answer.chosen.decision.0, answer.chosen.propensity), (1, Some(1.0)));
        }
        let reward = if answer.default { 2.0 } else { 8.0 };
        serving.front().unwrap().reward_now(&answer.chosen.token, reward).unwrap();
        rewards += 1;
    }
    // 400 draws of 1/4: outside (66, 134) with probability 1e-4.
    assert!((66..=134).contains(&held), "{held}");
    settle(&serving, rewards);
    let learned = serving.learned();
    assert_eq!((learned.default.count, learned.band.count), (held, rewards - held));
    let (lift, low, high) = serving.lift().unwrap();
    assert!((lift - 0.6).abs() < 1e-9 && low < lift && lift < high, "{lift} in [{low}, {high}]");
    assert_eq!(serving.metrics().learned, rewards - held, "the band does not learn what it did not decide");
}

#[test]
fn the_gate_lets_the_band_decide_when_it_is_not_worse() {
    let serving = open("default_action = \"b\"\nholdout = 0.2\ngate = 0.5\n");
    assert!(ask(&serving, None).default, "nothing is known yet");
    for i in 0..200 {
        let answer = ask(&serving, Some(&format!("u{i}")));
        serving.front().unwrap().reward_now(&answer.chosen.token, 5.0).unwrap();
    }
    settle(&serving, 200);
    let decided = (0..100).filter(|i| !ask(&serving, Some(&format!("later {i}"))).default).count();
    assert!(decided > 50, "{decided} of 100 after {:?}", serving.learned());
}

#[test]
fn keys_of_the_traffic_are_checked() {
    for (more, key) in [
        ("default_action = \"z\"\n", "default_action"),
        ("holdout = 0.1\n", "holdout"),
        ("default_action = 0\nholdout = 1.0\n", "holdout"),
        ("default_action = 0\ngate = 0.1\n", "gate"),
    ] {
        let error = spec::read(&format!("{SPEC}{more}")).unwrap_err().to_string();
        assert!(error.starts_with(key), "{error}");
    }
}
