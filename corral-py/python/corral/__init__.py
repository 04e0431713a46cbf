"""A band of bandit algorithms under a master, after Agarwal, Luo, Neyshabur, Schapire 2017.

>>> import corral
>>> band = corral.Band(["ucb1", "exp3", "thompson"], actions=["small", "mid", "frontier"], seed=1)
>>> d = band.choose()                       # d.action, d.propensity, d.base, d.id; it pickles
>>> band.learn(d, reward=0.5)               # now or next week, here or elsewhere

See also `corral.testing` for bases of your own, `corral.log` for what others would have earned, and `corral.adapters` for
coba, river, scikit-learn, Vowpal Wabbit, LiteLLM and Gymnasium.
"""

from . import log
from ._bases import Base, BaseWithProbability
from ._corral import (
    Band,
    Benched,
    BenchedWarning,
    Decision,
    Evaluation,
    Result,
    World,
    __version__,
    collect,
    count_cells,
    list_bases,
    list_environments,
    list_experiments,
    list_masters,
    load,
    run_cell,
)
from ._errors import CorralError
from ._run import run
from .client import AsyncClient, Choice, Client, ServedBand, ServiceError
from .log import evaluate

__all__ = [
    "AsyncClient",
    "Band",
    "Base",
    "BaseWithProbability",
    "Benched",
    "BenchedWarning",
    "Choice",
    "Client",
    "CorralError",
    "Decision",
    "Evaluation",
    "Result",
    "ServedBand",
    "ServiceError",
    "World",
    "__version__",
    "collect",
    "count_cells",
    "evaluate",
    "list_bases",
    "list_environments",
    "list_experiments",
    "list_masters",
    "load",
    "log",
    "run",
    "run_cell",
]
