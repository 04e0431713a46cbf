"""Pictures with matplotlib, where it is installed."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._errors import CannotGoOn, InvalidValue


def plot(result: Any, environment: str | None, ax: Any) -> Any:
    """See `Result.plot`."""
    if ax is None:
        try:
            from matplotlib import pyplot
        except ImportError:
            raise CannotGoOn("plot needs matplotlib: pip install matplotlib") from None
        ax = pyplot.subplots()[1]
    curves = result.curves()
    known = list(dict.fromkeys(curves["environment"].tolist()))
    environment = environment if environment is not None else known[0]
    if environment not in known:
        raise InvalidValue(f"the result has no environment {environment!r}; it has {', '.join(known)}")
    here = curves["environment"] == environment
    for learner in dict.fromkeys(curves["learner"][here].tolist()):
        own = here & (curves["learner"] == learner)
        rounds = np.unique(curves["round"][own])
        by_round = [curves["regret"][own & (curves["round"] == t)] for t in rounds]
        mean = np.array([values.mean() for values in by_round])
        error = np.array([values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else 0.0 for values in by_round])
        (line,) = ax.plot(rounds, mean, label=learner)
        ax.fill_between(rounds, mean - error, mean + error, color=line.get_color(), alpha=0.2, linewidth=0)
    ax.set_xlabel("round")
    ax.set_ylabel("regret")
    ax.set_title(environment)
    ax.legend()
    return ax
