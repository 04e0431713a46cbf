use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Dxsm;

use super::*;
use crate::vectors::distance;

fn triangle() -> Set {
    Set::polytope(&[vec![1.0, 0.0], vec![0.0, 1.0], vec![-1.0, -1.0]], &[1.0, 1.0, 1.0]).expect("bounded")
}

/// A cut cube: |x_i| <= 1 and some random half-spaces through points at distance 0.5 to 1.
fn random_polytope(dim: usize, cuts: usize, seed: u64) -> Set {
    let mut rng = Pcg64Dxsm::seed_from_u64(seed);
    let mut rows: Vec<Vec<f64>> = Vec::new();
    let mut bounds = Vec::new();
    for j in 0..dim {
        for sign in [1.0, -1.0] {
            rows.push((0..dim).map(|k| if k == j { sign } else { 0.0 }).collect());
            bounds.push(1.0);
        }
    }
    for _ in 0..cuts {
        rows.push((0..dim).map(|_| rng.random::<f64>() * 2.0 - 1.0).collect());
        let norm = rows.last().map_or(1.0, |r| dot(r, r).sqrt());
        bounds.push(norm * (0.5 + 0.5 * rng.random::<f64>()));
    }
    Set::polytope(&rows, &bounds).expect("the cube bounds it, and a ball of radius 1/2 fits")
}

fn every_kind(dim: usize, seed: u64) -> Vec<Set> {
    vec![
        Set::ball(dim).expect("dim"),
        Set::cube(dim).expect("dim"),
        Set::simplex(dim + 1).expect("dim"),
        random_polytope(dim, 6, seed),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// p = Proj(y) if and only if p is in the set and <y - p, z - p> <= 0 for all z in it: a linear minimum.
    #[test]
    fn projections_satisfy_the_variational_inequality(
        dim in 1usize..6, seed in 0u64..1000, spread in prop_oneof![Just(0.5), Just(3.0), Just(100.0), Just(1e9)],
    ) {
        let mut rng = Pcg64Dxsm::seed_from_u64(seed);
        for set in every_kind(dim, seed) {
            let n = set.dim();
            let y: Vec<f64> = (0..n).map(|_| spread * (2.0 * rng.random::<f64>() - 1.0)).collect();
            let mut p = y.clone();
            prop_assert_eq!(set.project(&mut p), Ok(()));
            prop_assert!(set.contains(&p));
            let away: Vec<f64> = p.iter().zip(&y).map(|(p, y)| p - y).collect();
            let mut z = vec![0.0; n];
            let least = set.linear_min(&away, &mut z).expect("same dimension");
            prop_assert!(set.contains(&z));
            let slack = least - dot(&away, &p);
            prop_assert!(slack >= -1e-11 * (1.0 + spread * spread), "{} {slack}", set.kind());
            let again = { let mut q = p.clone(); set.project(&mut q).expect("same"); q };
            prop_assert!(distance(&again, &p) < 1e-12, "projecting twice moves {}", set.kind());
        }
    }

    /// No point of a polytope beats its linear minimum, and some vertex attains it.
    #[test]
    fn linear_minima_are_attained_at_vertices(dim in 1usize..5, seed in 0u64..1000) {
        let mut rng = Pcg64Dxsm::seed_from_u64(seed);
        for set in every_kind(dim, seed).into_iter().skip(1) {
            let n = set.dim();
            let g: Vec<f64> = (0..n).map(|_| 2.0 * rng.random::<f64>() - 1.0).collect();
            let least = set.linear_min(&g, &mut vec![0.0; n]).expect("same dimension");
            let vertices = set.vertices(100_000).expect("few");
            let best = vertices.iter().map(|v| dot(v, &g)).fold(f64::INFINITY, f64::min);
            prop_assert!((least - best).abs() < 1e-9, "{} {least} {best}", set.kind());
            prop_assert!(vertices.iter().all(|v| set.contains(v)));
        }
    }

    /// The inner ball is inside, the outer ball holds every vertex.
    #[test]
    fn radii_hold(dim in 1usize..5, seed in 0u64..1000) {
        for set in every_kind(dim, seed) {
            let centre = set.centre();
            prop_assert!(set.contains(&centre));
            let margin = set.margin(&centre).expect("same dimension");
            prop_assert!((margin - set.inner_radius()).abs() < 1e-12);
            for v in set.vertices(100_000).unwrap_or_default() {
                prop_assert!(distance(&v, &centre) <= set.outer_radius() + 1e-9);
                prop_assert!(dot(&v, &v).sqrt() <= set.norm_bound() + 1e-9);
            }
        }
    }
}

#[test]
fn a_square_has_its_known_centre_and_vertices() {
    let square = Set::polytope(
        &[vec![2.0, 0.0], vec![-1.0, 0.0], vec![0.0, 1.0], vec![0.0, -3.0], vec![1.0, 1.0]],
        &[6.0, -1.0, 4.0, -6.0, 100.0],
    )
    .expect("[1, 3] x [2, 4]");
    assert!(distance(&square.centre(), &[2.0, 3.0]) < 1e-12);
    assert!((square.inner_radius() - 1.0).abs() < 1e-12);
    assert!((square.outer_radius() - 2f64.sqrt()).abs() < 1e-12);
    assert_eq!(square.vertices(100).map(|v| v.len()), Some(4));
    assert!(!square.contains(&[0.0, 0.0]) && square.contains(&[1.0, 2.0]));
}

#[test]
fn what_cannot_be_a_polytope_is_named() {
    let square = [vec![1.0, 0.0], vec![-1.0, 0.0], vec![0.0, 1.0], vec![0.0, -1.0]];
    assert!(
        matches!(Set::polytope(&square, &[1.0, -2.0, 1.0, 1.0]), Err(SetError::Empty { violation }) if violation > 0.4)
    );
    assert!(matches!(Set::polytope(&square, &[1.0, -1.0, 1.0, 1.0]), Err(SetError::NoInterior { .. })));
    assert!(matches!(
        Set::polytope(&square[..3], &[1.0, 1.0, 1.0]),
        Err(SetError::Unbounded { coordinate: 1 })
    ));
    assert!(matches!(Set::polytope(&square[..1], &[1.0]), Err(SetError::Unbounded { .. })));
    assert!(matches!(Set::polytope(&square, &[1.0, 1.0, 1.0]), Err(SetError::Dimension { .. })));
    assert!(matches!(
        Set::polytope(&[vec![1.0], vec![1.0, 2.0]], &[1.0, 1.0]),
        Err(SetError::Dimension { .. })
    ));
    assert!(matches!(Set::polytope(&[vec![f64::NAN]], &[1.0]), Err(SetError::NotFinite { .. })));
    assert!(matches!(Set::polytope(&[vec![1.0], vec![0.0]], &[1.0, 1.0]), Err(SetError::ZeroRow(1))));
    assert_eq!(Set::polytope(&[], &[]), Err(SetError::ZeroDimension));
    assert_eq!(Set::polytope(&[vec![]], &[1.0]), Err(SetError::ZeroDimension));
}

#[test]
fn other_sets_refuse_what_they_must() {
    assert_eq!(Set::ball(0), Err(SetError::ZeroDimension));
    assert_eq!(Set::cube(0), Err(SetError::ZeroDimension));
    assert_eq!(Set::simplex(1), Err(SetError::Vertices(1)));
    assert_eq!(Set::finite(&[]), Err(SetError::NoPoints));
    assert_eq!(Set::finite(&[vec![1.0], vec![2.0], vec![1.0]]), Err(SetError::Duplicate(0, 2)));
    for set in [Set::Ball { dim: 2 }, triangle(), Set::finite(&[vec![1.0, 2.0]]).expect("a point")] {
        assert!(!set.contains(&[0.1]), "{}", set.kind());
        assert!(!set.contains(&[f64::NAN, 0.0]), "{}", set.kind());
        assert!(matches!(set.project(&mut [0.0; 3]), Err(SetError::Dimension { found: 3, .. })));
        assert!(matches!(set.project(&mut [f64::NAN, 0.0]), Err(SetError::NotFinite { .. })));
        assert!(matches!(set.linear_min(&[1.0], &mut [0.0; 2]), Err(SetError::Dimension { .. })));
    }
}

#[test]
fn finite_sets_compare_to_the_last_bit() {
    let set = Set::finite(&[vec![0.1, 0.2], vec![0.3, -1.0]]).expect("two points");
    assert!(set.contains(&[0.1, 0.2]));
    assert!(!set.contains(&[0.1 + f64::EPSILON, 0.2]));
    let mut point = [0.9, -0.9];
    assert_eq!(set.project(&mut point), Ok(()));
    assert_eq!(point, [0.3, -1.0]);
    assert_eq!(set.linear_min(&[1.0, 0.0], &mut point), Ok(0.1));
}

#[test]
fn a_set_is_read_as_strictly_as_it_is_built() {
    let sets = [Set::Ball { dim: 3 }, Set::Simplex { vertices: 4 }, triangle(), random_polytope(3, 4, 1)];
    for set in sets {
        let bytes = crate::snapshot::seal("set", 1, &set);
        assert_eq!(crate::snapshot::open::<Set>("set", 1, &bytes), Ok(set));
    }
    let bytes = crate::snapshot::seal("set", 1, &Set::Ball { dim: 0 });
    assert!(crate::snapshot::open::<Set>("set", 1, &bytes).is_err());
}

/// Rows that repeat or are multiples of each other must not confuse the active set.
#[test]
fn projection_survives_redundant_rows() {
    let set = Set::polytope(
        &[
            vec![1.0, 0.0],
            vec![2.0, 0.0],
            vec![1.0, 1e-9],
            vec![0.0, 1.0],
            vec![1.0, 1.0],
            vec![-1.0, 0.0],
            vec![0.0, -1.0],
        ],
        &[1.0, 2.0, 1.0, 1.0, 2.0, 1.0, 1.0],
    )
    .expect("a square");
    for y in [[5.0, 5.0], [5.0, 0.0], [-7.0, 3.0], [1.0, 1.0], [1e6, 1e6 + 1.0]] {
        let mut p = y;
        assert_eq!(set.project(&mut p), Ok(()), "{y:?}");
        assert!(set.contains(&p));
        assert!(distance(&p, &[y[0].clamp(-1.0, 1.0), y[1].clamp(-1.0, 1.0)]) < 1e-8, "{y:?} {p:?}");
    }
}

/// The sphere and the hypercube: minima of linear functions and nearest points are computed, and nothing is listed.
#[test]
fn the_sphere_and_the_hypercube_are_computed() {
    for (set, least, nearest) in [
        (Set::sphere(3).unwrap(), -3.0, [1.0 / 3.0, -2.0 / 3.0, 2.0 / 3.0]),
        (Set::hypercube(3).unwrap(), -5.0 / 3f64.sqrt(), [1.0, -1.0, 1.0].map(|v: f64| v / 3f64.sqrt())),
    ] {
        let mut at = [0.0; 3];
        let found = set.linear_min(&[-1.0, 2.0, -2.0], &mut at).unwrap();
        assert!((found - least).abs() < 1e-12 && set.contains(&at), "{set:?}: {found} at {at:?}");
        let mut point = [1.0, -2.0, 2.0];
        set.project(&mut point).unwrap();
        assert!(set.contains(&point), "{point:?}");
        assert!(point.iter().zip(nearest).all(|(a, b)| (a - b).abs() < 1e-12), "{point:?}");
        assert!(!set.contains(&[0.0; 3]) && !set.contains(&[f64::NAN; 3]) && !set.is_convex());
        assert_eq!((set.dim(), set.norm_bound(), set.inner_radius()), (3, 1.0, 0.0));
        assert!(set.margin(&point).is_err());
        let mut zero = [0.0; 3];
        set.project(&mut zero).unwrap();
        assert!(set.contains(&zero), "{zero:?}");
        let text = toml::Value::try_from(&set).unwrap();
        assert_eq!(text.try_into::<Set>().unwrap(), set);
    }
    assert_eq!(Set::hypercube(4).unwrap().vertices(16).unwrap().len(), 16);
    assert!(Set::hypercube(100).unwrap().vertices(1 << 20).is_none());
    assert!(Set::sphere(0).is_err() && Set::hypercube(0).is_err());
}
