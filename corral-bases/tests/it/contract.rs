//! Every base over arms of this file's list is held to the laws of `corral_core::contract`.

use corral_bases::{Learner, build};
use corral_core::contract::{self, OnRange, Subject};
use corral_core::{Arm, Base, BaseError, Context, ContextShape, Setup};

fn make(name: &str, params: &str, setup: &Setup) -> Box<dyn Base<Context, Arm>> {
    match build(name, &params.parse().unwrap(), setup) {
        Ok(Learner::Arms(base)) => base,
        Ok(_) => panic!("{name} decides on points"),
        Err(e) => panic!("{name} {params}: {e}"),
    }
}

/// Holds a base to all laws; `tune` declares what is special about it.
fn hold<'a>(
    name: &'a str,
    params: &'a str,
    setup: &'a Setup,
    on_range: OnRange,
    tune: impl FnOnce(Subject<'a, Context, Arm>) -> Subject<'a, Context, Arm>,
) {
    let subject = Subject::arms(name, setup, move || Ok::<_, BaseError>(make(name, params, setup)));
    let subject = tune(subject.on_range(on_range).counts_rounds());
    for (law, verdict) in contract::check_all(&subject) {
        assert!(verdict.is_ok(), "{name} {{ {params} }}, {law}: {}", verdict.unwrap_err());
    }
}

/// What bands with a budget fall back on has no name of its own in the registry.
#[test]
fn the_cheapest_action() {
    let setup = Setup::arms(4, None);
    let make = || -> Result<Box<dyn Base<Context, Arm>>, BaseError> {
        Ok(Box::new(corral_bases::Cheapest::new(1.0, &setup)?))
    };
    let subject = Subject::arms("cheapest", &setup, make).on_range(OnRange::Keep).counts_rounds();
    for (law, verdict) in contract::check_all(&subject) {
        assert!(verdict.is_ok(), "cheapest, {law}: {}", verdict.unwrap_err());
    }
}

#[test]
fn arms() {
    for horizon in [Some(200_000), None] {
        let setup = Setup::arms(4, horizon);
        for (name, params, on_range) in [
            ("fixed", "arm = 2", OnRange::Keep),
            ("random", "", OnRange::Keep),
            ("exp3", "", OnRange::Restart),
            ("exp3", "ix = true", OnRange::Restart),
            ("exp3", "range_change = \"retune\"", OnRange::Retune),
            ("tsallis-inf", "", OnRange::Restart),
            ("tsallis-inf", "reduced_variance = true", OnRange::Restart),
            ("tsallis-inf", "range_change = \"retune\"", OnRange::Retune),
            ("ucb1", "", OnRange::Keep),
            ("ucb1", "range_change = \"restart\"", OnRange::Restart),
            ("ucb1", "width = \"published\"\nscale = 0.5", OnRange::Keep),
            ("ucb1", "scale = 0.0\nties = \"random\"", OnRange::Keep),
            ("ucb-v", "", OnRange::Keep),
            ("kl-ucb", "", OnRange::Keep),
            ("kl-ucb", "c = 3.0\nrange_change = \"restart\"", OnRange::Restart),
            ("moss", "ties = \"random\"", OnRange::Keep),
            ("epsilon-greedy", "", OnRange::Retune),
            ("epsilon-greedy", "epsilon = 0.1\nrange_change = \"keep\"", OnRange::Keep),
            ("epsilon-greedy", "range_change = \"restart\"", OnRange::Restart),
            ("thompson", "", OnRange::Keep),
            ("thompson", "range_change = \"restart\"\nfractional = true", OnRange::Restart),
            (
                "thompson",
                "prior = { gaussian = { mean = [0.5], variance = [0.1], noise = 0.25 } }",
                OnRange::Keep,
            ),
        ] {
            hold(name, params, &setup, on_range, |s| if name == "thompson" { s.own_memos() } else { s });
        }
    }
}

#[test]
fn arms_alone() {
    let setup = Setup::arms(1, Some(100_000));
    for name in ["exp3", "tsallis-inf", "ucb1", "ucb-v", "kl-ucb", "moss", "epsilon-greedy", "thompson"] {
        let on_range = match name {
            "exp3" | "tsallis-inf" => OnRange::Restart,
            "epsilon-greedy" => OnRange::Retune,
            _ => OnRange::Keep,
        };
        hold(name, "", &setup, on_range, |s| if name == "thompson" { s.own_memos() } else { s });
    }
}

#[test]
fn posteriors() {
    let setup = Setup::arms(3, None);
    let covariance = "[[0.04, 0.03, 0.0], [0.03, 0.05, -0.01], [0.0, -0.01, 0.02]]";
    let correlated =
        format!("prior = {{ correlated = {{ mean = [0.5], covariance = {covariance}, noise = 0.25 }} }}");
    let means = "[[0.1, 0.9, 0.5], [0.5, 0.2, 0.7], [0.6, 0.6, 0.3]]";
    let finite = format!(
        "prior = {{ finite = {{ weights = [1.0, 2.0, 1.0], means = {means}, noise = \"bernoulli\" }} }}"
    );
    let particles = format!("prior = {{ particles = {{ means = {means}, noise = {{ gaussian = 0.25 }} }} }}");
    let good = "prior = { one-good-arm = { probabilities = [1.0], gap = 0.3 } }";
    for params in [&correlated, &finite, &particles, good] {
        hold("thompson", params, &setup, OnRange::Keep, |s| s.own_memos().rounds(20_000));
    }
}

fn shared(features: usize, horizon: Option<u64>) -> Setup {
    let mut setup = Setup::arms(4, horizon);
    setup.context = ContextShape { features, ..ContextShape::default() };
    setup
}

fn rows(row_features: usize, horizon: Option<u64>) -> Setup {
    let mut setup = Setup::arms(4, horizon);
    setup.context = ContextShape { row_features, ..ContextShape::default() };
    setup
}

#[test]
fn linear() {
    for setup in [shared(3, Some(200_000)), rows(3, Some(200_000)), shared(2, None)] {
        for (name, params, on_range) in [
            ("greedy", "", OnRange::Keep),
            ("greedy", "ties = \"lowest\"\nrange_change = \"restart\"", OnRange::Restart),
            ("epsilon-greedy", "", OnRange::Retune),
            ("epsilon-greedy", "epsilon = 0.05", OnRange::Retune),
            ("linucb", "", OnRange::Keep),
            ("linucb", "alpha = 0.1\nmodel = { weighted = true, ridge = 0.1 }", OnRange::Keep),
            ("linucb", "range_change = \"restart\"", OnRange::Restart),
            ("lints", "", OnRange::Keep),
            ("lints", "scale = 0.25\ndraw = \"independent\"", OnRange::Keep),
            ("squarecb", "", OnRange::Retune),
            ("squarecb", "gamma = 10.0\nforecast = \"vaw\"\nrange_change = \"keep\"", OnRange::Keep),
            ("squarecb", "range_change = \"restart\"\nties = \"lowest\"", OnRange::Restart),
            ("regcb", "", OnRange::Keep),
            ("nlms", "", OnRange::Keep),
            ("nlms", "weighted = true", OnRange::Keep),
        ] {
            hold(name, params, &setup, on_range, |s| s.rounds(20_000));
        }
    }
}

#[test]
fn generalised_linear() {
    for (setup, params) in [
        (shared(3, Some(200_000)), ""),
        (rows(3, Some(200_000)), "link = \"probit\""),
        (rows(2, None), "link = \"exponential\"\nrange_change = \"restart\""),
        (shared(2, None), "link = \"identity\""),
    ] {
        let on_range = if params.contains("restart") { OnRange::Restart } else { OnRange::Keep };
        hold("glm-ucb", params, &setup, on_range, |s| s.rounds(2_000));
    }
}

#[test]
fn representations() {
    let mut finite = Setup::arms(4, None);
    finite.context.cells = Some(5);
    hold("linucb", "features = \"one-hot\"", &finite, OnRange::Keep, |s| s.rounds(2_000));
    hold("greedy", "features = \"bias\"", &Setup::arms(4, None), OnRange::Keep, |s| s.rounds(2_000));
    let plain = shared(3, None);
    for features in [
        "\"polynomial\"",
        "{ hashed = { dims = 4, seed = 1 } }",
        "{ hashed-pairs = { dims = 4, seed = 1 } }",
        "{ fourier = { dims = 6, bandwidth = 0.5, seed = 1 } }",
    ] {
        let params = format!("features = {features}");
        hold("squarecb", &params, &plain, OnRange::Retune, |s| s.rounds(2_000));
        hold("lints", &params, &rows(2, None), OnRange::Keep, |s| s.rounds(2_000));
    }
}
