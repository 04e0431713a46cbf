//! The induced environment E': its laws, its schedules, its history.

use corral_core::registry::Kind;
use corral_core::{Arm, Context, Feedback, Rng, Setup};
use corral_envs::induced::{Announce, Listed, SCHEDULES, Schedule, Substitute};
use corral_envs::{AnyEnvironment, EnvError, Environment, Induced, build, induce};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

const ROUNDS: u64 = 20_000;

fn table(text: &str) -> toml::Table {
    text.parse().unwrap()
}

fn plain() -> AnyEnvironment {
    let params = table("means = [0.9, 0.5, 0.2]");
    build("bernoulli", &params, ROUNDS, &mut Pcg64Dxsm::seed_from_u64(1)).unwrap()
}

fn induced(schedule: &str, extra: &str) -> Box<dyn Environment<Context, Arm>> {
    let range = match schedule {
        "recorded" => "probabilities = [1, 0.5, 0.25, 0.125]",
        _ => "range = 8",
    };
    let params = table(&format!("schedule = \"{schedule}\"\n{range}\n{extra}"));
    match induce(plain(), &params, ROUNDS).unwrap() {
        AnyEnvironment::Arms(world) => world,
        AnyEnvironment::Points(_) => unreachable!(),
    }
}

/// E[f'_t] = E[f_t] and E[s_t^2] <= rho, for every schedule and every arm. The sums are martingales with increments of
/// known variance; each of the 32 assertions fails by chance with probability below 4e-5 (4 standard errors).
#[test]
fn the_estimate_is_unbiased_and_its_second_moment_at_most_the_range() {
    for entry in SCHEDULES.entries() {
        let mut world = induced(entry.name, "");
        let mut rng = Pcg64Dxsm::seed_from_u64(11);
        let (mut drift, mut variance) = ([0.0; 3], [0.0; 3]);
        let (mut second, mut fourth, mut seen) = (0.0, 0.0, 0u64);
        for t in 0..ROUNDS {
            let range = world.about().range;
            world.next(&mut rng).unwrap();
            for a in 0..3 {
                let arm = Arm::at(a);
                let loss = world.loss(&arm);
                assert!(loss >= 0.0 && loss <= range, "{}: {loss}", entry.name);
                drift[a] += loss - world.mean_loss(&arm);
                // Var(s f) <= E[s^2] <= rho.
                variance[a] += 8.0;
            }
            let feedback = world.play(&Arm::at((t % 3) as usize)).unwrap();
            let weight = feedback.weight();
            assert!(weight == 0.0 || (1.0..=range).contains(&weight), "{}: {weight}", entry.name);
            second += weight * weight;
            // Var(s^2) <= E[s^4] <= rho^3.
            fourth += 512.0;
            seen += u64::from(feedback.observed().is_some());
        }
        for a in 0..3 {
            assert!(drift[a].abs() <= 4.0 * f64::sqrt(variance[a]), "{} arm {a}: {}", entry.name, drift[a]);
        }
        let n = ROUNDS as f64;
        assert!(second / n <= 8.0 + 4.0 * f64::sqrt(fourth) / n, "{}: {}", entry.name, second / n);
        assert!(seen > 0 && seen < ROUNDS, "{}", entry.name);
    }
}

/// The mean of s_t itself is 1: the same statement for f = 1, and the weights are those of the coin.
#[test]
fn a_seen_round_carries_one_over_p() {
    let AnyEnvironment::Arms(world) = plain() else { unreachable!() };
    let mut world =
        Induced::new(world, Schedule::constant(4.0), Substitute::Own, Announce::Known, ROUNDS).unwrap();
    let mut rng = Pcg64Dxsm::seed_from_u64(3);
    for _ in 0..100 {
        world.next(&mut rng).unwrap();
        assert_eq!(world.probability(), 0.25);
        let feedback = world.play(&Arm(0)).unwrap();
        assert!([0.0, 4.0].contains(&feedback.weight()));
        assert_eq!(feedback.estimate(), world.loss(&Arm(0)), "f' is what the learner learns");
    }
}

/// Probabilities of every schedule at given rounds, from their definitions.
#[test]
fn schedules_are_as_defined() {
    use corral_envs::induced::Moment;
    let at = |schedule: &Schedule, round: u64, good: Option<bool>| {
        schedule.probability(Moment { round, horizon: 600, good })
    };
    assert_eq!(at(&Schedule::constant(8.0), 17, None), 0.125);
    assert_eq!(at(&Schedule::decay(16.0), 0, None), 1.0);
    assert!((at(&Schedule::decay(16.0), 300, None) - 0.25).abs() < 1e-15);
    assert_eq!(at(&Schedule::half(8.0), 299, None), 0.125);
    assert_eq!(at(&Schedule::half(8.0), 300, None), 1.0);
    // p = 1/2..1/64 in six steps, as in the reference figures.
    let stairs: Vec<f64> = (0..6).map(|k| 1.0 / at(&Schedule::staircase(64.0), 100 * k, None)).collect();
    assert_eq!(stairs, [2.0, 4.0, 8.0, 16.0, 32.0, 64.0]);
    assert_eq!(at(&Schedule::staircase(64.0), 99, None), 0.5);
    assert_eq!(at(&Schedule::staircase(1.0), 300, None), 1.0);
    assert_eq!(1.0 / at(&Schedule::staircase(5.0), 599, None), 5.0);
    let good = Schedule::starve(8.0, true);
    assert_eq!([at(&good, 0, None), at(&good, 1, Some(true)), at(&good, 1, Some(false))], [1.0, 0.125, 1.0]);
    let bad = Schedule::starve(8.0, false);
    assert_eq!([at(&bad, 0, None), at(&bad, 1, Some(true)), at(&bad, 1, Some(false))], [1.0, 1.0, 0.125]);
    let bursts = Schedule::bursts(8.0, 10, 2);
    assert_eq!((8..13).map(|t| at(&bursts, t, None)).collect::<Vec<_>>(), [0.125, 0.125, 1.0, 1.0, 0.125]);
    let recorded = Schedule::recorded(vec![0.5, 0.1]).unwrap();
    assert_eq!((0..3).map(|t| at(&recorded, t, None)).collect::<Vec<_>>(), [0.5, 0.1, 0.1]);
    assert_eq!(recorded.range, 10.0);
}

/// In E' "starve-good" starves the round after an optimal proposal, and no other.
#[test]
fn starving_follows_the_proposals() {
    let mut world = induced("starve-good", "announce = \"exact\"");
    let mut rng = Pcg64Dxsm::seed_from_u64(3);
    assert_eq!(world.about().range, 1.0);
    world.next(&mut rng).unwrap();
    assert_eq!(world.play(&Arm(0)).unwrap().weight(), 1.0);
    assert_eq!(world.about().range, 1.0, "arm 0 is not optimal");
    world.next(&mut rng).unwrap();
    assert_eq!(world.play(&Arm(2)).unwrap().weight(), 1.0);
    assert_eq!(world.about().range, 8.0, "arm 2 is");
}

#[test]
fn the_range_is_told_as_asked() {
    let told = |announce: &str, schedule: &str| {
        let mut world = induced(schedule, &format!("announce = \"{announce}\""));
        let mut rng = Pcg64Dxsm::seed_from_u64(3);
        let mut ranges = vec![world.about().range];
        for _ in 0..ROUNDS {
            world.next(&mut rng).unwrap();
            world.play(&Arm(0)).unwrap();
            if world.about().range != ranges[ranges.len() - 1] {
                ranges.push(world.about().range);
            }
        }
        ranges
    };
    assert_eq!(told("known", "staircase"), [8.0]);
    assert_eq!(told("exact", "staircase"), [2.0, 4.0, 8.0]);
    assert_eq!(told("doubling", "staircase"), [4.0, 8.0]);
    assert_eq!(told("blind", "staircase"), [1.0]);
    assert_eq!(told("doubling", "decay").len(), 4, "1, a little above 2, 4, 8");
    // The staircase's own habit is Corral's.
    let world = induced("staircase", "");
    assert_eq!(world.about().range, 4.0);
}

/// An environment that remembers what it was made to play.
struct Witness(Vec<u32>, Context);

impl Environment<Context, Arm> for Witness {
    fn setup(&self) -> Setup {
        Setup::arms(3, None)
    }
    fn next(&mut self, _rng: &mut dyn Rng) -> Result<(), EnvError> {
        Ok(())
    }
    fn context(&self) -> &Context {
        &self.1
    }
    fn loss(&self, decision: &Arm) -> f64 {
        f64::from(decision.0) / 2.0
    }
    fn mean_loss(&self, decision: &Arm) -> f64 {
        self.loss(decision)
    }
    fn play(&mut self, decision: &Arm) -> Result<Feedback, EnvError> {
        self.0.push(decision.0);
        Ok(Feedback::plain(self.loss(decision)))
    }
    fn best_so_far(&self) -> f64 {
        0.0
    }
}

/// theta'_t is theta_t where the round is seen, and the substitute where it is not: exactly one decision a round.
#[test]
fn the_history_of_the_environment_holds_the_substitutes() {
    let proposals = [1u32, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0];
    for substitute in [Substitute::Own, Substitute::Last, Substitute::First, Substitute::Worst] {
        let witness = Witness(Vec::new(), Context::plain(3));
        let mut world =
            Induced::new(witness, Schedule::constant(3.0), substitute, Announce::Known, 16).unwrap();
        let mut rng = Pcg64Dxsm::seed_from_u64(2);
        let mut expected: Vec<u32> = Vec::new();
        for (t, proposal) in proposals.iter().enumerate() {
            world.next(&mut rng).unwrap();
            let feedback = world.play(&Arm(*proposal)).unwrap();
            expected.push(match (feedback.observed().is_some(), substitute) {
                (true, _) | (_, Substitute::Own) => *proposal,
                (_, Substitute::Last) => *expected.get(t.wrapping_sub(1)).unwrap_or(proposal),
                (_, Substitute::First) => proposals[0],
                (_, Substitute::Worst) => 2,
            });
            assert_eq!(world.inner().0, expected, "{substitute:?}");
        }
        // Proposals outside the space are refused in unseen rounds as well.
        for _ in 0..20 {
            world.next(&mut rng).unwrap();
            assert_eq!(world.play(&Arm(3)), Err(EnvError::Decision("arm 3".to_owned())));
        }
    }
}

/// E' of E': weights and ranges multiply, and the estimate stays unbiased (4 standard errors, chance 6e-5).
#[test]
fn it_nests() {
    let params = table("schedule = \"constant\"\nrange = 2");
    let once = induce(plain(), &params, ROUNDS).unwrap();
    let AnyEnvironment::Arms(mut twice) = induce(once, &params, ROUNDS).unwrap() else { unreachable!() };
    assert_eq!(twice.about().range, 4.0);
    let mut rng = Pcg64Dxsm::seed_from_u64(8);
    let mut total = 0.0;
    for _ in 0..ROUNDS {
        twice.next(&mut rng).unwrap();
        let feedback = twice.play(&Arm(1)).unwrap();
        assert!([0.0, 4.0].contains(&feedback.weight()));
        total += feedback.estimate();
    }
    let n = ROUNDS as f64;
    assert!((total / n - 0.5).abs() < 4.0 * (4.0 / n).sqrt(), "{}", total / n);
}

#[test]
fn bad_tables_are_refused_with_a_reason() {
    let said = |text: &str| induce(plain(), &table(text), 100).unwrap_err().to_string();
    let cases = [
        ("", r#"environment "schedule": the key "schedule" is missing"#),
        ("schedule = 3", r#"environment "schedule": schedule must be a name, but is 3"#),
        ("schedule = \"constnt\"", r#"unknown schedule "constnt"; did you mean "constant"?"#),
        ("schedule = \"constant\"", r#"schedule "constant": the key "range" is missing"#),
        (
            "schedule = \"constant\"\nrange = 0.5",
            r#"schedule "constant": range must be at least 1, but is 0.5"#,
        ),
        (
            "schedule = \"constant\"\nrange = nan",
            r#"schedule "constant": range must be at least 1, but is NaN"#,
        ),
        (
            "schedule = \"constant\"\nrange = inf",
            r#"schedule "constant": range must be at least 1, but is inf"#,
        ),
        ("schedule = \"constant\"\nrange = 2\nperiod = 3", r#"unknown key of constant "period""#),
        (
            "schedule = \"bursts\"\nrange = 2\nperiod = 3\nlength = 4",
            r#"schedule "bursts": length must be at most the period, 3, but is 4"#,
        ),
        (
            "schedule = \"recorded\"",
            r#"schedule "recorded": probabilities must be numbers in (0, 1], but is an empty list"#,
        ),
        (
            "schedule = \"recorded\"\nprobabilities = [0.5, 0.0]",
            r#"schedule "recorded": probabilities must be numbers in (0, 1], but is 0 at index 1"#,
        ),
        (
            "schedule = \"recorded\"\nfile = \"no/such/file\"",
            r#"schedule "recorded": no/such/file: no such file, neither here nor in the folder of CORRAL_DATA"#,
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(said(text), expected);
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "# pbar\n0.5\n\n1.5\n").unwrap();
    let text = format!("schedule = \"recorded\"\nfile = {:?}", file.path().to_str().unwrap());
    assert!(
        said(&text).ends_with(r#":4: column 0 holds "1.5", no probability in (0, 1]"#),
        "{}",
        said(&text)
    );
    std::fs::write(file.path(), "0.5\n0.25\n").unwrap();
    let AnyEnvironment::Arms(world) = induce(plain(), &table(&text), 100).unwrap() else { unreachable!() };
    assert_eq!(world.about().range, 4.0);
}

#[test]
fn a_decision_can_be_listed_for_arms() {
    let witness = Witness(Vec::new(), Context::plain(3));
    assert_eq!(<Arm as Listed<Context>>::extremes(&witness), Some((0.0, Arm(2))));
}

/// E' around every world of points, by every schedule: weights within the range, means those of the world.
#[test]
fn worlds_of_points_can_be_induced() {
    use corral_core::{Point, Space};
    for entry in corral_envs::entries().filter(|e| e.kind == Kind::Points) {
        for schedule in SCHEDULES.entries() {
            let range = if schedule.name == "recorded" { "probabilities = [0.5]" } else { "range = 4" };
            for substitute in ["last", "own", "first", "worst"] {
                let params = table(&format!(
                    "schedule = \"{}\"\n{range}\nsubstitute = \"{substitute}\"",
                    schedule.name
                ));
                let example = table(corral_envs::example(entry.name).unwrap());
                let inner = build(entry.name, &example, 60, &mut Pcg64Dxsm::seed_from_u64(1)).unwrap();
                let AnyEnvironment::Points(mut world) = induce(inner, &params, 60).unwrap() else {
                    unreachable!()
                };
                let Space::Points(set) = world.setup().space else { unreachable!() };
                let centre =
                    Point::from(set.vertices(1 << 10).map_or_else(|| set.centre(), |v| v[0].clone()));
                let mut rng = Pcg64Dxsm::seed_from_u64(2);
                for _ in 0..60 {
                    let range = world.about().range;
                    world.next(&mut rng).unwrap();
                    let weight = world.play(&centre).unwrap().weight();
                    assert!(
                        weight == 0.0 || (1.0..=range).contains(&weight),
                        "{} {}",
                        entry.name,
                        schedule.name
                    );
                }
                assert!(world.play(&Point::from(vec![1e9; set.dim()])).is_err(), "{}", entry.name);
            }
        }
    }
}
