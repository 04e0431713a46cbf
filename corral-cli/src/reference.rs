//! `docs/spec.md`: the schema of a spec as a page for people.

use std::fmt::Write;

use corral_core::params::describe::{Field, fields_of};
use corral_core::registry::Registry;
use serde_json::Value;

use crate::list::{default_text, meaning};

/// The page of a schema.
pub fn page(schema: &Value) -> String {
    let mut out = String::from(HEAD);
    let defs = &schema["$defs"];
    let mut part = |title: &str, about: &str, fields: &[Field]| {
        out.push_str(&format!("\n## {title}\n\n{about}\n\n{}", table(fields)));
    };
    part("The spec", "Keys of the file itself.", &fields_of(schema));
    part(
        "`[[learner]]`",
        "Who is run: a base alone, a master over bases, or every base of a band.",
        &fields_of(&defs["learner"]),
    );
    part(
        "`[[claim]]`",
        "What is expected; [claims.md](claims.md) says how each is measured.",
        &fields_of(&defs["claim"]),
    );
    out.push_str(SWEEPS);
    registry(&mut out, "Environments", "environment", defs, &corral_envs::REGISTRY);
    registry(&mut out, "Masters", "master", defs, &corral_core::masters::REGISTRY);
    registry(&mut out, "Bases", "base", defs, &corral_bases::REGISTRY);
    out
}

const HEAD: &str = "# What a spec may say

Written by `corral schema --format markdown`; a test holds it to the program. `corral new` writes a spec to start from, `corral show
quickstart` prints a built-in one, `corral run FILE --check` says what is wrong with yours, and in which line.

A spec is TOML. A key without a default must be given, unless its sentence says what happens without it. `--set KEY=VALUE` overrides any key of it: `--set environment.0.means=[0.1,0.2]`, `--set learner.0.master.rate=fast`.
";

const SWEEPS: &str = "
## `[sweep]`

A path of keys, and its values: environments and learners by number or label, inside them every key that they take.

```toml
seeds = 2
environment = [{ name = \"gap\", arms = 3, gap = 0.2 }]

[bands]
mine = [{ name = \"ucb1\" }, \"exp3\"]

[[learner]]
label  = \"corral\"
master = { name = \"corral\" }
bases  = \"mine\"

[[learner]]
base = { name = \"ucb1\" }

[sweep]
learner.corral.master.rate = [\"balanced\", \"fast\"]                 # a list
learner.1.base.scale = { from = 0.1, to = 10.0, points = 5 }        # evenly in logarithm
environment.0.gap    = { from = 0.1, to = 0.3, points = 3, scale = \"linear\" }
bands.mine.0.scale   = [0.5, 1.0]                                   # a base of a band, in all learners over it
rounds               = [1_000, 10_000]
zip                  = false                                        # true: first values together, second ones together, ...
```

Every learner and environment is run in all combinations of the keys that concern it, labelled by them (`ucb1 scale=0.1`). Tables and
the report group by key and draw regret against each, and a map of two; `corral export` has a column for each.
";

/// The keys that all variants of a definition share.
fn common(definition: &Value) -> Vec<Field> {
    let variants = definition["anyOf"].as_array().into_iter().flatten();
    let variants: Vec<Vec<Field>> = variants
        .flat_map(|v| v["anyOf"].as_array().into_iter().flatten().chain([v]))
        .filter(|v| v["title"].is_string())
        .map(fields_of)
        .collect();
    let Some(first) = variants.first() else { return Vec::new() };
    let shared = |f: &&Field| {
        f.name != "name" && variants.iter().all(|v| v.iter().any(|o| o.name == f.name && o.doc == f.doc))
    };
    first.iter().filter(shared).cloned().collect()
}

fn registry<B>(out: &mut String, title: &str, one: &str, defs: &Value, registry: &Registry<B>) {
    let keys = table(&common(&defs[one]));
    out.push_str(&format!("\n## {title}\n\nKeys that every {one} takes:\n\n{keys}"));
    for row in registry.rows() {
        let entry = row.entry;
        // Writing into a string cannot fail.
        let _ = write!(
            out,
            "\n### `{}`\n\n{}. {}.\n",
            entry.name,
            sentence(entry.summary),
            entry.source.trim_end_matches('.')
        );
        let fields = row.fields();
        if !fields.is_empty() {
            let _ = write!(out, "\n{}", table(&fields));
        }
    }
}

/// Beginning with a capital, and without its full stop.
fn sentence(text: &str) -> String {
    let text = text.trim_end_matches('.');
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

fn table(fields: &[Field]) -> String {
    let cell = |text: &str| text.replace('|', "\\|");
    let mut out = String::from("| key | default | meaning |\n|---|---|---|\n");
    for f in fields {
        let default = match f.default.as_ref() {
            None => String::new(),
            default => format!("`{}`", default_text(default)),
        };
        out.push_str(&format!("| `{}` | {} | {} |\n", f.name, cell(&default), cell(&meaning(f, "`"))));
    }
    out
}
