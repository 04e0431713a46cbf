#!/usr/bin/env python3
"""Makes the file of the world `learning-curves` from the Learning Curve Database.

    pip download lcdb==0.1.0 --no-deps     (MIT; Mohr, Viering, Loog, van Rijn 2022)
    python3 learning_curves.py lcdb-0.1.0/lcdb/database-accuracy.csv curves.csv 44 32 184

Each line is a set (its OpenML number), a learner, a size of the training set, and 1 less the mean validation accuracy
over all splits. Without numbers every set is written.
"""
import csv
import sys
from collections import defaultdict

source, target, *wanted = sys.argv[1:]
scores = defaultdict(list)
with open(source, newline="") as file:
    for row in csv.DictReader(file):
        if row["score_valid"] and (not wanted or row["openmlid"] in wanted):
            key = int(row["openmlid"]), row["learner"].split(".")[-1], int(row["size_train"])
            scores[key].append(float(row["score_valid"]))
with open(target, "w", newline="") as file:
    out = csv.writer(file, lineterminator="\n")
    out.writerow(["set", "learner", "size", "loss"])
    for key in sorted(scores):
        out.writerow([*key, f"{1 - sum(scores[key]) / len(scores[key]):.4f}"])
