//! `corral list`.

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use corral_core::params::describe::Field;
use corral_core::registry::{Entry, Registry, Unknown};
use corral_lab::experiments;
use corral_lab::store::csv;
use corral_lab::table::{fitted, wrapped};
use corral_plugin_abi::host::Listing;
use serde::Serialize;
use serde_json::Value;

use crate::plugins::PluginDir;
use crate::table::page_width;
use crate::{Failure, Format, print, say};

/// Arguments of `corral list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// What to list; nothing lists the names of everything
    what: Option<What>,
    /// One of them, with its parameters
    name: Option<String>,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    plugins: PluginDir,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// Master algorithms
    Masters,
    /// Base algorithms
    Bases,
    /// Environments
    Environments,
    /// Built-in experiments
    Experiments,
    /// Bases of compiled plugins
    Plugins,
}

/// `corral list`.
///
/// # Errors
/// An unknown name.
pub fn list(args: ListArgs) -> Result<(), Failure> {
    let Some(what) = args.what else { return overview(args.format) };
    let (singular, entries) = match what {
        What::Masters => ("master", listed(&corral_core::masters::REGISTRY)),
        What::Bases => ("base", listed(&corral_bases::REGISTRY)),
        What::Environments => ("environment", listed(&corral_envs::REGISTRY)),
        What::Experiments => return list_experiments(&args),
        What::Plugins => return list_plugins(&args),
    };
    match &args.name {
        Some(name) => match entries.iter().find(|e| e.entry.name == name) {
            Some(entry) => print(&one(entry, args.format)),
            None => Err(Failure::usage(Unknown::new(singular, name, entries.iter().map(|e| e.entry.name)))),
        },
        None => {
            let note = match (what, args.format) {
                (What::Bases, Format::Table) => {
                    format!("\n{}\n", wrapped(KEYS_OF_ALL_BASES, page_width()).join("\n"))
                }
                _ => String::new(),
            };
            print(&(many(&entries, args.format) + &note))
        }
    }
}

/// What every base of a spec takes beside its own keys.
const KEYS_OF_ALL_BASES: &str = "Every base also takes label (its name in reports), smoothed = true (smoothing as in stochastic \
    Corral: every second round of its own it plays a past policy; use feed raw), rescaled = true (it learns losses divided by the range of their weights: stable with alpha = 1) and, for plugins, isolate = true (a process of \
    its own).";

/// The same command for completions: what is listed is a command of its own there, whose names are its values.
pub fn with_names(command: clap::Command) -> clap::Command {
    let names: [(&'static str, Vec<&'static str>); 5] = [
        ("masters", corral_core::masters::REGISTRY.entries().map(|e| e.name).collect()),
        ("bases", corral_bases::entries().map(|e| e.name).collect()),
        ("environments", corral_envs::entries().map(|e| e.name).collect()),
        ("experiments", experiments::ALL.iter().map(|(name, _)| *name).collect()),
        // They stand in a folder.
        ("plugins", Vec::new()),
    ];
    let kinds = names.into_iter().map(|(kind, names)| {
        let kind = clap::Command::new(kind);
        match names.is_empty() {
            true => kind,
            false => kind.arg(clap::Arg::new("name").value_parser(PossibleValuesParser::new(names))),
        }
    });
    let about = command.get_about().cloned().unwrap_or_default();
    let options = command.get_arguments().filter(|arg| !arg.is_positional()).cloned();
    clap::Command::new("list")
        .about(about)
        .args(options.collect::<Vec<_>>())
        .subcommands(kinds)
        .disable_help_subcommand(true)
}

fn overview(format: Format) -> Result<(), Failure> {
    let all = [
        ("masters", corral_core::masters::REGISTRY.entries().map(|e| e.name).collect::<Vec<_>>()),
        ("bases", corral_bases::entries().map(|e| e.name).collect()),
        ("environments", corral_envs::entries().map(|e| e.name).collect()),
        ("experiments", experiments::ALL.iter().map(|(n, _)| *n).collect()),
    ];
    print(&match format {
        Format::Json => {
            let pairs = all.into_iter().map(|(kind, names)| (kind.to_owned(), serde_json::json!(names)));
            format!("{:#}\n", serde_json::Value::Object(pairs.collect()))
        }
        Format::Csv => {
            let row = |kind: &str, name: &str| vec![kind.to_owned(), name.to_owned()];
            csv(&["kind", "name"], all.iter().flat_map(|(kind, names)| names.iter().map(|n| row(kind, n))))
        }
        Format::Table => {
            let width = page_width();
            let mut out = String::new();
            for (kind, names) in &all {
                for (i, line) in wrapped(&names.join(", "), width - 14).into_iter().enumerate() {
                    out.push_str(&format!("{:12}  {line}\n", if i == 0 { kind } else { "" }));
                }
                out.push('\n');
            }
            let note = format!("corral list bases exp3 shows one with its parameters. {KEYS_OF_ALL_BASES}");
            out + &wrapped(&note, width).join("\n") + "\n"
        }
    })
}

/// What is listed of one thing: what is said of it, and its parameters.
#[derive(Serialize)]
struct Listed {
    #[serde(flatten)]
    entry: Entry,
    fields: Vec<Field>,
}

fn listed<B>(registry: &Registry<B>) -> Vec<Listed> {
    registry.rows().map(|row| Listed { entry: row.entry, fields: row.fields() }).collect()
}

/// A default as a spec writes it.
pub(super) fn default_text(default: Option<&Value>) -> String {
    match default {
        None => "(required)".into(),
        Some(Value::Null) => "unset".into(),
        Some(value) => value.to_string(),
    }
}

/// What a parameter means, and what it may be; `quote` stands around words.
pub(super) fn meaning(f: &Field, quote: &str) -> String {
    let bounds = f.bounds.as_ref().map(|b| format!(" It must be {b}.")).unwrap_or_default();
    let choices = match f.choices.join(&format!("{quote}, {quote}")) {
        none if none.is_empty() => none,
        words => format!(" One of {quote}{words}{quote}."),
    };
    format!("{}{bounds}{choices}", f.doc)
}

fn many(entries: &[Listed], format: Format) -> String {
    match format {
        Format::Json => format!("{:#}\n", serde_json::json!(entries)),
        Format::Csv | Format::Table => {
            let rows: Vec<Vec<String>> = entries
                .iter()
                .map(|Listed { entry: e, .. }| {
                    let alpha = e.alpha.map_or(String::new(), alpha_text);
                    let [kind, status] = [e.kind.to_string(), e.status.to_string()];
                    vec![e.name.into(), kind, alpha, status, e.summary.into()]
                })
                .collect();
            let header = ["name", "kind", "alpha", "status", "what it is"];
            rendered(&header, &rows, format)
        }
    }
}

fn alpha_text(alpha: f64) -> String {
    for (value, text) in [(0.5, "1/2"), (1.0 / 3.0, "1/3"), (0.25, "1/4"), (1.0, "1")] {
        if (alpha - value).abs() < 1e-9 {
            return text.to_owned();
        }
    }
    format!("{alpha:.3}")
}

fn one(listed: &Listed, format: Format) -> String {
    if format == Format::Json {
        return format!("{:#}\n", serde_json::json!(listed));
    }
    let Listed { entry: e, fields } = listed;
    let width = page_width();
    let mut out = format!("{}\n  {}\n\n", e.name, wrapped(e.summary, width - 2).join("\n  "));
    let alpha = e.alpha.map_or(String::new(), alpha_text);
    for (key, value) in [
        ("source", e.source),
        ("regret", e.regret),
        ("alpha", alpha.as_str()),
        ("fits", e.fits),
        ("cost", e.cost),
        ("kind", &e.kind.to_string()),
        ("status", &e.status.to_string()),
    ] {
        if !value.is_empty() {
            let value = wrapped(value, width - 11).join("\n           ");
            out.push_str(&format!("  {key:8} {value}\n"));
        }
    }
    if fields.is_empty() {
        return out + "\n  no parameters\n";
    }
    let row = |f: &Field| vec![f.name.clone(), default_text(f.default.as_ref()), meaning(f, "")];
    let rows: Vec<Vec<String>> = fields.iter().map(row).collect();
    let table = fitted(&["parameter", "default", "what it does"], "lll", &rows, Some(page_width() - 2), &[]);
    out.push('\n');
    table.lines().for_each(|l| out.push_str(&format!("  {l}\n")));
    out
}

/// `corral show`: the text of a built-in spec.
///
/// # Errors
/// An unknown name.
pub fn show(name: &str) -> Result<(), Failure> {
    match experiments::text(name) {
        Some(text) => print(text),
        None => Err(Failure::usage(experiments::unknown(name))),
    }
}

fn list_experiments(args: &ListArgs) -> Result<(), Failure> {
    let mut rows: Vec<Vec<String>> = experiments::ALL
        .iter()
        .map(|(name, text)| vec![(*name).to_owned(), experiments::asks(text)])
        .collect();
    only(&mut rows, "experiment", args.name.as_deref())?;
    print(&rendered(&["name", "asks"], &rows, args.format))
}

/// Leaves the row of `name`, if one is asked for.
fn only(rows: &mut Vec<Vec<String>>, what: &str, name: Option<&str>) -> Result<(), Failure> {
    let Some(name) = name else { return Ok(()) };
    let unknown = Unknown::new(what, name, rows.iter().map(|r| r[0].as_str()));
    Failure::ensure(rows.iter().any(|r| r[0] == name), unknown)?;
    rows.retain(|r| r[0] == name);
    Ok(())
}

fn rendered(header: &[&str], rows: &[Vec<String>], format: Format) -> String {
    match format {
        Format::Json => {
            let item = |r: &Vec<String>| {
                let pairs = header.iter().zip(r).map(|(h, v)| ((*h).to_owned(), serde_json::json!(v)));
                serde_json::Value::Object(pairs.collect())
            };
            format!("{:#}\n", serde_json::Value::Array(rows.iter().map(item).collect()))
        }
        Format::Csv => csv(header, rows.iter().cloned()),
        Format::Table => fitted(header, &"l".repeat(header.len()), rows, Some(page_width()), &[]),
    }
}

fn list_plugins(args: &ListArgs) -> Result<(), Failure> {
    let plugins = args.plugins.load(true)?;
    let alpha = |a: Option<f64>| a.map_or(String::new(), |a| format!("{a:.2}"));
    let row = |Listing { key, base, .. }: Listing| {
        vec![key, base.kind.to_string(), alpha(base.alpha), base.version, base.description]
    };
    let mut rows: Vec<Vec<String>> = plugins.list().into_iter().map(row).collect();
    plugins.refused().iter().for_each(|why| say(&format!("plugin refused: {why}")));
    only(&mut rows, "plugin", args.name.as_deref())?;
    let header = ["key", "kind", "alpha", "version", "what it is"];
    print(&match args.format {
        Format::Table if rows.is_empty() => {
            "no plugins; drop a compiled one into plugins/, or name a folder with --plugins\n".to_owned()
        }
        format => rendered(&header, &rows, format),
    })
}
