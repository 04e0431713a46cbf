//! The laws that every oracle owes, by brute force on small classes.

use corral_core::policy::{Policy, Tree};
use corral_core::{Context, ContextShape, Setup};
use proptest::prelude::*;
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

use super::*;

/// A world with `features` shared features, `cells` finite contexts and `actions` actions.
pub(crate) fn world(actions: usize, features: usize, cells: Option<usize>) -> Setup {
    let mut setup = Setup::arms(actions, Some(1000));
    setup.context = ContextShape { features, row_features: 0, cells };
    setup
}

fn trees(depth: usize, search: TreeSearch) -> TreeParams {
    TreeParams { depth, bins: 4, search, min_examples: 1, ..TreeParams::default() }
}

/// A small data set: rows of two features in quarters, and signed costs, dense or single.
fn data(rows: &[((i8, i8), Vec<i8>)], actions: usize, dense: bool) -> (Sites, Costs) {
    let mut sites = Sites::new(Reads { actions, cells: None, features: Some(2) });
    let mut costs = Costs::new(actions);
    for ((a, b), row) in rows {
        let x = Context::shared(vec![f64::from(*a) / 4.0, f64::from(*b) / 4.0], actions);
        let site = sites.enter(&x).unwrap();
        if dense {
            let block = costs.block(&sites);
            (0..actions).for_each(|k| block[site * actions + k] = f64::from(row[k]));
        } else {
            let action = row[0].unsigned_abs() as usize % actions;
            costs.observe(&sites, site, action, 2.0, f64::from(row[1]));
        }
    }
    (sites, costs)
}

/// All trees of at most `depth` with splits between quarters.
fn all_trees(depth: usize, actions: usize) -> Vec<Tree> {
    let mut all: Vec<Tree> = (0..actions).map(|a| Tree::leaf(a as u16)).collect();
    if depth > 0 {
        let below = all_trees(depth - 1, actions);
        for feature in 0..2 {
            for cut in [-0.125, 0.125, 0.375] {
                for l in &below {
                    for r in below.iter().filter(|r| *r != l) {
                        all.push(Tree::split(feature, cut, l.clone(), r.clone()).unwrap());
                    }
                }
            }
        }
    }
    all
}

fn any_rows(n: usize) -> impl Strategy<Value = Vec<((i8, i8), Vec<i8>)>> {
    prop::collection::vec(((-1i8..2, -1i8..2), prop::collection::vec(-5i8..6, 3)), 1..n)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_finite_oracle_finds_the_least_and_does_not_depend_on_its_workspace(
        tables in prop::collection::vec(prop::collection::vec(0u16..3, 4), 1..12),
        seen in prop::collection::vec((0usize..4, 0usize..3, -3i8..4), 0..30),
    ) {
        let setup = world(3, 0, Some(4));
        let policies: Vec<Policy> = tables.into_iter().map(Policy::Table).collect();
        let class = FiniteClass::new(policies.clone(), &setup).unwrap();
        let (mut sites, mut costs, mut work) = (Sites::new(class.reads()), Costs::new(3), Workspace::default());
        for (cell, action, loss) in seen {
            let site = sites.enter(&Context::tabular(cell, 3)).unwrap();
            costs.observe(&sites, site, action, 1.5, f64::from(loss));
            let grown = class.minimise(&sites, &costs, &mut work).unwrap();
            let fresh = class.minimise(&sites, &costs, &mut Workspace::default()).unwrap();
            prop_assert_eq!(&grown, &fresh);
            let values: Vec<f64> = policies.iter().map(|p| costs.of(&sites, p)).collect();
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            prop_assert_eq!(grown.value, least);
            // Ties go to the first.
            let first = values.iter().position(|v| *v == least).unwrap();
            prop_assert_eq!(&*grown.policy, &policies[first]);
        }
    }

    #[test]
    fn a_finite_oracle_over_features_finds_the_least(rows in any_rows(20), dense: bool) {
        let setup = world(3, 2, None);
        let class = FiniteClass::new(all_trees(1, 3).into_iter().map(Policy::from), &setup).unwrap();
        let (sites, costs) = data(&rows, 3, dense);
        let found = class.minimise(&sites, &costs, &mut Workspace::default()).unwrap();
        let least = class.enumerate().unwrap().iter().map(|p| costs.of(&sites, p)).fold(f64::INFINITY, f64::min);
        prop_assert_eq!(found.value, least);
        prop_assert_eq!(costs.of(&sites, &found.policy), least);
    }

    #[test]
    fn an_exact_tree_is_the_least_of_all_trees(rows in any_rows(20), dense: bool, depth in 1usize..3) {
        let setup = world(2, 2, None);
        let class = TreeClass::new(&trees(depth, TreeSearch::Exact), &setup).unwrap();
        let (sites, costs) = data(&rows, 2, dense);
        let found = class.minimise(&sites, &costs, &mut Workspace::default()).unwrap();
        prop_assert!(found.exact);
        // Thresholds are made from the first 2^k rows: repeat them all so that these have every value.
        let whole = rows.len().is_power_of_two();
        let all = all_trees(depth, 2);
        let least = all.iter().map(|t| costs.of(&sites, &t.clone().into())).fold(f64::INFINITY, f64::min);
        prop_assert!((costs.of(&sites, &found.policy) - found.value).abs() <= 1e-9);
        prop_assert!(found.value >= least - 1e-9);
        if whole {
            prop_assert!((found.value - least).abs() <= 1e-9, "{} and {least}", found.value);
        }
    }

    #[test]
    fn deeper_searches_never_cost_more(rows in any_rows(16), dense: bool) {
        let setup = world(3, 2, None);
        let (sites, costs) = data(&rows, 3, dense);
        let cost = |depth, search| {
            let class = TreeClass::new(&trees(depth, search), &setup).unwrap();
            let found = class.minimise(&sites, &costs, &mut Workspace::default()).unwrap();
            assert!((costs.of(&sites, &found.policy) - found.value).abs() <= 1e-9);
            if let Policy::Tree(tree) = &*found.policy {
                assert!(tree.depth() <= depth);
            }
            found.value
        };
        let exact: Vec<f64> = (1..=3).map(|d| cost(d, TreeSearch::Exact)).collect();
        let ahead: Vec<f64> = (1..=3).map(|d| cost(d, TreeSearch::LookAhead)).collect();
        let greedy: Vec<f64> = (1..=3).map(|d| cost(d, TreeSearch::Greedy)).collect();
        for d in 0..3 {
            prop_assert!(exact[d] <= ahead[d] + 1e-9 && exact[d] <= greedy[d] + 1e-9);
            prop_assert!(d == 0 || (exact[d] <= exact[d - 1] + 1e-9 && greedy[d] <= greedy[d - 1] + 1e-9));
        }
        prop_assert!((exact[0] - greedy[0]).abs() <= 1e-9, "one level is always exact");
        prop_assert!((exact[1] - ahead[1]).abs() <= 1e-9, "look-ahead is exact for two levels");
    }

    #[test]
    fn a_ridge_that_grew_equals_one_made_at_once(rows in any_rows(24), dense: bool) {
        let setup = world(3, 2, None);
        let class = LinearClass::new(&LinearParams::default(), &setup).unwrap();
        let mut work = Workspace::default();
        let grown = (1..=rows.len()).map(|n| {
            let (sites, costs) = data(&rows[..n], 3, dense);
            class.minimise(&sites, &costs, &mut work).unwrap()
        }).last().unwrap();
        let (sites, costs) = data(&rows, 3, dense);
        let fresh = class.minimise(&sites, &costs, &mut Workspace::default()).unwrap();
        prop_assert_eq!(grown, fresh);
    }
}

#[test]
fn look_ahead_finds_exclusive_or_and_greedy_does_not() {
    // Cost 1 for action 0 where the signs differ, for action 1 where they agree: no single split gains.
    let mut rows = Vec::new();
    for (a, b) in [(-1, -1), (-1, 1), (1, -1), (1, 1)] {
        let differ = i8::from(a != b);
        rows.push(((a, b), vec![differ, 1 - differ, 0]));
    }
    let setup = world(2, 2, None);
    let (sites, costs) = data(&rows, 2, true);
    let cost = |search| {
        let class = TreeClass::new(&trees(2, search), &setup).unwrap();
        class.minimise(&sites, &costs, &mut Workspace::default()).unwrap().value
    };
    assert_eq!(cost(TreeSearch::Greedy), 2.0);
    assert_eq!(cost(TreeSearch::LookAhead), 0.0);
    assert_eq!(cost(TreeSearch::Exact), 0.0);
}

#[test]
fn a_deep_tree_learns_a_planted_one() {
    // A planted tree of depth 3 over 5 features, full costs of 4000 examples, 2000 fresh contexts, fixed seed: with
    // look-ahead at most 5 % of the actions are wrong; greedy by itself stops where no single split gains, and must
    // still be wrong on less than half of what the best constant is.
    let mut rng = Pcg64Dxsm::seed_from_u64(11);
    let planted = Tree::draw(3, 5, 3, (0.0, 1.0), &mut rng).unwrap();
    let setup = world(3, 5, None);
    let mut draw = || -> Vec<f64> { (0..5).map(|_| corral_core::uniform(&mut rng)).collect() };
    let (mut sites, mut costs) =
        (Sites::new(Reads { actions: 3, cells: None, features: Some(5) }), Costs::new(3));
    for _ in 0..4000 {
        let x = draw();
        let right = planted.act(&x).unwrap();
        let site = sites.enter(&Context::shared(x, 3)).unwrap();
        let block = costs.block(&sites);
        (0..3).for_each(|a| block[site * 3 + a] = if a == right { 0.0 } else { 1.0 });
    }
    let fresh: Vec<Context> = (0..2000).map(|_| Context::shared(draw(), 3)).collect();
    let wrong = |p: &Policy| fresh.iter().filter(|x| p.act(x) != planted.act(x.features())).count();
    let learned = |search| {
        let class =
            TreeClass::new(&TreeParams { depth: 10, search, ..TreeParams::default() }, &setup).unwrap();
        class.minimise(&sites, &costs, &mut Workspace::default()).unwrap().policy
    };
    assert!(wrong(&learned(TreeSearch::LookAhead)) <= 100);
    let constant = (0..3).map(|a| wrong(&Tree::leaf(a).into())).min().unwrap();
    assert!(2 * wrong(&learned(TreeSearch::Greedy)) < constant);
}

#[test]
fn a_linear_policy_learns_a_linear_world() {
    // Costs linear in the features: ridge recovers the argmin but near its boundary.
    let setup = world(2, 2, None);
    let class = LinearClass::new(&LinearParams { ridge: 1e-6, ..LinearParams::default() }, &setup).unwrap();
    let (mut sites, mut costs) = (Sites::new(class.reads()), Costs::new(2));
    let mut rng = Pcg64Dxsm::seed_from_u64(3);
    for i in 0..200 {
        let x = vec![corral_core::uniform(&mut rng), corral_core::uniform(&mut rng)];
        let cost = [0.2 + 0.5 * x[0], 0.1 + 0.6 * x[1]];
        let site = sites.enter(&Context::shared(x, 2)).unwrap();
        costs.observe(&sites, site, i % 2, 2.0, cost[i % 2]);
    }
    let found = class.minimise(&sites, &costs, &mut Workspace::default()).unwrap();
    let Policy::Linear(linear) = &*found.policy else { panic!("not linear") };
    for (row, expected) in [(0, [-0.5, 0.0]), (1, [0.0, -0.6])] {
        for (w, e) in linear.row(row).unwrap().iter().zip(expected) {
            assert!((w - e).abs() < 1e-5, "{w} and {e}");
        }
    }
    assert!(!found.exact);
}

#[test]
fn sub_classes_have_no_repetition_and_stable_values() {
    let setup = world(3, 4, None);
    let class =
        Policies::Trees(TreeParams { depth: 2, sample: 50, ..TreeParams::default() }).class(&setup).unwrap();
    let policies = class.enumerate().unwrap();
    assert_eq!(policies.len(), 50);
    let distinct: std::collections::HashSet<_> = policies.iter().collect();
    assert_eq!(distinct.len(), 50);
    assert_eq!(class.enumerate().unwrap(), policies);
    let x = Context::shared(vec![0.1, -0.3, 0.7, 0.2], 3);
    let acts: Vec<usize> = policies.iter().take(12).map(|p| p.act(&x).unwrap()).collect();
    assert_eq!(acts, [0, 1, 2, 2, 0, 0, 1, 0, 1, 0, 1, 1]);
    let class =
        Policies::Linear(LinearParams { sample: 20, ..LinearParams::default() }).class(&setup).unwrap();
    let acts: Vec<usize> = class.enumerate().unwrap().iter().map(|p| p.act(&x).unwrap()).collect();
    assert_eq!(acts, [0, 1, 2, 2, 2, 2, 1, 2, 1, 1, 0, 0, 0, 0, 1, 2, 1, 2, 2, 1]);
}

#[test]
fn sizes_are_the_formulas() {
    let setup = world(3, 4, None);
    let size = |p: Policies, horizon| p.class(&setup).unwrap().ln_size(horizon);
    let d = |depth| Policies::Trees(TreeParams { depth, bins: 11, ..TreeParams::default() });
    // (2^D - 1) ln m + 2^D ln K, m = 4 * 10
    assert!((size(d(2), 10.0) - (3.0 * 40f64.ln() + 4.0 * 3f64.ln())).abs() < 1e-12);
    assert!((size(d(20), 10.0) - (63.0 * 40f64.ln() + 64.0 * 3f64.ln())).abs() < 1e-12);
    let given = TreeParams { ln_size: crate::common::Setting::Given(7.0), ..TreeParams::default() };
    assert_eq!(size(Policies::Trees(given), 10.0), 7.0);
    assert!((size(Policies::Linear(LinearParams::default()), 100.0) - 15.0 * 100f64.ln()).abs() < 1e-12);
}

#[test]
fn classes_that_cannot_be_are_refused_with_the_value() {
    let setup = world(3, 4, None);
    let no = |p: Policies| p.class(&setup).unwrap_err().to_string();
    let t = TreeParams::default;
    assert_eq!(no(Policies::Trees(TreeParams { depth: 0, ..t() })), "depth must be in [1, 20], but is 0");
    assert_eq!(
        no(Policies::Trees(TreeParams { depth: 4, search: TreeSearch::Exact, ..t() })),
        "depth must be 1 to 3 for an exact search, but is 4"
    );
    assert_eq!(no(Policies::Trees(TreeParams { bins: 300, ..t() })), "bins must be in [2, 256], but is 300");
    assert!(no(Policies::Trees(TreeParams { interval: [0.0, f64::NAN], ..t() })).starts_with("interval"));
    assert!(no(Policies::Linear(LinearParams { ridge: 0.0, ..Default::default() })).starts_with("ridge"));
    assert!(no(Policies::Environment).contains("environment with a policy class"));
    let mut with = setup.clone();
    with.policies = Some([Policy::Table(vec![0])].into());
    assert!(Policies::Auto.class(&with).is_err());
    assert!(Policies::Auto.class(&world(0, 0, None)).is_err());
    // Without side information: the constant policies.
    assert_eq!(Policies::Auto.class(&world(4, 0, None)).unwrap().enumerate().unwrap().len(), 4);
}

#[test]
fn a_spec_says_classes_in_words() {
    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct P {
        policies: Policies,
    }
    let read = |text: &str| toml::from_str::<P>(text).map(|p| p.policies);
    assert_eq!(read("policies = \"environment\"").unwrap(), Policies::Environment);
    let trees = TreeParams { depth: 3, search: TreeSearch::LookAhead, ..TreeParams::default() };
    assert_eq!(
        read("policies = { trees = { depth = 3, search = \"look-ahead\" } }").unwrap(),
        Policies::Trees(trees)
    );
    assert_eq!(read("policies = { linear = {} }").unwrap(), Policies::Linear(LinearParams::default()));
    assert!(read("policies = { trees = { dept = 3 } }").is_err());
    assert!(read("policies = \"forest\"").is_err());
}
