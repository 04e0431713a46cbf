//! Data sets as environments: four formats, bad files, and the real ones where they are.

use std::fs;
use std::io::Write;
use std::path::Path;

use corral_core::{Arm, Context};
use corral_envs::{AnyEnvironment, EnvError, Environment, build};
use proptest::prelude::*;
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;
use tempfile::TempDir;

pub fn open(params: &str) -> Result<Box<dyn Environment<Context, Arm>>, String> {
    named("dataset", params)
}

pub fn named(name: &str, params: &str) -> Result<Box<dyn Environment<Context, Arm>>, String> {
    let table = params.parse().map_err(|e| format!("{e}"))?;
    match build(name, &table, u64::MAX, &mut Pcg64Dxsm::seed_from_u64(1)) {
        Ok(AnyEnvironment::Arms(world)) => Ok(world),
        Ok(AnyEnvironment::Points(_)) => Err("points".to_owned()),
        Err(e) => Err(e.to_string()),
    }
}

/// Reads to the end: the features and the class of every row.
pub fn rows(world: &mut dyn Environment<Context, Arm>) -> Vec<(Vec<f64>, usize)> {
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
        let class = (0..world.context().actions()).find(|a| world.loss(&Arm::at(*a)) == 0.0).unwrap();
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
        ("a.csv", "x,y\n1,0\nNaN,1\n", "", &["a.csv:3", "\"x\"", "1 cells are missing", "drop-row"]),
        ("a.csv", "x,y\n1,0\ninf,1\n", "", &["a.csv: column \"x\"", "\"inf\" on line 3"]),
        ("a.csv", "x,y\n1,0\n,1\n", "", &["a.csv:3", "\"x\"", "1 cells are missing"]),
        ("a.csv", "x,y\n1,\n", "", &["a.csv:2", "\"y\": 1 cells are missing", "drop-row"]),
        ("a.csv", "x,y\n1,0\n2,1\n3,2\n", "classes = 2", &["a.csv:4", "class \"2\" is out of range"]),
        ("a.csv", "x,y\n1,0\n", "class = 'z'", &["a.csv", "unknown column \"z\""]),
        ("a.csv", "x,y\n1,0\n", "buckets = 0", &["buckets must be in [1, 1048576]"]),
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
    let words = "x,y\n1,0\n2,1\nold,0\n3,1\nn/k,0\nold,1\n4,0\n5,1\n";
    let more_cases: &[(&str, &str, &str, &[&str])] = &[
        ("a.csv", "x,z,x,y\n1,2,3,0\n", "", &["a.csv:1", "\"x\" twice, in columns 1 and 3"]),
        (
            "a.csv",
            words,
            "",
            &["\"x\"", "3 of 8 cells are words", "\"old\" on line 4, \"n/k\" on line 6, ..."],
        ),
        ("a.csv", "x,y\n1,0\n2,red\n3,1\n", "levels = 3", &["1 of 3 cells are words", "\"red\" on line 3"]),
        ("a.csv", "x,y\n1,7\n2,7\n", "levels = 3", &["the target is 7 in every row"]),
        ("a.csv", "x,y\n1,7\n", "levels = 1", &["levels must be 0, or at least 2, but is 1"]),
        ("a.csv", "x,y\n1,7\n", "losses = ['y']\nclass = 'x'", &["class: give it or losses, not both"]),
        ("a.csv", "x,y\n1,7\n", "losses = ['z']", &["unknown column \"z\""]),
        ("a.csv", "x,y\n1,?\n2,3\n", "levels = 2", &["a.csv:2", "\"y\": 1 cells are missing", "drop-row"]),
        ("a.csv", "x,y\nNA,0\n", "missing = 'drop-row'", &["every row has a missing cell"]),
        ("a.csv", "x,y\nNA,0\n", "missing = 'men'", &["unknown variant `men`", "`median`"]),
        ("a.csv", "x,y\nNA,0\n", "missing = { z = 'mean' }", &["unknown column \"z\""]),
        ("a.csv", "x,y\n1,0\n", "missing = 'median'\nscaling = 'running'", &["missing must be another"]),
        ("a.csv", "x,y\n1,0\n", "bins = 1", &["bins must be 0, or at least 2"]),
        ("a.csv", "x,y\n1,0\n", "interactions = 9999999", &["interactions must be in [0, 1048576]"]),
        ("a.csv", "x,y\n1,0\n", "separator = 'é'", &["separator must be an ASCII character"]),
        ("a.arff", "@attribute x foo\n@data\n", "", &["a.arff:1", "no type of attributes", "\"foo\""]),
        ("a.arff", "@attribute x {a,b}\n@data\nc\n", "", &["a.arff:3", "\"c\" is none of the values"]),
        ("a.arff", "@attribute x real\n@data\n{1 2}\n", "", &["a.arff:3", "\"1\" is no index"]),
        (
            "a.arff",
            "@attribute x real\n@data\n{0 2,0 3}\n",
            "",
            &["a.arff:3", "attribute 0 stands there twice"],
        ),
        ("a.arff", "@attribute x real\n@data\n{0 2\n", "", &["a.arff:3", "the brace is not closed"]),
        ("a.arff", "@attribute x string\n@data\n'a\n", "", &["a.arff:3", "a quote is not closed"]),
    ];
    for (name, text, more, parts) in cases.iter().chain(more_cases) {
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

/// A file with this text, read with these keys.
pub fn of(name: &str, text: &str, keys: &str) -> Result<Box<dyn Environment<Context, Arm>>, String> {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join(name);
    fs::write(&path, text).unwrap();
    open(&format!("file = '{}'\n{keys}", path.display()))
}

/// Cells are missing in rows 2 and 3: 1, 2, 6 and (of the words) a, a, b are there.
const HOLES: &str = "x,w,y\n1,a,0\n?,a,1\n2,NA,0\n6,b,1\n";

#[test]
fn missing_cells_become_what_is_wished() {
    let features = |keys: &str| -> Vec<Vec<f64>> {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("a.csv");
        fs::write(&path, HOLES).unwrap();
        let world = open(&format!("file = '{}'\nscaling = 'none'\n{keys}", path.display()));
        rows(&mut *world.unwrap()).into_iter().map(|r| r.0).collect()
    };
    // The constant, x, and the words a and b.
    let x = |v: f64| {
        vec![
            vec![1.0, 1.0, 1.0, 0.0],
            vec![1.0, v, 1.0, 0.0],
            vec![1.0, 2.0, 1.0, 0.0],
            vec![1.0, 6.0, 0.0, 1.0],
        ]
    };
    assert_eq!(features("missing = 'mean'"), x(3.0));
    assert_eq!(features("missing = 'median'"), x(2.0));
    assert_eq!(features("missing = { x = 'median', w = 'mean' }"), x(2.0));
    // One more feature for what is missing, behind those of each column.
    let own = vec![
        vec![1.0, 1.0, 0.0, 1.0, 0.0, 0.0],
        vec![1.0, 3.0, 1.0, 1.0, 0.0, 0.0],
        vec![1.0, 2.0, 0.0, 0.0, 0.0, 1.0],
        vec![1.0, 6.0, 0.0, 0.0, 1.0, 0.0],
    ];
    assert_eq!(features("missing = 'indicator'"), own);
    assert_eq!(features("missing = 'category'"), own);
    assert_eq!(features("missing = 'drop-row'"), [[1.0, 1.0, 1.0, 0.0], [1.0, 6.0, 0.0, 1.0]]);
    assert_eq!(features("missing = { x = 'drop-row', '*' = 'mean' }").len(), 3);
    let e = of("a.csv", HOLES, "").err().unwrap();
    assert!(
        e.contains(r#":3: column "x": 1 cells are missing, this one first"#)
            && e.contains("1 more such question"),
        "{e}"
    );
    let e = of("a.csv", HOLES, "missing = { x = 'mean' }").err().unwrap();
    assert!(e.contains(r#":4: column "w""#), "{e}");
}

#[test]
fn numbers_are_scaled_cut_and_multiplied_as_wished() {
    let text = "x,z,y\n1,10,0\n3,20,1\n2,40,0\n6,30,1\n";
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("a.csv");
    fs::write(&path, text).unwrap();
    let features = |keys: &str| -> Vec<Vec<f64>> {
        let world = open(&format!("file = '{}'\n{keys}", path.display()));
        rows(&mut *world.unwrap()).into_iter().map(|r| r.0).collect()
    };
    let column = |rows: &[Vec<f64>], c: usize| rows.iter().map(|r| r[c]).collect::<Vec<_>>();
    assert_eq!(column(&features("scaling = 'range'"), 1), [0.0, 0.4, 0.2, 1.0]);
    // Rows 1 and 2 have mean 2 and deviation 1; rows 1 to 3 mean 2; rows 1 to 4 mean 3 and deviation sqrt(3.5).
    let running = column(&features("scaling = 'running'"), 1);
    let expected = [0.0, 1.0, 0.0, 3.0 / 3.5f64.sqrt()];
    assert!(running.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{running:?}");
    // A file that goes on differently has the same past.
    fs::write(&path, text.replace("6,30,1", "900,30,1")).unwrap();
    assert_eq!(column(&features("scaling = 'running'"), 1)[..3], running[..3]);
    fs::write(&path, text).unwrap();
    // Two bins of two rows each.
    let bins = features("bins = 2");
    assert_eq!(column(&bins, 1), [1.0, 0.0, 1.0, 0.0]);
    assert_eq!(column(&bins, 2), [0.0, 1.0, 0.0, 1.0]);
    assert_eq!(bins[0].len(), 5);
    // One pair, and its product, cut at 5.
    let products = features("scaling = 'range'\ninteractions = 8");
    assert!(products.iter().all(|r| r.len() == 4 && (r[3] - r[1] * r[2]).abs() < 1e-15));
    assert_eq!(column(&features("scaling = 'none'\ninteractions = 8"), 3), [5.0; 4]);
    // Six indicators have 15 pairs; hashed into 4 buckets they keep their length up to collisions.
    let hashed = features("bins = 4\ninteractions = 4");
    assert!(hashed.iter().all(|r| r.len() == 1 + 8 + 4 && r[9..].iter().any(|v| *v != 0.0)));
}

#[test]
fn numbers_and_columns_can_be_losses() {
    let text = "x,a,b\n1,0,10\n2,5,10\n3,10,2\n";
    let losses = |keys: &str| -> Vec<Vec<f64>> {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("a.csv");
        fs::write(&path, text).unwrap();
        let mut world = open(&format!("file = '{}'\n{keys}", path.display())).unwrap();
        let mut rng = Pcg64Dxsm::seed_from_u64(1);
        let (mut all, mut best) = (Vec::new(), 0.0);
        while world.next(&mut rng).is_ok() {
            let row: Vec<f64> = (0..world.setup().actions()).map(|a| world.loss(&Arm::at(a))).collect();
            best += row.iter().copied().fold(f64::INFINITY, f64::min);
            assert!((world.best_so_far() - best).abs() < 1e-12);
            all.push(row);
        }
        all
    };
    // Answers 0, 5 and 10 to the numbers 0, 5 and 10.
    let levels = losses("class = 'a'\nlevels = 3");
    assert_eq!(levels, [[0.0, 0.5, 1.0], [0.5, 0.0, 0.5], [1.0, 0.5, 0.0]]);
    // Both columns by one map from [0, 10] to [0, 1].
    assert_eq!(losses("losses = ['a', 'b']"), [[0.0, 1.0], [0.5, 1.0], [1.0, 0.2]]);
}

#[test]
fn arff_is_read_in_full() {
    let text = "% a comment\n@RELATION 'a b'\n@Attribute 'the height' REAL\n@attribute colour {red, 'dark, blue', \"o'ne\"}\n\
        @attribute day date \"yyyy\"\n@attribute y {no,yes}\n@DATA\n\
        1.5, 'dark, blue', 2001, yes\n\n% another\n?,red,?,no, {0.5}\n{0 2.5, 1 \"o'ne\", 3 yes}\n{ }\n-1,'o\\'ne',2001,no\n";
    let mut world = of("a.arff", text, "missing = 'category'\nscaling = 'none'").unwrap();
    let table = world.about().table.unwrap().clone();
    assert_eq!((table.rows, table.actions, table.features), (5, 2, 1 + 2 + 3 + 3));
    assert_eq!(table.columns[0].missing, 1);
    assert_eq!(table.columns[0].name, "the height");
    assert_eq!(table.columns[1].categories, Some(3));
    drop(table);
    let mut rng = Pcg64Dxsm::seed_from_u64(1);
    let mut found = Vec::new();
    while world.next(&mut rng).is_ok() {
        found.push(((1e9 * world.context().features()[1]).round() / 1e9, world.loss(&Arm(1))));
    }
    // The mean of 1.5, 2.5, 0 and -1 stands for what is missing; a sparse row leaves out 0 and the first value.
    assert_eq!(found, [(1.5, 0.0), (0.75, 1.0), (2.5, 0.0), (0.0, 1.0), (-1.0, 1.0)]);
}

#[test]
fn the_table_tells_of_every_column() {
    let text = "id,x,w,y\n".to_owned()
        + &(0..1500)
            .map(|i| format!("r{i},{},{},{}\n", i % 7, ["a", "b", "NA"][i % 3], i % 2))
            .collect::<String>();
    let world = of("a.csv", &text, "missing = 'category'\ncategorical = ['id']").unwrap();
    let table = world.about().table.unwrap();
    let told: Vec<_> =
        table.columns.iter().map(|c| (c.kind, c.range, c.missing, c.categories, c.features)).collect();
    assert_eq!(told[0], ("category", None, 0, Some(1500), 1500));
    assert_eq!(told[1], ("number", Some((0.0, 6.0)), 0, Some(7), 1));
    assert_eq!(told[2], ("category", None, 500, Some(2), 3));
    assert_eq!(told[3], ("class", None, 0, Some(2), 0));
    assert_eq!((table.rows, table.dropped, table.features, table.actions), (1500, 0, 1505, 2));
    let warnings = table.warnings();
    assert!(
        warnings.len() == 1 && warnings[0].contains("1505 features, 1500 of them from the category \"id\""),
        "{warnings:?}"
    );
    let hashed = "missing = 'category'\nencoding = 'hashed'\ncategorical = ['id']";
    let hashed = of("a.csv", &text, hashed).unwrap();
    assert!(hashed.about().table.unwrap().warnings().is_empty());
}

#[cfg(unix)]
#[test]
fn pipes_and_devices_are_refused() {
    let dir = TempDir::new().unwrap();
    let pipe = dir.path().join("pipe.csv");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for path in [pipe.as_path(), Path::new("/dev/zero")] {
        let e = open(&format!("file = '{}'", path.display())).err().unwrap();
        assert!(e.contains("not a regular file"), "{e}");
        let e = named("replay", &format!("file = '{}'", path.display())).err().unwrap();
        assert!(e.contains("not a regular file"), "{e}");
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
            for keys in ["", "missing = 'category'\ninteractions = 3", "missing = 'drop-row'\nbins = 3"] {
                if let Ok(mut world) = open(&format!("file = '{}'\n{keys}", path.display())) {
                    for (x, class) in rows(&mut *world) {
                        prop_assert!(x.iter().all(|v| v.is_finite()) && class < world.setup().actions());
                    }
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
