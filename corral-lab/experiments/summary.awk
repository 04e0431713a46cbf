# The index of docs/results in a line for every page: how many of its claims hold, fail and are undecided.
# Usage: awk -f summary.awk docs/results/README.md
function flush(   line, v) {
  if (title == "") return
  line = ""
  for (v = 1; v <= 6; v++) if (count[order[v]]) line = line (line == "" ? "" : ", ") order[v] " " count[order[v]]
  print "- " title (line == "" ? "" : ": " line) (late ? "; not expected to show at this T " late : "")
  delete count
  late = 0
}
BEGIN { split("holds fails undecided unmeasured agrees differs", order, " ") }
/^### / { flush(); title = substr($0, 5); sub(/\]\(/, "](docs/results/", title); next }
/^- \*\*/ {
  match($0, /\*\*[^*]*\*\*/)
  n = split(substr($0, RSTART + 2, RLENGTH - 4), part, ", ")
  for (i = 1; i <= n; i++) {
    split(part[i], word, " ")
    number = word[2] == "" ? 1 : word[2]
    if (word[1] == "agrees") { match($0, /of [0-9]+/); count["differs"] += substr($0, RSTART + 3, RLENGTH - 3) - number }
    if (word[1] != "holds" && /\(not expected to show at this T\)/) late += number
    else count[word[1]] += number
  }
}
END { flush() }
