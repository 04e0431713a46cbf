"""A band of bandit algorithms under a master, after Agarwal, Luo, Neyshabur, Schapire 2017.

>>> import corral
>>> band = corral.Band(["ucb1", "exp3", "thompson"], actions=["small", "mid", "frontier"], seed=1)
>>> d = band.choose()                       # d.action, d.propensity, d.base, d.id; it pickles
>>> band.learn(d, reward=0.5)               # now or next week, here or elsewhere

See also `corral.testing` for bases of your own, and `corral.adapters` for coba, river, scikit-learn, Vowpal Wabbit,
LiteLLM and Gymnasium.
"""

from ._corral import (
    Band,
    Benched,
    BenchedWarning,
    Decision,
    Result,
    World,
    collect,
    count_cells,
    list_bases,
    list_environments,
    list_experiments,
    list_masters,
    load,
    run_cell,
)
from ._run import run
from .client import AsyncClient, Choice, Client, ServiceError

__all__ = [
    "AsyncClient",
    "Band",
    "Benched",
    "BenchedWarning",
    "Choice",
    "Client",
    "Decision",
    "Result",
    "ServiceError",
    "World",
    "collect",
    "count_cells",
    "list_bases",
    "list_environments",
    "list_experiments",
    "list_masters",
    "load",
    "run",
    "run_cell",
]
