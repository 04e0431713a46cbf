//! Speed of the bases over points.

use corral_bases::BaseParams;
use std::hint::black_box;

use corral_bases::points::{BgdParams, OfulParams, ScribleParams};
use corral_core::{Base, Feedback, Point, Proposal, Set, Setup, Space};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

fn setup(set: Set) -> Setup {
    Setup::new(Space::Points(set), None)
}

/// A round: a proposal into the same buffer, and its loss.
fn round(base: &mut dyn Base<(), Point>, rng: &mut Pcg64Dxsm, made: &mut Proposal<Point>) {
    if made.refill(base, &(), rng).is_ok() {
        let loss = 0.5 + 0.3 * made.decision.0[0];
        let _ = black_box(base.learn(&(), made, Feedback::plain(loss.clamp(0.0, 1.0))));
    }
}

fn run(c: &mut Criterion, group: &str, cases: Vec<(String, Box<dyn Base<(), Point>>)>) {
    let mut group = c.benchmark_group(group);
    for (name, mut base) in cases {
        let mut rng = Pcg64Dxsm::seed_from_u64(1);
        let mut made = Proposal::default();
        group.bench_function(BenchmarkId::from_parameter(name), |b| {
            b.iter(|| round(&mut *base, &mut rng, &mut made))
        });
    }
    group.finish();
}

fn scrible(set: Set) -> Box<dyn Base<(), Point>> {
    Box::new(ScribleParams::default().build(&setup(set)).expect("a convex set"))
}

// Is a round of SCRiBLe O(d) on the closed-form sets? From d = 10 to d = 1000 the time may grow by 130 at most.
fn closed_forms(c: &mut Criterion) {
    for dim in [10usize, 100, 1000] {
        let cases = vec![
            (format!("ball/{dim}"), scrible(Set::Ball { dim })),
            (format!("box/{dim}"), scrible(Set::Box { dim })),
            (format!("simplex/{dim}"), scrible(Set::Simplex { vertices: dim + 1 })),
        ];
        run(c, "scrible closed forms", cases);
    }
}

// What does a round cost where Newton's method and a factorisation are needed?
fn polytopes(c: &mut Criterion) {
    let cases = [2usize, 5, 10, 20]
        .into_iter()
        .filter_map(|dim| {
            let rows: Vec<Vec<f64>> = (0..2 * dim)
                .map(|k| {
                    (0..dim).map(|j| if j == k / 2 { 1.0 - 2.0 * (k % 2) as f64 } else { 0.01 }).collect()
                })
                .collect();
            let set = Set::polytope(&rows, &vec![1.0; 2 * dim]).ok()?;
            Some((format!("{dim}"), scrible(set)))
        })
        .collect();
    run(c, "scrible polytope", cases);
}

// What does gradient descent cost beside it, projection included?
fn bgd(c: &mut Criterion) {
    let cases = [10usize, 1000]
        .into_iter()
        .flat_map(|dim| [Set::Ball { dim }, Set::Simplex { vertices: dim + 1 }])
        .map(|set| {
            let name = format!("{}/{}", set.kind(), set.affine_dim());
            let base = BgdParams::default().build(&setup(set)).expect("a convex set");
            (name, Box::new(base) as Box<dyn Base<(), Point>>)
        })
        .collect();
    run(c, "bgd", cases);
}

// What does optimism cost: a list of points, and the secular equation of the ball?
fn oful(c: &mut Criterion) {
    let corners = Set::Box { dim: 8 }.vertices(256).and_then(|v| Set::finite(&v).ok());
    let sets = [corners, Some(Set::Ball { dim: 8 })];
    let cases = sets
        .into_iter()
        .flatten()
        .map(|set| {
            let name = String::from(set.kind());
            let base = OfulParams::default().build(&setup(set)).expect("a set");
            (name, Box::new(base) as Box<dyn Base<(), Point>>)
        })
        .collect();
    run(c, "oful d = 8", cases);
}

criterion_group!(benches, closed_forms, polytopes, bgd, oful);
criterion_main!(benches);
