"""Linear algebra of many observations: state space, inducing points, iterations."""
