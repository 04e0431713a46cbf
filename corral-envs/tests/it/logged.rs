//! Logs of decisions as environments.

use std::fs;
use std::path::Path;

use corral_core::{Arm, Context};
use corral_envs::Environment;
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;
use tempfile::TempDir;

use crate::data::named;

#[test]
fn a_log_is_replayed_without_bias() {
    let params = "file = 'tests/data/logged.csv'\naction = 'action'\nreward = 'reward'\npropensity = 'propensity'\nrepeat = true";
    for replay in ["rejection", "weighted"] {
        for arm in 0..3 {
            let mut world = named("logged", &format!("{params}\nreplay = '{replay}'")).unwrap();
            let (mut loss, mut weight, mut squares) = (0.0, 0.0, 0.0);
            let mut rng = Pcg64Dxsm::seed_from_u64(7);
            for _ in 0..30_000 {
                world.next(&mut rng).unwrap();
                let feedback = world.play(&Arm(arm)).unwrap();
                assert!(feedback.weight() <= world.about().range * (1.0 + 1e-12));
                loss += feedback.estimate();
                weight += feedback.weight();
                squares += feedback.weight().powi(2);
            }
            // A mean over the effective samples: 5 standard errors of at most 1/2 each, a false alarm in 3 million.
            let effective = weight * weight / squares;
            let error = (loss / weight - world.mean_loss(&Arm(arm))).abs();
            assert!(error <= 5.0 * 0.5 / effective.sqrt(), "{replay} {arm}: {error} with {effective}");
        }
    }
    let bad = |text: &str| {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("log.csv");
        fs::write(&path, text).unwrap();
        named("logged", &format!("file = '{}'", path.display())).err().unwrap()
    };
    for (text, part) in [
        (
            "item_id,click,propensity_score\n0,1,0\n",
            "the propensity (column \"propensity_score\") must be in (0, 1], but is 0",
        ),
        (
            "item_id,click,propensity_score\n0,2,0.5\n",
            "the reward (column \"click\") must be in [0, 1], but is 2",
        ),
        (
            "item_id,click,propensity_score\n-1,1,0.5\n",
            "the action (column \"item_id\") must be a whole number",
        ),
        ("item,click,propensity_score\n0,1,0.5\n", "unknown column \"item_id\""),
        (
            "item_id,click,propensity_score\nred,1,0.5\n",
            "(column \"item_id\") must be a whole number from 0 to 65535, but is \"red\"",
        ),
        ("item_id,click,propensity_score\n0,,0.5\n", "(column \"click\") must be in [0, 1], but is missing"),
    ] {
        let e = bad(text);
        assert!(e.contains("log.csv") && e.contains(part), "{e}");
    }
}

/// A decision log is played as the table with the same decisions is; action features come from a second file.
#[test]
fn a_decision_log_is_played_as_its_table_is() {
    use corral_core::TicketId;
    use corral_log::{Both, Decided, Given, Played, Record, RewardLine, Start, Writer};
    let dir = TempDir::new().unwrap();
    let (mut log, mut table) = (Vec::new(), "x,action,propensity,reward\n".to_owned());
    let mut writer = Writer::new(&mut log);
    writer.write(&Record::Start(Start::new(1))).unwrap();
    for t in 0..400u64 {
        let (x, action) = ((t % 7) as f64, (t / 2 % 3) as u32);
        let (propensity, reward) = ([0.5, 0.25, 0.25][action as usize], f64::from(u32::from(t % 3 == 1)));
        table += &format!("{x},{action},{propensity},{reward}\n");
        let id = TicketId { band: 1, copy: 0, round: t };
        let context = Some(Context::shared(vec![1.0, x], 3));
        let decision =
            Decided { propensity: Some(propensity), context, ..Decided::new(id, Played::Arm(action), 3) };
        let given = Given::reward(reward);
        // Two lines, or one.
        if t.is_multiple_of(2) {
            writer.write(&Record::Decision(decision.clone())).unwrap();
            writer.write(&Record::Outcome(RewardLine::new(id, given))).unwrap();
        } else {
            writer.write(&Record::Both(Both { decision, given })).unwrap();
        }
    }
    // No policy made this one.
    let id = TicketId { band: 1, copy: 0, round: 400 };
    let forced = Decided { propensity: Some(1.0), forced: true, ..Decided::new(id, Played::Arm(2), 3) };
    writer.write(&Record::Both(Both { decision: forced, given: Given::reward(1.0) })).unwrap();
    let (lines, csv) = (dir.path().join("log.jsonl"), dir.path().join("log.csv"));
    fs::write(&lines, &log).unwrap();
    fs::write(&csv, table).unwrap();
    let keys = "action = 'action'\nreward = 'reward'\npropensity = 'propensity'\nscaling = 'none'";
    let open =
        |path: &Path, more: &str| named("logged", &format!("file = '{}'\n{keys}\n{more}", path.display()));
    let play = |mut world: Box<dyn Environment<Context, Arm>>| {
        let mut rng = Pcg64Dxsm::seed_from_u64(3);
        let mut seen = Vec::new();
        while world.next(&mut rng).is_ok() {
            let features = world.context().features().to_vec();
            let feedback = world.play(&Arm(1)).unwrap();
            seen.push((features, feedback.observed(), world.mean_loss(&Arm(2))));
        }
        seen.sort_by(|a, b| a.partial_cmp(b).unwrap());
        seen
    };
    let (ours, theirs) = (
        play(open(&lines, "replay = 'weighted'").unwrap()),
        play(open(&csv, "replay = 'weighted'").unwrap()),
    );
    assert_eq!(ours.len(), 400);
    assert_eq!(ours, theirs);
    let rows = dir.path().join("items.csv");
    fs::write(&rows, "0.5,1\n2,3\n4,5\n").unwrap();
    let mut world = open(&lines, &format!("action_features = '{}'", rows.display())).unwrap();
    world.next(&mut Pcg64Dxsm::seed_from_u64(1)).unwrap();
    assert_eq!((world.setup().context.row_features, world.context().row(1).unwrap()), (2, &[2.0, 3.0][..]));
    fs::write(&rows, "1\n2\n").unwrap();
    let e = open(&lines, &format!("action_features = '{}'", rows.display())).err().unwrap();
    assert!(e.contains("2 rows of action features, and 3 actions"), "{e}");
}
