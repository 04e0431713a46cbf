"""Draws docs/flat-cost.svg from the first table of docs/flat-step.md.    python3 corral-lab/experiments/flat_cost.py"""
import math
import re

ROW = re.compile(r"\| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]*) ?\| [\d.,]+ \|$")
TIMES = ["10 ns", "100 ns", "1 µs", "10 µs", "100 µs", "1 ms", "10 ms"]
LINES = [(2, "dense step", "#b5451b", ""), (3, "one pass", "#888", ' stroke-dasharray="4 3"'), (1, "flat step", "#1b5fb5", "")]
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 330, 64, 120, 18, 44


def number(text):
    return float(text.replace(",", "")) if text else None


def x(bases):
    return LEFT + (WIDTH - LEFT - RIGHT) * math.log2(bases) / 20


def y(nanoseconds):
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (math.log10(nanoseconds) - 1) / 6


with open("docs/flat-step.md") as page:
    rows = [[number(cell) for cell in m.groups()] for m in map(ROW.match, page) if m][:8]
assert [row[0] for row in rows] == [2.0 ** k for k in (1, 3, 5, 7, 10, 14, 17, 20)], rows

out = [
    f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12" fill="#444">',
    "<title>The time of a round of the master against the number of bases: dense step, flat step, and one pass over the numbers</title>",
    f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
]
for power, label in enumerate(TIMES, 1):
    at = y(10**power)
    out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}" stroke="#ddd"/>')
    out.append(f'<text x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{label}</text>')
for row in rows:
    out.append(f'<text x="{x(row[0]):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{row[0]:,.0f}</text>')
out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 6}" text-anchor="middle">bases M</text>')
for column, name, colour, dash in LINES:
    points = [(x(row[0]), y(row[column])) for row in rows if row[column]]
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
    out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
    out += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2.5" fill="{colour}"/>' for a, b in points]
    a, b = points[-1]
    out.append(f'<text x="{a + 8:.1f}" y="{b + 4:.1f}" fill="{colour}">{name}</text>')
with open("docs/flat-cost.svg", "w") as picture:
    picture.write("\n".join(out + ["</svg>"]) + "\n")
