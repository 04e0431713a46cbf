#!/usr/bin/env bash
# Writes docs/results/NAME.md from the full presets, and from all of those docs/results/README.md and RESULTS.md: every figure is
# printed by the command above it.
# Usage: corral-lab/experiments/record.sh [--seeds N|FIRST..END] [NAME...]  (none: all experiments; CORRAL_DATA set: those on real data too)
#        corral-lab/experiments/record.sh --index                (the two indexes alone, from the pages that are there)
#        corral-lab/experiments/record.sh --digests NAME...      (new digests on these pages, which are known to be current: CONTRIBUTING.md)
# CORRAL=FILE takes that program and builds none.
# A page has the commit and a digest. The indexes mark pages as stale whose digest is another one today, and a test of
# corral-cli holds them to it: after a change that such pages depend on, `record.sh --index` writes the marks.
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

# 5,000 rounds of each master: a row for each, with its name as the learner.
(cd "$work" && "$corral" run "$root/corral-lab/experiments/traces.toml" --quiet --format csv) > "$work/traces"
# 2,000 rounds of each contextual base, for pages on real data.
(cd "$work" && "$corral" run "$root/corral-lab/experiments/traces-contextual.toml" --quiet --format csv) > "$work/contextual"

# Of an experiment: what its page depends on, as its spec, the figures of its fast preset and those of 5,000 rounds of each master that the
# spec names show it. Of real data, which not every machine has, those of 2,000 rounds of each contextual base stand for the fast preset.
digest() {
  local spec="$root/corral-lab/experiments/$1.toml" traces=("$work/traces")
  {
    cat "$spec"
    case $1 in
      data/*) traces+=("$work/contextual") ;;
      *) (cd "$work" && "$corral" run "$1" --fast --quiet --format csv) ;;
    esac
    while IFS= read -r row; do
      local learner
      learner=$(cut -d, -f4 <<<"$row")
      ! grep -qF "\"$learner\"" "$spec" || printf '%s\n' "$row"
    done < <(cat "${traces[@]}")
  } | sha256sum | cut -c 1-16
}

record() { # an experiment
  local page="$root/docs/results/$1.md"
  mkdir -p "$(dirname "$page")"
  local command=("$1" "${options[@]}")
  (cd "$work" && "$corral" run "${command[@]}" ${CORRAL_JOBS:+--jobs "$CORRAL_JOBS"} --quiet) > "$work/text"
  {
    printf '# %s\n\nRecorded by `corral-lab/experiments/record.sh %s` on %s, %s cores, corral %s, commit %s, digest %s.\n\n' \
      "$(head -n 1 "$work/text")" "${options[*]:+${options[*]} }$1" "$(date -u +%Y-%m-%d)" "$(nproc)" "$("$corral" --version | cut -d' ' -f2)" "$(git rev-parse --short HEAD)" "$(digest "$1")"
    printf '```text\n$ corral run %s\n' "${command[*]}"
    cat "$work/text"
    printf '```\n'
  } > "$work/page"
  mv "$work/page" "$page"
}

if [ "${1:-}" = "--digests" ]; then
  for name in "${@:2}"; do
    sed -i "s/^\(Recorded by .*, digest \)[0-9a-f]*\.$/\1$(digest "$name")./" "docs/results/$name.md"
  done
elif [ "${1:-}" != "--index" ]; then
  for name in ${*:-$all}; do
    case $name in data/*) [ -n "${CORRAL_DATA:-}" ] || { echo "$name: CORRAL_DATA is not set, left as it is" >&2; continue; } ;; esac
    echo "$name" >&2
    record "$name"
  done
fi

# Every page with its claims, and one line for each in RESULTS.md below what they say of the paper.
{
  printf '# Results, claim by claim\n\nWhat they say of the paper, and how to read them: [RESULTS.md](../../RESULTS.md).\n'
  printf '\n%s\n' 'How often the intervals of `corral log evaluate` miss, and how far its estimates are off: [on a simple logger that learns](../lab/evaluation.md), [on a practical band](../lab/evaluation-band.md).'
  for name in $all; do
    [ -f "docs/results/$name.md" ] || continue
    stale=1
    ! grep -q "^Recorded by .*, digest $(digest "$name")\.$" "docs/results/$name.md" || stale=0
    awk -v name="$name" -v stale="$stale" -f corral-lab/experiments/index.awk "docs/results/$name.md"
  done
} > "$work/index"
mv "$work/index" docs/results/README.md
cat corral-lab/experiments/results.head <(awk -f corral-lab/experiments/summary.awk docs/results/README.md) > RESULTS.md
