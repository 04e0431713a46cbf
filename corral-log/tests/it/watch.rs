//! What a running band says of its bases is true at every look.

use corral_bases::band::Assembler;
use corral_bases::band::{MasterRecipe, Recipe};
use corral_core::registry::Kind;
use corral_core::{Arm, Context, EnsembleParams, Propensities, Setup, uniform};
use corral_log::{Bounds, MOST_COMPARED, Watch, Watched};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

/// Three fixed arms and a learner; the arms have known values, and the learner's at each round is what it plays. In 30 runs, looked
/// at every 50 rounds, nothing that is said is false: at level 0.1 the probability of 9 or more runs with a miss is below 0.002.
#[test]
fn what_is_said_of_bases_holds_at_every_look() {
    let means = [0.8, 0.5, 0.3];
    let (mut missed, mut decided) = (0, 0);
    for seed in 0..30 {
        let setup = Setup::arms(3, None);
        let build = Assembler::new(&setup);
        let master = MasterRecipe::default();
        let member = |recipe: &str| {
            let table: toml::Table = recipe.parse().unwrap();
            build.member::<Arm>(&master, &Recipe::try_from(table).unwrap()).unwrap()
        };
        let recipes =
            ["name = 'fixed'\narm = 0", "name = 'fixed'\narm = 1", "name = 'random'", "name = 'thompson'"];
        let params =
            EnsembleParams { propensities: Propensities::Full, ..EnsembleParams::practical(Kind::Arms) };
        let mut band = build.ensemble(&master, recipes.iter().map(|r| member(r)).collect(), params).unwrap();
        let mut watch = Watch::new(4);
        let mut rng = Pcg64Dxsm::seed_from_u64(100 + seed);
        let x = Context::plain(3);
        // The mean over rounds of each base's own value.
        let (mut truth, mut wrong, mut rounds) = ([0.0; 4], false, 0.0);
        for t in 0..1_500 {
            let ticket = band.choose(&x, &mut rng).unwrap();
            let reward = f64::from(u32::from(uniform(&mut rng) < means[ticket.decision.index()]));
            if !ticket.is_forced() {
                rounds += 1.0;
                for (base, sum) in truth.iter_mut().enumerate() {
                    *sum += (0..3).map(|a| ticket.whole()[3 * base + a] * means[a]).sum::<f64>();
                }
            }
            watch.see(&ticket, reward);
            band.learn(&x, ticket, 1.0 - reward).unwrap();
            if t % 50 == 49 {
                let now = watch.now(0.1);
                for (value, truth) in now.values.iter().zip(&truth) {
                    let (value, truth) = (value.unwrap(), truth / rounds);
                    wrong |= !(value.low <= truth && truth <= value.high);
                }
                if let Some((best, lead)) = now.best {
                    let other = (0..4).filter(|b| *b != best).map(|b| truth[b]).fold(0.0, f64::max);
                    wrong |=
                        truth[best] <= other || !(lead.low..=1.0).contains(&((truth[best] - other) / rounds));
                }
            }
        }
        missed += u32::from(wrong);
        decided += u32::from(watch.now(0.1).best.is_some_and(|(best, _)| best == 0));
    }
    assert!(missed <= 8, "{missed} of 30");
    // Thompson sampling plays the best arm almost always: the lead over it is small, so that few runs decide.
    assert!(decided <= 30);
}

#[test]
fn a_clear_lead_is_said_and_saved() {
    let setup = Setup::arms(2, None);
    let build = Assembler::new(&setup);
    // A master that goes on following both: what is not played is not learned about.
    let master = MasterRecipe::named("uniform");
    let member = |arm: usize| {
        let table: toml::Table = format!("name = 'fixed'\narm = {arm}").parse().unwrap();
        build.member::<Arm>(&master, &Recipe::try_from(table).unwrap()).unwrap()
    };
    let params = EnsembleParams { propensities: Propensities::Full, ..EnsembleParams::practical(Kind::Arms) };
    let mut band = build.ensemble(&master, vec![member(0), member(1)], params).unwrap();
    let mut watch = Watch::new(2);
    assert_eq!(watch.now(0.05).best, None);
    let (x, mut rng) = (Context::plain(2), Pcg64Dxsm::seed_from_u64(1));
    for _ in 0..2_000 {
        let ticket = band.choose(&x, &mut rng).unwrap();
        let reward = f64::from(u32::from(uniform(&mut rng) < [0.2, 0.9][ticket.decision.index()]));
        watch.see(&ticket, reward);
        band.learn(&x, ticket, 1.0 - reward).unwrap();
    }
    let now = watch.now(0.05);
    let (best, lead) = now.best.unwrap();
    assert!(best == 1 && lead.low > 0.2 && lead.high < 1.0, "{lead:?}");
    let names = ["worse".to_owned(), "better".to_owned()];
    assert!(now.text(&names).contains("better is best, by 0."), "{}", now.text(&names));
    assert!(now.prometheus("b", &names).contains("corral_base_value_low{band=\"b\",base=\"better\"} 0."));
    let bytes = serde_json::to_vec(&watch).unwrap();
    assert_eq!(serde_json::from_slice::<Watch>(&bytes).unwrap(), watch);
}

/// In the units of the rewards, and as Prometheus reads it.
#[test]
fn what_is_known_is_said_in_units_of_the_rewards() {
    let bounds = |value, low, high| Bounds { value, low, high };
    let watched = Watched {
        rounds: 9,
        values: vec![Some(bounds(0.5, 0.25, 0.75)), None],
        best: Some((0, bounds(0.25, 0.125, 0.5))),
    };
    let scaled = watched.scaled(-10.0, 10.0);
    assert_eq!(scaled.values, [Some(bounds(0.0, -5.0, 5.0)), None]);
    assert_eq!(scaled.best, Some((0, bounds(5.0, 2.5, 10.0))));
    let names = ["a".to_owned(), "b".to_owned()];
    let text = scaled.prometheus("x", &names);
    for line in [
        "# HELP corral_base_value ",
        "corral_base_value_low{band=\"x\",base=\"a\"} -5",
        "corral_base_best{band=\"x\",base=\"a\"} 1",
        "corral_base_best{band=\"x\",base=\"b\"} 0",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(!text.contains("value{band=\"x\",base=\"b\"}"), "what is not known is left out: {text}");
}

/// A base that is replaced begins anew; the others go on.
#[test]
fn a_base_that_is_replaced_begins_anew() {
    let setup = Setup::arms(2, None);
    let build = Assembler::new(&setup);
    let master = MasterRecipe::default();
    let member = |name: &str| build.member::<Arm>(&master, &Recipe::from(name)).unwrap();
    let params = EnsembleParams { propensities: Propensities::Full, ..EnsembleParams::practical(Kind::Arms) };
    let members = ["ucb1", "exp3", "thompson"].map(member).into();
    let mut band = build.ensemble(&master, members, params).unwrap();
    let mut rng = Pcg64Dxsm::seed_from_u64(5);
    let (x, mut watch) = (Context::plain(2), Watch::new(3));
    for _ in 0..50 {
        let ticket = band.choose(&x, &mut rng).unwrap();
        let reward = if ticket.decision.index() == 1 { 0.8 } else { 0.3 };
        watch.see(&ticket, reward);
        band.learn(&x, ticket, 1.0 - reward).unwrap();
    }
    let before = watch.now(0.1).values;
    watch.replace(1);
    let after = watch.now(0.1).values;
    assert!(before[1].is_some() && after[1].is_none(), "{after:?}");
    assert_eq!((before[0], before[2]), (after[0], after[2]));
    watch.replace(7);
}

/// The number of differences grows as the square: with very many bases they are not followed, which is said.
#[test]
fn of_very_many_bases_it_is_said_that_none_is_best() {
    for (bases, said) in
        [(MOST_COMPARED, "is not decided"), (MOST_COMPARED + 1, "is not followed: there are more than 32")]
    {
        let text = Watch::new(bases).now(0.05).text(&[]);
        assert!(text.contains(said), "{text}");
    }
}
