//! What is probably no feature, no class or no action is asked, with the line and the key that answers.

use std::fs;

use tempfile::TempDir;

use crate::data::{named, of, open, rows};

/// 120 rows of a number, what `cell` writes, and a class.
fn table(cell: &dyn Fn(usize) -> String) -> String {
    let row = |i: usize| format!("{}.5,\"{}\",{}\n", i % 7, cell(i), ["no", "yes"][i % 2]);
    "x,v,y\n".to_owned() + &(0..120).map(row).collect::<String>()
}

/// Every kind of column, what is asked of it, and the answer that plays it all the same.
#[test]
fn columns_that_are_probably_no_features_are_asked() {
    let month = |i: usize| 1 + i % 12;
    type Cell<'a> = &'a dyn Fn(usize) -> String;
    let cases: &[(Cell<'_>, &str, &str)] = &[
        (&|i| format!("2024-{:02}", month(i)), "holds dates (\"2024-01\")", "ignore"),
        (&|i| format!("2023-W{:02}", month(i)), "holds dates", "categorical"),
        (&|i| format!("{}-23", ["Mar", "Apr"][i % 2]), "holds dates", "ignore"),
        (&|i| format!("{:02}.{:02}.", 1 + i % 28, month(i)), "holds dates", "ignore"),
        (&|i| format!("{:02}:30", i % 24), "holds dates", "ignore"),
        (
            &|i| if i == 5 { "unknown".into() } else { format!("2024-01-{:02}", 1 + i % 28) },
            "holds dates",
            "ignore",
        ),
        (
            &|i| if i == 5 { "5".into() } else { format!("u{i}") },
            "has another value in each of 120 rows",
            "ignore",
        ),
        (
            &|i| format!("u{}", if i == 5 { 4 } else { i }),
            "has another value in nearly each of 120 rows",
            "categorical",
        ),
        (
            &|i| if i == 5 { "1e999".into() } else { format!("{i}e9a") },
            "has another value in each of 120 rows",
            "ignore",
        ),
        (&|i| format!("{:05}", 700 + i % 9), "begin with 0 (\"00700\")", "categorical"),
        (&|i| format!("{:05}", 700 + i % 9), "begin with 0", "numeric"),
        (&|i| (1_700_000_000 + 86_400 * (i * i % 97)).to_string(), "holds times", "numeric"),
        (&|i| (i * 77 % 120).to_string(), "has another whole number in every row (\"0\")", "numeric"),
        (&|i| (3 * i + i % 2).to_string(), "rises with every row", "ignore"),
        (&|i| (900 - 3 * i - i % 2).to_string(), "falls with every row", "ignore"),
        (
            &|i| ["TRUE", "FALSE", "1", "0"][i % 4].to_owned(),
            "holds \"0\" as well as \"FALSE\"",
            "categorical",
        ),
        (&|_| String::new(), "is empty in every row", "ignore"),
    ];
    for (cell, asked, answer) in cases {
        let text = table(cell);
        let e = of("a.csv", &text, "").err().unwrap_or_else(|| panic!("nothing is asked: {}", cell(1)));
        assert!(e.contains("a.csv:") && e.contains("column \"v\"") && e.contains(asked), "{}: {e}", cell(1));
        assert!(e.contains(&format!("{answer} = [\"v\"]")), "{e}");
        of("a.csv", &text, &format!("{answer} = ['v']")).unwrap_or_else(|e| panic!("{answer}: {e}"));
    }
    // More names than are kept apart.
    let many =
        "v,y\n".to_owned() + &(0..9000).map(|i| format!("u{},{}\n", i % 5000, i % 2)).collect::<String>();
    let e = of("a.csv", &many, "").err().unwrap();
    assert!(e.contains(":2: column \"v\" has thousands of different values (\"u0\")"), "{e}");
    assert!(of("a.csv", &many, "categorical = ['v']").is_ok());
    // Ids in any order, more than are kept apart; and by their name, with gaps.
    let shuffled = "v,y\n".to_owned()
        + &(0..9001).map(|i| format!("{},{}\n", i * 4000 % 9001, i % 2)).collect::<String>();
    assert!(of("a.csv", &shuffled, "").err().unwrap().contains("another whole number in every row"));
    let gaps = "user_id,y\n".to_owned()
        + &(0..90).map(|i| format!("{},{}\n", i * i * 7919 % 99_991, i % 2)).collect::<String>();
    assert!(of("a.csv", &gaps, "").err().unwrap().contains("column \"user_id\" has another whole number"));
    // Steps count the rows, up and down.
    for step in [2i64, -1] {
        let text = table(&|i| (1000 + step * i as i64).to_string());
        let told = of("a.csv", &text, "").unwrap().about().table.unwrap().warnings().join("\n");
        assert!(told.contains("column \"v\" counts the rows"), "{told}");
    }
    // Numbers that are neither.
    for cell in [&|i: usize| (i * i % 53).to_string() as String, &|i: usize| format!("{}.25", i * 31 % 120)]
        as [&dyn Fn(usize) -> String; 2]
    {
        assert!(of("a.csv", &table(cell), "").is_ok(), "{}", cell(1));
    }
}

#[test]
fn a_class_of_dates_and_a_number_with_words_are_asked() {
    let text = "x,y\n".to_owned()
        + &(0..60).map(|i| format!("{},2024-01-{:02}\n", i % 7, 1 + i % 20)).collect::<String>();
    let e = of("a.csv", &text, "").err().unwrap();
    assert!(e.contains("the class \"y\" holds dates") && e.contains("classes = 20"), "{e}");
    let prices = table(&|i| if i == 7 { "ask us".into() } else { format!("${}.50", i % 30) });
    let e = of("a.csv", &prices, "").err().unwrap();
    assert!(e.contains("1 of 120 cells are words where the others are numbers: \"ask us\" on line 9"), "{e}");
    let e =
        of("a.csv", &table(&|i| if i == 7 { "5 g".into() } else { format!("{i} kg") }), "").err().unwrap();
    assert!(e.contains("a number with \"kg\" on line 2 and one with \"g\" on line 9"), "{e}");
    for (first, one) in
        [("Sales of 2024", "1 cell and"), ("# made by hand", "1 cell and"), ("sep=,", "2 cells and")]
    {
        let e = of("a.csv", &format!("{first}\na,b,y\n1,2,no\n2,3,yes\n"), "").err().unwrap();
        assert!(e.contains(&format!(":1: the first line has {one} all others have 3")), "{e}");
    }
    let e = of("a.csv", "# made\n# by hand\na,b,y\n1,2,no\n2,3,yes\n", "").err().unwrap();
    assert!(e.contains(":1: the first 2 lines have other numbers of cells and all others have 3"), "{e}");
}

/// Words that differ in UTF-8 differ in Windows-1252: same classes, same features, and it is said.
#[test]
fn a_file_in_windows_1252_is_read_as_the_same_file_in_utf_8() {
    let dir = TempDir::new().unwrap();
    let text = "größe,farbe,y\n1,grün,Bär\n2,rot,Bör\n3,grün,Fuchs\n4,rot,Bär\n";
    let latin: Vec<u8> = text.chars().map(|c| u8::try_from(c).unwrap()).collect();
    let play = |name: &str, bytes: &[u8]| {
        let path = dir.path().join(name);
        fs::write(&path, bytes).unwrap();
        let mut world = open(&format!("file = '{}'", path.display())).unwrap();
        let told = world.about().table.unwrap().warnings().join("\n");
        let columns: Vec<String> =
            world.about().table.unwrap().columns.iter().map(|c| c.name.clone()).collect();
        (rows(&mut *world), columns, told)
    };
    let (one, two) = (play("utf8.csv", text.as_bytes()), play("latin.csv", &latin));
    assert_eq!((&one.0, &one.1), (&two.0, &two.1));
    assert_eq!(one.0.iter().map(|(_, class)| *class).collect::<Vec<_>>(), [0, 1, 2, 0]);
    assert!(
        one.2.is_empty() && two.2.contains("line 1 is not UTF-8: the file is read as Windows-1252"),
        "{}",
        two.2
    );
    // A model of the one reads the other.
    let path = dir.path().join("utf8.csv").display().to_string();
    let params = format!("file = '{path}'").parse::<toml::Table>().unwrap();
    let params: corral_envs::data::DataSetParams = params.try_into().unwrap();
    let mut reading = params.reading().unwrap();
    let mut context = corral_core::Context::shared(Vec::new(), 3);
    let mut new = reading.open(&dir.path().join("latin.csv").display().to_string()).unwrap();
    while new.next(&mut context).unwrap() {}
    assert_eq!(new.unknown(), 0);
    let semicolons = text.replace(',', ";");
    fs::write(dir.path().join("semicolons.csv"), semicolons).unwrap();
    let mut other = reading.open(&dir.path().join("semicolons.csv").display().to_string()).unwrap();
    assert!(other.next(&mut context).unwrap() && other.remark().is_none());
    let new = reading.open(&dir.path().join("latin.csv").display().to_string()).unwrap();
    assert!(new.remark().is_some_and(|said| said.contains("line 1 is not UTF-8")));
}

/// A model of a column with a unit refuses numbers without it.
#[test]
fn new_rows_have_the_units_of_the_table() {
    let dir = TempDir::new().unwrap();
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let table = write("a.csv", "share,y\n90%,no\n5%,yes\n");
    let params = format!("file = '{table}'").parse::<toml::Table>().unwrap();
    let params: corral_envs::data::DataSetParams = params.try_into().unwrap();
    let mut reading = params.reading().unwrap();
    let mut context = corral_core::Context::shared(Vec::new(), 2);
    assert!(reading.open(&write("b.csv", "share\n12%\n")).unwrap().next(&mut context).unwrap());
    let e =
        reading.open(&write("c.csv", "share\n0.90\n")).unwrap().next(&mut context).unwrap_err().to_string();
    assert!(
        e.contains("c.csv:2: \"0.90\" is a number without a unit, but those of its column are with \"%\""),
        "{e}"
    );
}

#[test]
fn the_class_is_looked_for_by_name_and_place() {
    let dir = TempDir::new().unwrap();
    for (head, class) in [
        ("x,y,colour,label", "label"),
        ("x,y,target,n", "target"),
        ("x,y,n,colour", "colour"),
        ("a,y,n,m", "y"),
        ("label,a,n,target", "target"),
    ] {
        let path = dir.path().join("t.csv");
        let rows: String =
            (0..30).map(|i| format!("{},{},{},{}\n", i % 3, i % 2, i % 5, ["a", "b"][i % 2])).collect();
        fs::write(&path, format!("{head}\n{rows}")).unwrap();
        let found = corral_envs::data::inspect(&path.display().to_string(), None).unwrap();
        assert_eq!(found.params.class.as_deref(), Some(class), "{head}");
    }
}

/// Actions of a table of decisions that no row has are no actions, unless it is said.
#[test]
fn actions_without_a_row_are_asked() {
    let dir = TempDir::new().unwrap();
    let log = |actions: &[usize], keys: &str| {
        let path = dir.path().join("log.csv");
        let rows: String =
            (0..60).map(|i| format!("{},{},1,0.5\n", i % 5, actions[i % actions.len()])).collect();
        fs::write(&path, format!("x,item_id,click,propensity_score\n{rows}")).unwrap();
        named("logged", &format!("file = '{}'\n{keys}", path.display()))
    };
    let e = log(&[1, 2, 3], "").err().unwrap();
    assert!(
        e.contains("no row has the \"item_id\" 0")
            && e.contains("they go from 1 to 3")
            && e.contains("actions = 4"),
        "{e}"
    );
    let e = log(&[0, 5, 10], "").err().unwrap();
    assert!(
        e.contains("no row has the \"item_id\" 1: the actions go up to 10, and 8 of them have no row"),
        "{e}"
    );
    let actions = |keys: &str| log(&[0, 5, 10], keys).map(|world| world.setup().actions());
    assert_eq!((actions("actions = 11"), actions("actions = 12")), (Ok(11), Ok(12)));
    assert!(actions("actions = 10").unwrap_err().contains("there is the action 10, but actions = 10"));
    assert_eq!(log(&[0, 1], "").map(|world| world.setup().actions()), Ok(2));
    let e = log(&[0, 1], "reward = 'clicks'").err().unwrap();
    assert!(e.contains("`reward` names the column of the reward"), "{e}");
}
