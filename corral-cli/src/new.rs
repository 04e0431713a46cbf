//! `corral new`: a commented spec to start from.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use corral_core::text::visible;
use corral_envs::data::{Inspection, Missing, PerColumn, inspect};

use crate::{Failure, print};

/// Arguments of `corral new`.
#[derive(Debug, Args)]
pub struct NewArgs {
    /// What kind of spec
    #[arg(value_enum, default_value = "arms")]
    kind: Kind,
    /// `data`: the table that it is for; the spec is written from what the table holds
    #[arg(value_name = "TABLE")]
    table: Option<String>,
    /// `data`: the column of the answer [default: by its name, else the last]
    #[arg(long, value_name = "COLUMN", requires = "table")]
    class: Option<String>,
    /// Where to write it [default: KIND.toml, or the table's name with .toml]; - prints it
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// The specs to start from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Arms without contexts
    Arms,
    /// Arms with contexts
    Contexts,
    /// Points of a set in R^d
    Points,
    /// A table of your own, row by row
    Data,
    /// A base of a plugin beside known ones
    PluginTest,
}

impl Kind {
    fn text(self) -> (&'static str, &'static str) {
        match self {
            Self::Arms => ("arms", include_str!("new/arms.toml")),
            Self::Contexts => ("contexts", include_str!("new/contexts.toml")),
            Self::Points => ("points", include_str!("new/points.toml")),
            Self::Data => ("data", include_str!("new/data.toml")),
            Self::PluginTest => ("plugin-test", include_str!("new/plugin-test.toml")),
        }
    }
}

/// `corral new`.
///
/// # Errors
/// The file is there already, or cannot be written.
pub fn new(args: NewArgs) -> Result<(), Failure> {
    let (name, text) = args.kind.text();
    let (name, text, notes) = match &args.table {
        None => (name.to_owned(), text.to_owned(), Vec::new()),
        Some(table) => {
            Failure::ensure(args.kind == Kind::Data, "a table is for `corral new data TABLE`")?;
            from_table(table, args.class)?
        }
    };
    let path = args.out.unwrap_or_else(|| PathBuf::from(format!("{name}.toml")));
    if path.as_os_str() == "-" {
        return print(&text);
    }
    let written = std::fs::File::create_new(&path).and_then(|mut file| {
        use std::io::Write;
        // Half a spec is not left behind.
        file.write_all(text.as_bytes()).inspect_err(|_| drop(std::fs::remove_file(&path)))
    });
    match written {
        Ok(()) => print(&format!(
            "{1}wrote {0}\n\n  corral run {0} --check    is it fine, and what will it cost\n  corral run {0} --fast     a short run\n  corral run {0}\n",
            path.display(),
            notes.iter().map(|note| format!("{note}\n")).collect::<String>()
        )),
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Err(Failure::usage(format!(
            "{}: there is such a file already, and it was left as it is; name another with --out",
            path.display()
        ))),
        Err(e) => Err(Failure::usage(format!("{}: {e}", path.display()))),
    }
}

/// A spec for a table, with its name and what was found in the table.
fn from_table(file: &str, class: Option<String>) -> Result<(String, String, Vec<String>), Failure> {
    let Inspection { params, table, notes } = inspect(file, class).map_err(Failure::usage)?;
    let toml = |value: &str| toml::Value::from(value).to_string();
    let list =
        |names: &[String]| format!("[{}]", names.iter().map(|n| toml(n)).collect::<Vec<_>>().join(", "));
    let mut keys = vec![("file", toml(file), "")];
    keys.extend(params.separator.map(|c| ("separator", toml(&c.to_string()), "")));
    keys.extend(
        params.header.map(|header| ("header", header.to_string(), "the columns are called 1, 2, 3, ...")),
    );
    keys.extend(params.decimal.map(|c| ("decimal", toml(&c.to_string()), "what decimals follow; check it")));
    keys.extend(params.class.map(|class| ("class", toml(&class), "the column of the answer")));
    if params.levels > 0 {
        keys.push((
            "levels",
            params.levels.to_string(),
            "answers in the range of the class, each costs its distance",
        ));
    }
    if !params.ignore.is_empty() {
        keys.push(("ignore", list(&params.ignore), "columns that are no features"));
    }
    if !params.categorical.is_empty() {
        keys.push(("categorical", list(&params.categorical), "columns that only look like numbers"));
    }
    let missing = match &params.missing {
        PerColumn::All(_) => String::new(),
        PerColumn::Each(each) => {
            let word = |how: &Missing| if *how == Missing::DropRow { "drop-row" } else { "indicator" };
            let each = each.iter().map(|(name, how)| format!("{} = {}", toml_key(name), toml(word(how))));
            format!("{{ {} }}", each.collect::<Vec<_>>().join(", "))
        }
    };
    if !missing.is_empty() {
        keys.push(("missing", missing, "what becomes of missing cells, by column"));
    }
    keys.push(("scaling", toml("running"), "by the rows so far; \"standard\" looks at the whole file"));
    let keys: String = keys
        .iter()
        .map(|(key, value, why)| match *why {
            "" => format!("{key:<11} = {value}\n"),
            why => format!("{key:<11} = {value:<28} # {why}\n"),
        })
        .collect();
    let stem =
        Path::new(file).file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let stem = stem.split('.').next().unwrap_or("data").to_owned();
    let found: String = notes.iter().map(|note| format!("# {}\n", visible(note))).collect();
    let rounds = table.rows;
    let template = Kind::Data.text().1;
    let bands = template.find("[bands]").map_or("", |at| &template[at..]);
    let text = format!(
        "# A table as a bandit: a row is a round, its features are the context, its class is the action that costs 0.\n{found}\
         name   = {}\n\
         asks   = \"Which learner makes the fewest mistakes on this table, one row after the other?\"\n\
         rounds = {rounds}\n\
         seeds  = 5\n\
         fast   = {{ rounds = {}, seeds = 2 }}\n\n\
         [[environment]]\n\
         label       = {}\n\
         name        = \"dataset\"\n{keys}\n{bands}",
        toml(&stem),
        rounds.min(1_000),
        toml(&stem),
    );
    let mut notes = notes;
    notes.insert(0, format!("{file}: {rounds} rows, {} actions, {} features", table.actions, table.features));
    notes.extend(table.warnings());
    Ok((stem, text, notes.iter().map(|note| visible(note).to_string()).collect()))
}

/// A key of an inline table.
fn toml_key(name: &str) -> String {
    toml::Value::from(name).to_string()
}
