#!/usr/bin/env bash
# Writes RESULTS.md from the full presets: every figure in it is printed by the command above it.
# Usage: corral-bench/experiments/record.sh > RESULTS.md        (CORRAL_DATA set: the real data too)
set -euo pipefail
cd "$(dirname "$0")/../.."
cargo build --release --quiet
corral="$PWD/target/release/corral"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

cat <<HEAD
# Results

Written by \`corral-bench/experiments/record.sh\` on $(date -u +%Y-%m-%d), $(nproc) cores, corral $("$corral" --version | cut -d' ' -f2). Regret is pseudo-regret against the best
fixed decision, mean over seeds with its 95% interval; seeds, rounds and parameters stand in the spec of each experiment
(\`corral-bench/experiments\`). Figures but the speed are the same on every run. A claim \`holds\` when its whole 95% bootstrap interval is on
the claimed side, \`FAILS\` when all of it is on the other side, and is \`undecided\` otherwise; a published mean is held within three
combined standard errors. Worlds, lengths and bounds were fixed after pilot runs, and so was the mark "not expected to show here": a verdict
describes these runs, it is not a blind test.
HEAD

block() { # command line, shown and run
  printf '\n```text\n$ corral %s\n' "$*"
  "$corral" "$@" --quiet
  printf '```\n'
}

section() { printf '\n## %s\n' "$1"; }

section "Quickstart";                                            block run quickstart
section "The hardness theorem";                                  block run paper/hardness
section "The theorem, run by run";                               block run paper/theorem-main
section "Starvation";                                            block run paper/starvation
section "Contextual bandits";                                    block run paper/contextual-hybrid
section "Contextual bandits: trees of growing depth";            block run paper/contextual-classes
section "Convex bandits";                                        block run paper/convex
section "Thompson samplers with different priors";               block run paper/priors
section "Several representations";                               block run paper/representations
section "Sparse linear bandits";                                 block run paper/sparsity
section "Generalised linear links";                              block run paper/links
section "The remark: credit by decision";                        block run paper/remark
section "Published experiment 1";                                block run published/experiment-1
section "Published experiment 2";                                block run published/experiment-2
section "Published experiment 4";                                block run published/experiment-4
section "Published experiment 6";                                block run published/experiment-6
section "Published experiment 7";                                block run published/experiment-7
section "Masters compared";                                     block run compare/masters
section "Table 1: stability, measured";                          block run paper/table-1
if [ -n "${CORRAL_DATA:-}" ]; then
  section "Real data";                                           block run data/contextual
  section "Real data, policies with an oracle";                  block run data/iltcb
fi
