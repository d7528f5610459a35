"""Constrained problems with known optima, on which optimisers are compared."""
