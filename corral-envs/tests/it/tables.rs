//! Tables: however they are written, they are read as the same rows, or it is asked how.

use std::fs;
use std::io::Write;

use corral_core::Arm;
use corral_envs::{AnyEnvironment, build};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;
use tempfile::TempDir;

use crate::data::{of, open, rows};

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
        (
            "umsatz;preis;y\n1.234;2,50;no\n12.500;3,25;yes\n".into(),
            ":2: column \"umsatz\": \"1.234\" may have decimals or thousands, and decimals follow a comma in column \"preis\" on line 2",
            "decimal = ','",
        ),
        (
            "x,y\n$1.234,no\n$5,yes\n".into(),
            ":2: column \"x\": \"$1.234\" may have decimals",
            "decimal = '.'",
        ),
        ("1,5;rot;nein\n2;blau;ja\n".into(), ":1: the first line holds \"1,5\"", "header = false"),
        ("$5,red,no\n$7,blue,yes\n".into(), ":1: the first line holds \"$5\"", "header = false"),
        (
            "2024-01-05,red,no\n2024-01-06,blue,yes\n".into(),
            ":1: the first line holds \"2024-01-05\"",
            "header = false\nignore = ['1']",
        ),
        (
            "5 Jan 2024,red,no\n6 Jan 2024,blue,yes\n".into(),
            ":1: the first line holds \"5 Jan 2024\"",
            "header = false\nignore = ['1']",
        ),
        (
            "red,round,no\nblue,square,yes\nred,square,no\n".into(),
            ":1: the first line holds \"red\", which is a value of the same column",
            "header = false",
        ),
        (
            "when,x,y\n5 Jan 2024,1,0\n6 Feb 2024,2,1\n".into(),
            ":2: column \"when\" holds dates (\"5 Jan 2024\")",
            "ignore = ['when']",
        ),
        (
            "when,x,y\n20240105,1,0\n20240106,2,1\n".into(),
            ":2: column \"when\" holds dates (\"20240105\")",
            "ignore = ['when']",
        ),
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

/// The features and the losses of every row.
fn losses(text: &str, keys: &str) -> Vec<(Vec<f64>, Vec<f64>)> {
    let mut world = of("a.csv", text, keys).unwrap();
    let mut rng = Pcg64Dxsm::seed_from_u64(1);
    let mut rows = Vec::new();
    while world.next(&mut rng).is_ok() {
        let losses = (0..world.context().actions()).map(|a| world.loss(&Arm::at(a))).collect();
        rows.push((world.context().features().to_vec(), losses));
    }
    assert_eq!(rows.len(), text.lines().count() - 1);
    rows
}

/// A law of decimal commas: a number is the same with points before its thousands and without, in every column that is a feature, a
/// target or a loss, whatever the other columns show; and without `decimal` it is asked or shown.
#[test]
fn points_before_thousands_are_no_decimals_where_decimals_follow_commas() {
    let german = |n: u32| match n {
        0..1000 => n.to_string(),
        n => format!("{}.{:03}", n / 1000, n % 1000),
    };
    let table = |write: &dyn Fn(u32) -> String, price: &str| {
        let row = |i: u32| {
            format!(
                "{};{price};{};{}\n",
                write(1000 + 37 * i),
                write(2000 + i),
                ["no", "yes"][i as usize % 2]
            )
        };
        "umsatz;preis;menge;y\n".to_owned() + &(0..60).map(row).collect::<String>()
    };
    for price in ["2,50", "7", "x"] {
        let (with, without) = (table(&german, price), table(&|n| n.to_string(), price));
        for keys in ["", "\nclass = 'umsatz'\nlevels = 5", "\nlosses = ['umsatz', 'menge']\nignore = ['y']"] {
            let commas = format!("decimal = ','{keys}");
            assert_eq!(losses(&with, &commas), losses(&without, &commas), "{price}{keys}");
        }
        let seen = of("a.csv", &with, "");
        match price {
            "2,50" => {
                assert!(seen.err().unwrap().contains("\"umsatz\": \"1.000\" may have decimals or thousands"))
            }
            // Nothing but the separator speaks for thousands.
            _ => {
                let warnings = seen.unwrap().about().table.unwrap().warnings().join("\n");
                assert!(
                    warnings.contains("column \"umsatz\": \"1.000\" on line 2 is read with decimals"),
                    "{warnings}"
                );
                assert!(warnings.contains("column \"menge\""), "{warnings}");
            }
        }
    }
    // What a column shows by itself is not overruled, and it is said.
    let points = of("a.csv", "x;p;y\n1.234;2,5;0\n0.5;1,5;1\n", "decimal = ','\nscaling = 'none'").unwrap();
    assert_eq!(points.about().table.unwrap().columns[0].range, Some((0.5, 1.234)));
    assert!(points.about().table.unwrap().warnings()[0].contains("decimals follow a point on line 3"));
    let commas = of("a.csv", "x;p;y\n1.234;2,5;0\n2.345;1,5;1\n", "decimal = '.'\nscaling = 'none'").unwrap();
    let ranges: Vec<_> = commas.about().table.unwrap().columns.iter().map(|c| c.range).collect();
    assert_eq!(ranges[..2], [Some((1.234, 2.345)), Some((1.5, 2.5))]);
}

/// A model of a table with decimal commas reads new rows with points before thousands, though the table had none.
#[test]
fn new_rows_are_read_as_the_table_is_written() {
    let dir = TempDir::new().unwrap();
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let table = write("a.csv", "umsatz;preis;y\n500;2,50;no\n900;3,25;yes\n700;1,5;no\n");
    for keys in ["", "decimal = ','"] {
        let params = format!("file = '{table}'\nscaling = 'none'\n{keys}").parse::<toml::Table>().unwrap();
        let params: corral_envs::data::DataSetParams = params.try_into().unwrap();
        let kinds: Vec<_> = of("a.csv", "umsatz;preis;y\n500;2,50;no\n900;3,25;yes\n", keys)
            .unwrap()
            .about()
            .table
            .unwrap()
            .columns
            .iter()
            .map(|c| c.kind)
            .collect();
        assert_eq!(kinds, ["number", "number, written for people", "class"]);
        let mut reading = params.reading().unwrap();
        let mut context = corral_core::Context::shared(Vec::new(), 2);
        let mut rows = reading.open(&write("new.csv", "umsatz;preis\n1.234;2,5\n1234;0,5\n")).unwrap();
        for _ in 0..2 {
            assert!(rows.next(&mut context).unwrap());
            assert_eq!(context.features()[1], 1234.0);
        }
        let e = reading
            .open(&write("wrong.csv", "umsatz;preis\n12.5;2,5\n"))
            .unwrap()
            .next(&mut context)
            .unwrap_err();
        assert!(
            e.to_string().contains("wrong.csv:2: \"12.5\" is not a number whose decimals follow a comma"),
            "{e}"
        );
    }
}

/// What is worth a look is said and played all the same.
#[test]
fn what_is_worth_a_look_is_a_warning() {
    let warnings = |text: &str, keys: &str| {
        of("a.csv", text, keys).unwrap().about().table.unwrap().warnings().join("\n")
    };
    let words = "colour,shape,y\nred,round,no\nblue,square,yes\n";
    assert!(warnings(words, "").contains("the first line is taken as the names of the columns"));
    assert_eq!(warnings(words, "header = true"), "");
    assert_eq!(warnings("colour,n,y\nred,1,no\nblue,2,yes\n", ""), "");
    let ages = |count: usize| {
        "x,age\n".to_owned()
            + &(0..200).map(|i| format!("{},{}\n", i % 3, 20 + i % count)).collect::<String>()
    };
    assert_eq!(warnings(&ages(10), ""), "");
    for count in [11, 47, 100] {
        let told = warnings(&ages(count), "");
        assert!(
            told.contains(&format!("the class \"age\" has {count} different numbers, and each is a class")),
            "{told}"
        );
        assert!(told.contains("levels = 10") && told.contains("losses = [...]"), "{told}");
        assert_eq!(warnings(&ages(count), &format!("classes = {count}")), "");
    }
}

/// A look at a table whose first line is a row finds its class all the same.
#[test]
fn a_look_at_a_table_without_names_takes_its_last_column() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("words.csv");
    for text in ["red,round,no\nblue,square,yes\nred,square,no\n", "1,5;rot;nein\n2;blau;ja\n"] {
        fs::write(&path, text).unwrap();
        let found = corral_envs::data::inspect(&path.display().to_string(), None).unwrap();
        assert_eq!((found.params.header, found.params.class.as_deref()), (Some(false), Some("3")));
        assert_eq!(found.table.rows, text.lines().count() as u64);
    }
    fs::write(&path, "umsatz;preis;y\n1.234;2,50;no\n12.500;3,25;yes\n").unwrap();
    let found = corral_envs::data::inspect(&path.display().to_string(), None).unwrap();
    assert_eq!(found.params.decimal, Some(','));
    assert_eq!(found.table.columns[0].range, Some((1234.0, 12500.0)));
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

/// A compressed line that no memory can hold ends with an error after the limit, and so does a quoted cell.
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
