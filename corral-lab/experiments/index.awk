# One page of docs/results in a few lines: its question, and a line for every claim with its verdicts.
# Usage: awk -v name=paper/hardness -v stale=0 -f index.awk docs/results/paper/hardness.md
function flush(   line, v, all) {
  if (claim == "") return
  all = 0
  for (v in count) all += count[v]
  if (all > 0) {
    line = ""
    for (v = 1; v <= 4; v++) if (count[order[v]]) line = line (line == "" ? "" : ", ") order[v] (all > 1 ? " " count[order[v]] : "")
    print "- **" line "**" (all > 1 ? " of " all : "") (unlikely ? " (not expected to show at this T)" : "") ": " claim
  }
  claim = ""; unlikely = 0
  for (v in count) delete count[v]
}
BEGIN { split("holds fails undecided unmeasured", order, " ") }
/^# / && !titled { titled = 1; print "\n### [" substr($0, 3) "](" name ".md)" (stale ? " (stale)" : "") "\n"; next }
/^## / && !inside { heading = " (" tolower(substr($0, 4)) ")"; next }
/^```text/ { inside = 1; next }
/^```$/ { flush(); inside = 0; next }
!inside { next }
/^\$ corral run/ { at = NR; command = substr($0, 3); next }
NR == at + 2 && NF { sub(/ \([^()]*\)$/, ""); print "`" command "`: " $0 "\n"; next } # a remark at the end stands on the page
/^  (holds|fails|undecided|unmeasured) / { if (claim == "") claim = before; count[$1]++; next }
/^  not expected to show here/ { unlikely = 1; next }
/^regret beside published means/ { n = split($0, part, ": "); split(part[n], of, " "); print "- **agrees " of[1] "** of " of[3] ": regret beside published means, within three combined standard errors" heading; next }
/^schedule |^base +world +schedule/ { stable = 1; next }
stable && $NF ~ /^(holds|fails|undecided|unmeasured)$/ { count[$NF]++; claim = "the measured stability exponent is at most the one of the table + 0.1, base by base and schedule by schedule"; next }
/^masters by mean rank/ { ranked = NR + 2; next }
ranked && NR > ranked && NR <= ranked + 3 { split($0, part, /  +/); ranks = ranks (ranks == "" ? "" : ", ") part[1] " (" part[2] ")"; if (NR == ranked + 3) print "- lowest mean ranks: " ranks }
/^- all [0-9]+ worlds/ { sub(/;.*/, "."); print }
{ flush(); before = $0 }
