"""Distributions and moves over partitions of the parameters."""
