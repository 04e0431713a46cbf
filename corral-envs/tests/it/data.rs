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

fn open(params: &str) -> Result<Box<dyn Environment<Context, Arm>>, String> {
    named("dataset", params)
}

fn named(name: &str, params: &str) -> Result<Box<dyn Environment<Context, Arm>>, String> {
    let table = params.parse().map_err(|e| format!("{e}"))?;
    match build(name, &table, u64::MAX, &mut Pcg64Dxsm::seed_from_u64(1)) {
        Ok(AnyEnvironment::Arms(world)) => Ok(world),
        Ok(AnyEnvironment::Points(_)) => Err("points".to_owned()),
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
        ("a.csv", "x,y\n1,0\ninf,1\n", "", &["a.csv:3", "inf"]),
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
fn of(name: &str, text: &str, keys: &str) -> Result<Box<dyn Environment<Context, Arm>>, String> {
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

#[test]
fn a_file_without_header_or_with_other_separators_is_read() {
    let world = of("a.csv", "1;red;0\n2;blue;1\n", "separator = ';'\nheader = false").unwrap();
    let table = world.about().table.unwrap();
    assert_eq!((table.rows, table.columns[2].name.as_str(), table.columns[2].kind), (2, "3", "class"));
}

/// The features of every row but the constant, scaled by nothing, and its class.
fn plain(text: &[u8], keys: &str) -> Vec<(Vec<f64>, usize)> {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("a.csv");
    fs::write(&path, text).unwrap();
    let mut world = open(&format!("file = '{}'\nscaling = 'none'\n{keys}", path.display())).unwrap();
    rows(&mut *world).into_iter().map(|(x, class)| (x[1..].to_vec(), class)).collect()
}

/// However a table is written, it is read as the same rows, or it is asked how.
#[test]
fn a_table_is_the_same_however_it_is_written() {
    let usual = plain(b"x,w,y\n1234.5,a,no\n2,b,yes\n0.5,a,no\n", "");
    assert_eq!(usual[0], (vec![1234.5, 1.0, 0.0], 0));
    let utf16 = |text: &str, big: bool| {
        let units = "\u{feff}".encode_utf16().chain(text.encode_utf16());
        units.flat_map(|u| if big { u.to_be_bytes() } else { u.to_le_bytes() }).collect::<Vec<u8>>()
    };
    let csv = "x,w,y\n1234.5,a,no\n2,b,yes\n0.5,a,no\n";
    for text in [
        csv.replace(',', ";").into_bytes(),
        csv.replace(',', "\t").into_bytes(),
        csv.replace(',', "|").into_bytes(),
        [b"\xef\xbb\xbf", csv.as_bytes()].concat(),
        utf16(csv, false),
        utf16(csv, true),
        csv.replace('\n', "\r\n").into_bytes(),
        b"x;w;y\n1.234,5;a;no\n2;b;yes\n0,5;a;no\n".to_vec(),
        b"x,w,y\n\"1,234.5\",a,no\n2,b,yes\n0.5,a,no\n".to_vec(),
        "x,w,y\n\"$1,234.50\",a,No\n$2.00,b,YES\n$0.50,a,no\n".into(),
        "x,w,y\n\"1 234,5 \u{20ac}\",a,no\n\"2 \u{20ac}\",b,yes\n\"0,5 \u{20ac}\",a,no\n".into(),
    ] {
        assert_eq!(plain(&text, ""), usual, "{}", String::from_utf8_lossy(&text));
    }
    let booleans = plain(b"x,b,y\n1,TRUE,0\n2,False,1\n3,true,1\n", "");
    assert_eq!(
        booleans.iter().map(|(x, _)| x[1..].to_vec()).collect::<Vec<_>>(),
        [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]
    );
}

/// A shuffle plays the same rows in an order of the seed's.
#[test]
fn a_shuffle_plays_every_row_once() {
    let play = |seed: u64, keys: &str| {
        let table = format!("file = 'tests/data/small.csv'\n{keys}").parse().unwrap();
        let mut rng = Pcg64Dxsm::seed_from_u64(seed);
        match build("dataset", &table, u64::MAX, &mut rng).unwrap() {
            AnyEnvironment::Arms(mut world) => rows(&mut *world),
            AnyEnvironment::Points(_) => panic!("points"),
        }
    };
    let sorted = |mut rows: Vec<(Vec<f64>, usize)>| {
        rows.sort_by(|a, b| a.partial_cmp(b).unwrap());
        rows
    };
    let (plain, one, two) = (play(1, ""), play(1, "shuffle = true"), play(2, "shuffle = true"));
    assert_eq!(one, play(1, "shuffle = true"));
    assert!(one != plain && one != two);
    assert_eq!((sorted(one), sorted(two)), (sorted(plain.clone()), sorted(plain)));
}

/// What is probably not meant is asked with the line and the key that answers; the answer is taken.
#[test]
fn what_can_be_read_in_two_ways_is_asked() {
    let many = |row: &dyn Fn(usize) -> String| "a,b,y\n".to_owned() + &(0..60).map(row).collect::<String>();
    let cases: &[(String, &str, &str)] = &[
        ("5.1,3.5,setosa\n4.9,3.0,other\n".into(), ":1: the first line holds \"5.1\"", "header = false"),
        (
            "x,y\n\"1,234\",0\n\"5,678\",1\n".into(),
            ":2: column \"x\": \"1,234\" may have decimals",
            "decimal = ','",
        ),
        (
            "x;a,y;b\n1;2,3;0\n".into(),
            "can be cut at ',' (2 cells) and at ';' (3 cells)",
            "separator = ','\nclasses = 1",
        ),
        (
            "when,x,y\n2024-01-05,1,0\n2024-01-06,2,1\n".into(),
            ":2: column \"when\" holds dates (\"2024-01-05\")",
            "ignore = ['when']",
        ),
        (
            many(&|i| format!("user{i},{},{}\n", i % 5, i % 2)),
            ":2: column \"a\" has another value in each of 60 rows",
            "ignore = ['a']",
        ),
        (
            many(&|i| format!("{},1,{}\n", i % 7, 0.37 * i as f64)),
            "has 60 different numbers: levels = 10",
            "levels = 5",
        ),
        (
            many(&|i| format!("{},1,\"{},5 \u{20ac}\"\n", i % 7, i % 30)),
            "has 30 different numbers: levels = 10",
            "levels = 5",
        ),
        (
            many(&|i| format!("{},1,n{i}\n", i % 7)),
            "is another in 60 of 60 rows",
            "class = 'a'\nignore = ['y']",
        ),
        ("x,y\n1,red\n2,Red\n3,blue\n".into(), "\"Red\" and \"red\" are two classes", "classes = 3"),
        ("x,y\n5%,0\n0.05,1\n".into(), "per cent signs in some cells", "categorical = ['x']"),
    ];
    for (text, asked, answer) in cases {
        let e = of("a.csv", text, "").err().unwrap_or_else(|| panic!("nothing is asked: {text}"));
        assert!(e.contains(asked), "{text}: {e}");
        match of("a.csv", text, answer) {
            Ok(_) => {}
            Err(e) => assert!(e.contains("nothing to choose"), "{answer}: {e}"),
        }
    }
    let e = of("a.csv", "x,y\n1,0\n2,0\n", "").err().unwrap();
    assert!(e.contains("every row has the class \"0\": there is nothing to choose"), "{e}");
    let e = of("a.csv", "alone\n1\n2\n", "").err().unwrap();
    assert!(e.contains("one cell in the first line"), "{e}");
    let counted = of("a.csv", &many(&|i| format!("{i},{},{}\n", i % 5, i % 2)), "").unwrap();
    assert!(counted.about().table.unwrap().warnings()[0].contains("column \"a\" counts the rows"));
}

/// A look at a table answers every question, and the spec that it leads to is one that opens.
#[test]
fn a_look_at_a_table_answers_every_question() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("messy.csv");
    let row = |i: usize| {
        let age = if i.is_multiple_of(9) { String::new() } else { (20 + i % 50).to_string() };
        format!("{i};u{i};2024-03-{:02};{},5;{age};{}\n", 1 + i % 28, i % 40, ["no", "yes"][i % 2])
    };
    let text = "nr;user;day;price;age;target\n".to_owned() + &(0..80).map(row).collect::<String>();
    fs::write(&path, text).unwrap();
    let found = corral_envs::data::inspect(&path.display().to_string(), None).unwrap();
    assert_eq!(found.params.class.as_deref(), Some("target"));
    assert_eq!(found.params.ignore, ["user", "day", "nr"]);
    assert_eq!((found.table.rows, found.table.actions), (80, 2));
    let price = found.table.columns.iter().find(|c| c.name == "price").unwrap();
    assert_eq!((price.kind, price.range), ("number, written for people", Some((0.5, 39.5))));
    assert!(found.notes.iter().any(|n| n.contains("cells are separated by ';'")), "{:?}", found.notes);
    let e = corral_envs::data::inspect(&path.display().to_string(), Some("user".into())).unwrap_err();
    assert!(e.to_string().contains("is another in 80 of 80 rows"), "{e}");
}

/// The line of an error is the one on which its row begins, however lines end.
#[test]
fn rows_are_counted_by_lines_however_these_end() {
    let dir = TempDir::new().unwrap();
    let wrong = |name: &str, text: &str| {
        let file = dir.path().join(name);
        fs::write(&file, text).unwrap();
        open(&format!("file = '{}'", file.display())).err().unwrap()
    };
    // The last row has a cell too many.
    for (text, line) in [
        ("x,y\n1,0\n2,1\n3,0,5\n", 4),
        ("x,y\n1,0,5\n2,1\n", 2),
        ("x,y\n1,0\n2,1\n3,0,5", 4),
        ("x,y\n\n1,0\n\n\n2,1,5\n", 6),
        ("x,y\nred,0\n\"blue\n\ngreen\",1\nred,0,5\n", 6),
        ("x,y\nred,0\n\"blue\n\ngreen\",1,5\nred,0\n", 3),
        ("\u{feff}x,y\n1,0\n\"2\n\",1,5\n", 3),
    ] {
        for ends in ["\n", "\r\n"] {
            let e = wrong("a.csv", &text.replace('\n', ends));
            assert!(e.contains(&format!(":{line}:")) && e.contains("3 cells"), "{text:?} with {ends:?}: {e}");
        }
    }
    for (text, line) in [
        ("x,y\r\n1,0\n2,1\r\n\n3,0,5\r\n", 5),
        ("x,y\n1,0\r\n\r\n\"2\n3\",1,5", 4),
        ("x,y\r\n\"1\r\n\",0\n\"2\n\",1\r\n3,0,5\n", 6),
    ] {
        let e = wrong("a.csv", text);
        assert!(e.contains(&format!(":{line}:")), "{text:?}: {e}");
    }
    for ends in ["\n", "\r\n"] {
        let e = wrong("a.libsvm", &"1 1:0.5\n\n2 1:x\n".replace('\n', ends));
        assert!(e.contains(":3:"), "{e}");
        let e =
            wrong("a.csv", &("x,y\n".to_owned() + &"1,0\n2,1\n".repeat(40_000) + "3\n").replace('\n', ends));
        assert!(e.contains(":80002:"), "{e}");
    }
}

/// A compressed line that no memory has room for ends with an error after the limit, and so does a quoted cell.
#[test]
fn a_line_has_a_limit() {
    let dir = TempDir::new().unwrap();
    for (name, start) in [
        ("a.csv.gz", "x,y\n1,0\n"),
        ("b.csv.gz", "x,y\n1,\""),
        ("c.libsvm.gz", "1 1:"),
        ("d.arff.gz", "@data"),
    ] {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(start.as_bytes()).unwrap();
        let filler = if name.starts_with('b') { b"1\n".repeat(1 << 19) } else { vec![b'1'; 1 << 20] };
        (0..18).for_each(|_| gz.write_all(&filler).unwrap());
        let path = dir.path().join(name);
        fs::write(&path, gz.finish().unwrap()).unwrap();
        let e = open(&format!("file = '{}'", path.display())).err().unwrap();
        assert!(e.contains("longer than 16 MiB"), "{name}: {e}");
    }
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

/// A decision log is played as the table with the same decisions is; action features come from a second file.
#[test]
fn a_decision_log_is_played_as_its_table_is() {
    use corral_core::TicketId;
    use corral_log::{Both, Decision, Given, Outcome, Played, Record, Start, Writer};
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
            Decision { propensity: Some(propensity), context, ..Decision::new(id, Played::Arm(action), 3) };
        let given = Given::reward(reward);
        // Two lines, or one.
        if t.is_multiple_of(2) {
            writer.write(&Record::Decision(decision.clone())).unwrap();
            writer.write(&Record::Outcome(Outcome { id, given })).unwrap();
        } else {
            writer.write(&Record::Both(Both { decision, given })).unwrap();
        }
    }
    // No policy made this one.
    let id = TicketId { band: 1, copy: 0, round: 400 };
    let forced = Decision { propensity: Some(1.0), forced: true, ..Decision::new(id, Played::Arm(2), 3) };
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
