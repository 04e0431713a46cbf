"""Bands in other packages, and other packages in bands. Each module needs its package, by an extra: `pip install corral[coba]`.

| module | what it has |
|---|---|
| `corral.adapters.coba` | `BandLearner`: a band as a coba learner |
| `corral.adapters.river` | `BandPolicy`, `BandContextualPolicy`: a band as a river bandit policy |
| `corral.adapters.sklearn` | `BandClassifier`: `fit`, `partial_fit`, `predict` |
| `corral.adapters.vw` | `VWBase`: a Vowpal Wabbit workspace as a base |
| `corral.adapters.litellm` | `BandRouting`: a band as a routing strategy of a LiteLLM router |
| `corral.adapters.gymnasium` | `CorralEnv`: our environments in Gymnasium |
"""
