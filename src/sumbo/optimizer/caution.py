"""Warnings where ignoring the covariance between parts matters."""

from sumbo.methods import Method
from sumbo.structure import is_partition
from sumbo.typing import Groups

PAGE = "See 'When does bilateral uncertainty matter?' in the documentation."


def caution_about_choosing(method: Method, name: str) -> str:
    """Return why a method should not choose from a list; "" if it may."""
    if not method.ignores_covariance:
        return ""
    return (
        f"method={name!r} takes the parts as independent. On a list of whole points it "
        "then forgets most of what is known of their sums, and goes on to choose bad "
        f"points however many values are observed. Use 'logei' or 'ts'. {PAGE}"
    )


def caution_about_overlap(method: Method, name: str, groups: Groups | None) -> str:
    """Return why a method should not be used with overlapping groups; "" if it may.

    Parts on all coordinates, such as the residual part of ``groups="auto"``, do not
    count. Orthogonal parts have no functions that can move.
    """
    if not method.ignores_covariance or groups is None:
        return ""
    if getattr(method, "orthogonal", False):
        return ""
    dim = 1 + max(p for group in groups for p in group)
    own = tuple(group for group in groups if len(group) < dim)
    if is_partition(own):
        return ""
    return (
        f"method={name!r} takes the parts as independent, but groups overlap: "
        "functions of a shared coordinate can move from one part to another, which no "
        f"data can tell apart. Use 'logei' or 'ts'. {PAGE}"
    )
