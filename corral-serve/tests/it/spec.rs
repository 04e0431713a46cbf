//! Specs that can be served, and errors that name the key.

use corral_serve::spec::read;

#[test]
fn one_band_or_several() {
    let one = "name = \"a\"\nactions = 3\nbases = [\"ucb1\"]\n";
    assert_eq!(read(one).unwrap().len(), 1);
    let two = format!("[[band]]\n{one}\n[[band]]\n{}", one.replace("\"a\"", "\"b\""));
    let names: Vec<_> = read(&two).unwrap().into_iter().map(|band| band.name).collect();
    assert_eq!(names, ["a", "b"]);
}

#[test]
fn an_error_names_the_key() {
    let good =
        "name = \"a\"\nactions = [\"x\", \"y\"]\nfeatures = 2\nbases = [\"linucb\"]\nreward_range = [0, 1]\n";
    read(good).unwrap();
    for (from, to, key) in [
        ("name = \"a\"\n", "", "`name`"),
        ("actions = [\"x\", \"y\"]", "actions = 0", "actions"),
        ("actions = [\"x\", \"y\"]", "actions = \"x\"", "actions"),
        ("[\"x\", \"y\"]", "[\"x\", \"x\"]", "actions"),
        ("name = \"a\"", "name = \"a/b\"", "name"),
        ("[\"linucb\"]", "[]", "bases"),
        ("[\"linucb\"]", "[\"linucb\", \"nonsense\"]", "bases[1]"),
        ("[\"linucb\"]", "[{ name = \"linucb\", alpha = \"x\" }]", "bases[0]"),
        ("[0, 1]", "[1, 0]", "reward_range"),
        ("features = 2", "features = -1", "features"),
        ("features = 2", "feature = 2", "feature"),
        ("features = 2", "features = 2\nmaster = \"nonsense\"", "master"),
    ] {
        let text = good.replace(from, to);
        let error = read(&text).expect_err(&text).to_string();
        assert!(error.contains(key), "{key}: {error}");
    }
    let twice = format!("[[band]]\n{good}[[band]]\n{good}");
    assert!(read(&twice).unwrap_err().to_string().starts_with("name: two bands"));
}
