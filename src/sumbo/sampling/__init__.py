"""Draws of the parts of an additive GP: one file per sampler."""

from sumbo.sampling.joint import sample_joint, sample_with_constant
from sumbo.sampling.kronecker import Grid
from sumbo.sampling.marginal import sample_marginal
from sumbo.sampling.naive import sample_naive
from sumbo.sampling.paths import Path, sample_path
from sumbo.sampling.sequential import sample_sequential
from sumbo.sampling.sums import sample_sum, sample_sum_marginal

__all__ = [
    "Grid",
    "Path",
    "sample_joint",
    "sample_marginal",
    "sample_naive",
    "sample_path",
    "sample_sequential",
    "sample_sum",
    "sample_sum_marginal",
    "sample_with_constant",
]
