//! Data sets as environments: four formats, bad files, and the real ones where they are.

use std::fs;
use std::io::Write;
use std::path::Path;

use corral_core::{Arm, Context};
use corral_envs::{EnvError, Environment, World, build};
use proptest::prelude::*;
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;
use tempfile::TempDir;

fn open(params: &str) -> Result<Box<dyn Environment<Context, Arm>>, String> {
    named("dataset", params)
}

fn named(name: &str, params: &str) -> Result<Box<dyn Environment<Context, Arm>>, String> {
    let table = params.parse().map_err(|e| format!("{e}"))?;
    match build(name, &table, u64::MAX, &mut Pcg64Dxsm::seed_from_u64(1)) {
        Ok(World::Arms(world)) => Ok(world),
        Ok(World::Points(_)) => Err("points".to_owned()),
        Err(e) => Err(e.to_string()),
    }
}

/// Reads to the end: the features and the class of every row.
fn rows(world: &mut dyn Environment<Context, Arm>) -> Vec<(Vec<f64>, usize)> {
    let mut rng = Pcg64Dxsm::seed_from_u64(1);
    let mut rows = Vec::new();
    loop {
        match world.next(&mut rng) {
            Ok(()) => {}
            Err(EnvError::Ended(n)) => {
                assert_eq!(n, rows.len() as u64);
                return rows;
            }
            Err(e) => panic!("{e}"),
        }
        let class = (0..world.context().actions()).find(|a| world.loss(&Arm::from(*a)) == 0.0).unwrap();
        rows.push((world.context().features().to_vec(), class));
    }
}

#[test]
fn the_formats_tell_the_same_story() {
    let read = |file: &str| rows(&mut *open(&format!("file = 'tests/data/{file}'")).unwrap());
    let csv = read("small.csv");
    assert_eq!(csv.len(), 120);
    // One, height, weight, and a feature per colour.
    assert!(csv.iter().all(|(x, class)| x.len() == 6 && x[0] == 1.0 && *class < 3));
    assert_eq!(csv, read("small.arff"));
    for other in ["small.libsvm", "small.vw"] {
        let other = read(other);
        let classes = |rows: &[(Vec<f64>, usize)]| rows.iter().map(|r| r.1).collect::<Vec<_>>();
        assert_eq!(classes(&csv), classes(&other));
        assert!(other.iter().all(|(x, _)| x.len() == 6));
    }
}

#[test]
fn numbers_are_standardised_and_categories_are_indicators() {
    let rows = rows(&mut *open("file = 'tests/data/small.csv'").unwrap());
    let n = rows.len() as f64;
    for feature in [1, 2] {
        let mean = rows.iter().map(|r| r.0[feature]).sum::<f64>() / n;
        let square = rows.iter().map(|r| r.0[feature].powi(2)).sum::<f64>() / n;
        assert!(mean.abs() < 1e-12 && (square - 1.0).abs() < 1e-12, "{mean} {square}");
    }
    assert!(rows.iter().all(|r| r.0[3..].iter().sum::<f64>() == 1.0));
    let hashed = open("file = 'tests/data/small.csv'\nencoding = 'hashed'\nbuckets = 8").unwrap();
    assert_eq!(hashed.setup().context.features, 1 + 2 + 8);
    let ignored = open("file = 'tests/data/small.csv'\nignore = ['colour']").unwrap();
    assert_eq!(ignored.setup().context.features, 3);
    let other = open("file = 'tests/data/small.csv'\nclass = 'colour'").unwrap();
    assert_eq!(other.setup().actions(), 3);
}

#[test]
fn compressed_files_read_the_same_and_a_cut_one_is_refused() {
    let dir = TempDir::new().unwrap();
    let plain = fs::read("tests/data/small.csv").unwrap();
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gz.write_all(&plain).unwrap();
    let gz = gz.finish().unwrap();
    let path = dir.path().join("small.csv.gz");
    let file = |path: &Path| format!("file = '{}'", path.display());
    fs::write(&path, &gz).unwrap();
    let whole = rows(&mut *open(&file(&path)).unwrap());
    assert_eq!(whole, rows(&mut *open("file = 'tests/data/small.csv'").unwrap()));
    fs::write(&path, &gz[..gz.len() / 2]).unwrap();
    let e = open(&file(&path)).err().unwrap();
    assert!(e.contains("small.csv.gz") && e.contains("cut short"), "{e}");
}

#[test]
fn bad_files_are_refused_by_file_line_and_value() {
    let dir = TempDir::new().unwrap();
    let cases: &[(&str, &str, &str, &[&str])] = &[
        ("a.csv", "", "", &["a.csv", "empty"]),
        ("a.csv", "x,y\n", "", &["a.csv", "empty"]),
        ("a.csv", "x,y\n1,0\n2\n", "", &["a.csv:3", "1 cells where the header has 2"]),
        ("a.csv", "x,y\n1,0\nNaN,1\n", "", &["a.csv:3", "\"x\"", "NaN is not finite"]),
        ("a.csv", "x,y\n1,0\ninf,1\n", "", &["a.csv:3", "inf"]),
        ("a.csv", "x,y\n1,0\n,1\n", "", &["a.csv:3", "\"x\"", "the cell is empty"]),
        ("a.csv", "x,y\n1,\n", "", &["a.csv:2", "the class is empty"]),
        ("a.csv", "x,y\n1,0\n2,1\n3,2\n", "classes = 2", &["a.csv:4", "class \"2\" is out of range"]),
        ("a.csv", "x,y\n1,0\n", "class = 'z'", &["a.csv", "unknown column \"z\""]),
        ("a.csv", "x,y\n1,0\n", "buckets = 0", &["buckets must be at least 1"]),
        ("a.arff", "@relation r\n@attribute x numeric\n", "", &["a.arff:3", "@data"]),
        ("a.arff", "@attribute x\n@data\n", "", &["a.arff:1", "not an attribute"]),
        (
            "a.arff",
            "@attribute x numeric\n@attribute y {0,1}\n@data\n1,0\n2,0,7\n",
            "",
            &["a.arff:5", "3 cells"],
        ),
        ("a.libsvm", "1 1:2\n0 x:2\n", "", &["a.libsvm:2", "\"x\" is not an index"]),
        ("a.libsvm", "1 1:2\n0 1:two\n", "", &["a.libsvm:2", "\"two\" is not a number"]),
        ("a.vw", "1 f:2\n", "", &["a.vw:1", "there is no |"]),
        ("a.vw", "| f:2\n", "", &["a.vw:1", "there is no label"]),
    ];
    for (name, text, more, parts) in cases {
        let path = dir.path().join(name);
        fs::write(&path, text).unwrap();
        let e = open(&format!("file = '{}'\n{more}", path.display())).err().unwrap();
        assert!(parts.iter().all(|p| e.contains(p)), "{text:?}: {e}");
    }
    let e = open("file = 'no/such/file.csv'").err().unwrap();
    assert!(e.contains("no/such/file.csv") && e.contains("CORRAL_DATA"), "{e}");
    let e = open("file = 'tests'").err().unwrap();
    assert!(e.contains("not a regular file"), "{e}");
}

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
                assert!(feedback.weight() <= world.range() * (1.0 + 1e-12));
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
        ("item_id,click,propensity_score\n0,1,0\n", "the propensity must be in (0, 1], but is 0"),
        ("item_id,click,propensity_score\n0,2,0.5\n", "the reward must be in [0, 1], but is 2"),
        ("item_id,click,propensity_score\n-1,1,0.5\n", "the action must be"),
        ("item,click,propensity_score\n0,1,0.5\n", "unknown column \"item_id\""),
    ] {
        let e = bad(text);
        assert!(e.contains("log.csv") && e.contains(part), "{e}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever the bytes, there is an error or a world, and never a panic.
    #[test]
    fn any_bytes_are_read_or_refused(
        bytes in proptest::collection::vec(any::<u8>(), 0..400),
        text in "(([a-c@|:,{}?' 0-9.-]{0,12})\n){0,8}",
        name in prop_oneof![Just("a.csv"), Just("a.arff"), Just("a.libsvm"), Just("a.vw"), Just("a.csv.gz")],
    ) {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join(name);
        for content in [bytes.as_slice(), text.as_bytes()] {
            fs::write(&path, content).unwrap();
            if let Ok(mut world) = open(&format!("file = '{}'", path.display())) {
                for (x, class) in rows(&mut *world) {
                    prop_assert!(x.iter().all(|v| v.is_finite()) && class < world.setup().actions());
                }
            }
        }
    }
}

/// Rows and classes of the manifest that comes with the real data sets.
const REAL: &[(&str, u64, usize)] = &[
    ("dna", 3186, 3),
    ("pendigits", 10992, 10),
    ("optdigits", 5620, 10),
    ("nursery", 12960, 5),
    ("mushroom", 8124, 2),
    ("segment", 2310, 7),
    ("waveform5000", 5000, 3),
    ("splice", 3190, 3),
    ("page_blocks", 5473, 5),
    ("car", 1728, 4),
    ("cmc", 1473, 3),
    ("drybean", 13611, 7),
    ("krkopt", 28055, 18),
    ("poker25k", 25008, 10),
    ("adult", 48842, 2),
    ("covtype10k", 10000, 7),
    ("marketing", 6876, 9),
    ("elec2", 45312, 2),
    ("noaa_weather", 18159, 2),
    ("outdoor_stream", 4000, 40),
    ("digits", 1797, 10),
];

#[test]
fn the_real_data_sets_have_the_rows_and_classes_of_their_manifest() {
    if std::env::var_os("CORRAL_DATA").is_none() {
        eprintln!("skipped: CORRAL_DATA is not set");
        return;
    }
    for (name, count, classes) in REAL {
        let mut world = open(&format!("file = '{name}.csv.gz'")).unwrap();
        let setup = world.setup();
        assert_eq!((setup.horizon, setup.actions()), (Some(*count), *classes), "{name}");
        let mut rng = Pcg64Dxsm::seed_from_u64(1);
        for _ in 0..*count {
            world.next(&mut rng).unwrap();
        }
        assert!(matches!(world.next(&mut rng), Err(EnvError::Ended(n)) if n == *count), "{name}");
    }
    for (name, arms) in [("random_all", 80), ("bts_men", 34), ("bts_women", 46)] {
        let world = named("logged", &format!("file = 'obd/{name}.csv.gz'")).unwrap();
        let setup = world.setup();
        assert_eq!((setup.horizon, setup.actions()), (Some(10_000), arms), "{name}");
    }
}
