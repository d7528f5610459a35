"""Acquisition functions: functions of a point, or one per group, to be minimised."""
