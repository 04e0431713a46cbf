//! Job scripts that run one spec in parts.

use std::path::Path;

use clap::ValueEnum;

/// What a job script is for.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum System {
    /// A Slurm array.
    Slurm,
    /// GNU parallel.
    Parallel,
}

/// A script for `system` that runs `spec` in `parts` parts and joins them.
pub fn script(
    system: System,
    spec: &str,
    pairs: &[(String, String)],
    fast: bool,
    parts: u64,
    out: &Path,
) -> String {
    let mut run = format!("corral run {}", quoted(spec));
    if fast {
        run.push_str(" --fast");
    }
    for (key, value) in pairs {
        run.push_str(&format!(" --set {}", quoted(&format!("{key}={value}"))));
    }
    let out = out.display().to_string();
    let part = |i: &str| format!("{run} --quiet --shard {i}/{parts} --out {}.part-{i}", quoted(&out));
    let folders = format!("{}.part-*", quoted(&out));
    match system {
        System::Slurm => format!(
            "#!/bin/bash
#SBATCH --job-name=corral
#SBATCH --array=1-{parts}
#SBATCH --cpus-per-task=1
# Submit with sbatch. A task that ended early goes on where it was; for the second one:
#   sbatch --array=2 THIS-FILE
# When all parts are done:
#   corral merge {folders} --out {}
set -euo pipefail
{} --jobs 1
",
            quoted(&out),
            part("$SLURM_ARRAY_TASK_ID"),
        ),
        System::Parallel => format!(
            "#!/bin/bash
set -euo pipefail
seq 1 {parts} | parallel '{} --jobs 1'
corral merge {folders} --out {}
",
            part("{}").replace('\'', r"'\''"),
            quoted(&out),
        ),
    }
}

/// As one word of a POSIX shell.
fn quoted(text: &str) -> String {
    if !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=:,".contains(c)) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}
