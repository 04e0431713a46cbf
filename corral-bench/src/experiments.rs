//! The built-in experiments: specs that come with the program.

/// Name and text of each.
pub const ALL: &[(&str, &str)] = &[("quickstart", include_str!("../experiments/quickstart.toml"))];

/// The text of the experiment `name`.
pub fn text(name: &str) -> Option<&'static str> {
    ALL.iter().find(|(n, _)| *n == name).map(|(_, text)| *text)
}

/// The question that an experiment asks.
pub fn asks(text: &str) -> String {
    let table: Option<toml::Table> = toml::from_str(text).ok();
    table.and_then(|t| t.get("asks")?.as_str().map(str::to_owned)).unwrap_or_default()
}
