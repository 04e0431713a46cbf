#!/usr/bin/env bash
# Writes docs/results/NAME.md from the full presets, and RESULTS.md from all of those: every figure is printed by the command
# above it.
# Usage: corral-lab/experiments/record.sh [--seeds N|FIRST..END] [NAME...]  (none: all experiments; CORRAL_DATA set: those on real data too)
#        corral-lab/experiments/record.sh --index                (RESULTS.md alone, from the pages that are there)
# CORRAL=FILE takes that program and builds none.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
[ -n "${CORRAL:-}" ] || cargo build --release --quiet
corral=$(realpath "${CORRAL:-target/release/corral}")
all=$("$corral" list experiments --format json | sed -n 's/^ *"name": "\(.*\)",\{0,1\}$/\1/p')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
options=()
if [ "${1:-}" = "--seeds" ]; then options=(--seeds "$2"); shift 2; fi

record() { # an experiment
  local page="$root/docs/results/$1.md"
  mkdir -p "$(dirname "$page")"
  local command=("$1" "${options[@]}")
  (cd "$work" && "$corral" run "${command[@]}" ${CORRAL_JOBS:+--jobs "$CORRAL_JOBS"} --quiet) > "$work/text"
  {
    printf '# %s\n\nRecorded by `corral-lab/experiments/record.sh %s` on %s, %s cores, corral %s.\n\n' \
      "$(head -n 1 "$work/text")" "${options[*]:+${options[*]} }$1" "$(date -u +%Y-%m-%d)" "$(nproc)" "$("$corral" --version | cut -d' ' -f2)"
    printf '```text\n$ corral run %s\n' "${command[*]}"
    cat "$work/text"
    printf '```\n'
  } > "$work/page"
  mv "$work/page" "$page"
}

if [ "${1:-}" != "--index" ]; then
  for name in ${*:-$all}; do
    case $name in data/*) [ -n "${CORRAL_DATA:-}" ] || { echo "$name: CORRAL_DATA is not set, left as it is" >&2; continue; } ;; esac
    echo "$name" >&2
    record "$name"
  done
fi

{
  cat <<'HEAD'
# Results

Every experiment with its question and its claims, one line each; the title leads to the full tables. Written by
`corral-lab/experiments/record.sh`; each page has its date, its machine and its command.

Regret is pseudo-regret against the best *fixed* decision (negative where following a change beats it), mean over seeds with its 95%
interval; seeds, rounds and parameters are in the spec of each experiment (`corral-lab/experiments`). All figures but the speed are the same on every run. A
claim **holds** when its whole 95% bootstrap interval is on the claimed side, **fails** when all of it is on the other side, and is
**undecided** otherwise ([claims](docs/claims.md)); a published mean **agrees** within three combined standard errors.

Environments, lengths and bounds were fixed after pilot runs, and so was the mark "not expected to show at this T": a verdict describes
these runs, it is not a blind test. The constants of the practical preset were chosen on some of these environments
([docs/lab/practical.md](docs/lab/practical.md)). Words: [docs/glossary.md](docs/glossary.md).
HEAD
  for name in $all; do
    [ ! -f "docs/results/$name.md" ] || awk -v name="$name" -f corral-lab/experiments/index.awk "docs/results/$name.md"
  done
} > "$work/index"
mv "$work/index" RESULTS.md
