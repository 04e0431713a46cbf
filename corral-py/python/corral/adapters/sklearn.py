"""A band behind scikit-learn's `fit`, `partial_fit` and `predict`."""

from __future__ import annotations

import copy
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import Band
from .._errors import InvalidValue

__all__ = ["BandClassifier"]


class BandClassifier(ClassifierMixin, BaseEstimator):
    """Classification played as a bandit: the band sees a row, names a class, and learns only whether it was right.

    While it fits, the band explores; `predict` does not: it names the class that the band would most probably play, and the same
    rows get the same answers.

    Parameters
    ----------
    bases
        As for `corral.Band`; each must be able to say its probabilities.
    preset : str
        "practical", "paper" or "safe".
    passes : int
        How often `fit` plays the rows, at least once.
    intercept : bool
        Whether rows get a constant feature.
    seed : int, optional
        The same seed gives the same fit.

    Attributes
    ----------
    band_ : Band
    classes_ : numpy.ndarray
    n_features_in_ : int

    Examples
    --------
    >>> model = BandClassifier(["linucb", "epsilon-greedy"]).fit([[0.0], [1.0]] * 100, ["no", "yes"] * 100)
    >>> model.predict([[0.0], [1.0]]).tolist()
    ['no', 'yes']
    """

    def __init__(
        self,
        bases: Sequence[Any] = ("linucb", "squarecb", "epsilon-greedy"),
        preset: str = "practical",
        passes: int = 1,
        intercept: bool = True,
        seed: int | None = 0,
    ) -> None:
        self.bases = bases
        self.preset = preset
        self.passes = passes
        self.intercept = intercept
        self.seed = seed

    def fit(self, X: Any, y: Any) -> BandClassifier:
        """Plays the rows in order, with a new band."""
        if not isinstance(self.passes, numbers.Integral) or self.passes < 1:
            raise InvalidValue(f"passes: how often the rows are played, a whole number from 1, but this is {self.passes!r}")
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self._begin(np.unique(y))
        for _ in range(self.passes):
            self._play(X, y)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> BandClassifier:
        """Plays more rows; the first call must name all classes."""
        first = not hasattr(self, "band_")
        X, y = validate_data(self, X, y, dtype=np.float64, reset=first)
        check_classification_targets(y)
        if first:
            if classes is None:
                raise InvalidValue("the first call of partial_fit must name all classes")
            self._begin(np.unique(classes))
        unknown = set(np.unique(y).tolist()) - set(self.classes_.tolist())
        if unknown:
            raise InvalidValue(f"classes that were not named at first: {sorted(unknown)}")
        self._play(X, y)
        return self

    def _begin(self, classes: Any) -> None:
        self.classes_ = classes
        features = self.n_features_in_ + bool(self.intercept)
        # A band wants an iterable of bases of its own: a fit changes no parameter.
        bases = copy.deepcopy(list(self.bases))
        self.band_ = Band(bases, actions=len(classes), features=features, preset=self.preset, seed=self.seed)  # type: ignore[call-overload]

    def _rows(self, X: Any) -> Any:
        return np.hstack([X, np.ones((len(X), 1))]) if self.intercept else X

    def _play(self, X: Any, y: Any) -> None:
        self.band_.play((y[:, None] != self.classes_[None, :]).astype(float), self._rows(X))

    def predict(self, X: Any) -> Any:
        """The class that the band would most probably play for each row. The band stays as it is."""
        check_is_fitted(self, "band_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self.classes_[self.band_.distribution(self._rows(X)).argmax(axis=1)]
