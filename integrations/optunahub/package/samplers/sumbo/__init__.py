"""SumboSampler, as the package sumbo provides it."""

from sumbo.integrations.optuna import SumboSampler


__all__ = ["SumboSampler"]
