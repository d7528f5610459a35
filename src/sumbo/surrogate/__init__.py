"""What a refit chooses together: transform, kernel, groups, hyperparameters."""
