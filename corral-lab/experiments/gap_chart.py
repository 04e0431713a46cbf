"""Draws docs/quickstart.svg, loss per round above the right base, from the tables of docs/results/quickstart.md.
python3 corral-lab/experiments/gap_chart.py"""
import re

HEAD = re.compile(r"^(\w+): (\d+) rounds, \d+ seeds$")
ROW = re.compile(r"^([\w-]+)( \(alone\))? +(-?[\d.]+)  ±")
MEAN = re.compile(r"^([\w-]+) +(0\.\d+) +0\.\d+  \w+$")
NAMES = ["thompson", "ucb1", "tsallis-inf", "corral", "practical"]
COLOURS = ["#d9b44a", "#7fae7a", "#9a8fbf", "#8a8f98", "#1b5fb5"]
SAID = {"steady": "losses stand still", "switching": "losses switch", "swinging": "all means swing"}
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 330, 52, 12, 52, 46
BAR, SPACE, MOST = 34, 2, 0.2


def y(gap):
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * gap / MOST


regrets, means, rounds, world = {}, {}, 0, None
with open("docs/results/quickstart.md") as page:
    for line in map(str.rstrip, page):
        if head := HEAD.match(line):
            world, rounds = head[1], int(head[2])
        elif world and (row := ROW.match(line)):
            regrets.setdefault(world, {})[row[1]] = (float(row[3]), bool(row[2]))
        elif mean := MEAN.match(line):
            means[mean[1]] = float(mean[2])
gaps = {}
for world, rows in regrets.items():
    right = min(regret for regret, alone in rows.values() if alone)
    gaps[world] = {name: (regret - right) / rounds for name, (regret, _) in rows.items()}
assert list(gaps) == list(SAID) and set(means) == set(NAMES), (gaps, means)
for name in NAMES:
    assert abs(sum(gap[name] for gap in gaps.values()) / len(gaps) - means[name]) < 2e-4, name

out = [
    f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12" fill="#444">',
    "<title>Loss per round above the right base in the three environments of the quickstart: three bases alone, Corral and the practical preset</title>",
    f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
    f'<text x="{LEFT}" y="16">loss per round above the base that is right there; in brackets the mean of the three</text>',
]
at = LEFT
for name, colour in zip(NAMES, COLOURS):
    bold = ' font-weight="bold"' if name == "practical" else ""
    label = f"{name} ({means[name]:.3f})"
    out.append(f'<rect x="{at}" y="27" width="11" height="11" fill="{colour}"/>')
    out.append(f'<text x="{at + 15}" y="37"{bold}>{label}</text>')
    at += 36 + 6.2 * len(label)
for tick in (0.0, 0.05, 0.1, 0.15, 0.2):
    out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" stroke="{"#999" if tick == 0 else "#e4e4e4"}"/>')
    out.append(f'<text x="{LEFT - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>')
band = (WIDTH - LEFT - RIGHT) / len(gaps)
for place, (world, gap) in enumerate(gaps.items()):
    middle = LEFT + band * (place + 0.5)
    x = middle - (len(NAMES) * BAR + (len(NAMES) - 1) * SPACE) / 2
    for name, colour in zip(NAMES, COLOURS):
        top, bold = y(gap[name]), ' font-weight="bold"' if name == "practical" else ""
        label = "right" if gap[name] == 0 else f"{gap[name]:.3f}"
        out.append(f'<rect x="{x:.1f}" y="{top:.1f}" width="{BAR}" height="{y(0) - top:.1f}" fill="{colour}"/>')
        out.append(f'<text x="{x + BAR / 2:.1f}" y="{top - 4:.1f}" text-anchor="middle" font-size="11"{bold}>{label}</text>')
        x += BAR + SPACE
    out.append(f'<text x="{middle:.1f}" y="{HEIGHT - BOTTOM + 17}" text-anchor="middle" font-weight="bold">{world}</text>')
    out.append(f'<text x="{middle:.1f}" y="{HEIGHT - BOTTOM + 33}" text-anchor="middle">{SAID[world]}</text>')
with open("docs/quickstart.svg", "w") as picture:
    picture.write("\n".join(out + ["</svg>"]) + "\n")
