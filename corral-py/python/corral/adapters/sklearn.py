"""A band behind scikit-learn's `fit`, `partial_fit` and `predict`."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from .. import Band

__all__ = ["BandClassifier"]


class BandClassifier(ClassifierMixin, BaseEstimator):
    """Classification played as a bandit: the band sees a row, names a class, and learns only whether it was right.

    >>> model = BandClassifier(["epsilon-greedy"]).fit([[0.0], [1.0]] * 100, ["no", "yes"] * 100)
    >>> model.predict([[0.0], [1.0]]).shape
    (2,)
    """

    def __init__(self, bases: Sequence[Any] = ("linucb", "squarecb", "epsilon-greedy"), preset: str = "practical", seed: int | None = 0):
        self.bases = bases
        self.preset = preset
        self.seed = seed

    def fit(self, X: Any, y: Any) -> BandClassifier:
        """Plays the rows in order, with a new band."""
        self.__dict__.pop("band_", None)
        return self.partial_fit(X, y, classes=np.unique(y))

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> BandClassifier:
        """Plays more rows; the first call must name all classes."""
        X, y = np.asarray(X, dtype=float), np.asarray(y)
        if not hasattr(self, "band_"):
            if classes is None:
                raise ValueError("the first call of partial_fit must name all classes")
            self.classes_ = np.sort(np.asarray(classes))
            self.n_features_in_ = X.shape[1]
            self.band_ = Band(
                copy.deepcopy(list(self.bases)), actions=len(self.classes_), features=X.shape[1], preset=self.preset, seed=self.seed
            )
        unknown = set(np.unique(y)) - set(self.classes_)
        if unknown:
            raise ValueError(f"classes that were not named at first: {sorted(unknown)}")
        self.band_.play((y[:, None] != self.classes_[None, :]).astype(float), X)
        return self

    def predict(self, X: Any) -> Any:
        """The class that a copy of the band names for each row; the band itself stays as it is."""
        check_is_fitted(self, "band_")
        band = copy.deepcopy(self.band_)
        return self.classes_[np.array([band.choose(x).action for x in np.asarray(X, dtype=float)], dtype=int)]
