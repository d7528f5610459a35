"""Additive structures: groups of coordinates that cover the cube, overlaps allowed."""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import numpy as np

from sumbo.errors import ArgumentError
from sumbo.typing import Float, Groups, ndarray


def as_groups(groups: Any, dim: int | None = None) -> Groups:
    """Return ``groups`` as checked tuples that cover ``dim`` coordinates.

    Without ``dim`` the largest coordinate named decides. Order is kept: the m-th
    candidate set belongs to the m-th group, its columns to the group's coordinates.

    Raises:
        ArgumentError: If a group is empty, names a coordinate twice or one that does
            not exist, or if a coordinate is missing.
    """
    if isinstance(groups, (str, bytes)) or not isinstance(
        groups, (Sequence, np.ndarray)
    ):
        msg = f"groups={groups!r} is not a sequence of groups, such as [(0,), (1, 2)]."
        raise ArgumentError(msg)
    if len(groups) == 0:
        msg = "groups=() is empty. Name at least one group, such as [(0,)]."
        raise ArgumentError(msg)
    out = tuple(_as_group(group) for group in groups)
    top = max(max(group) for group in out)
    if dim is None:
        dim = top + 1
    if top >= dim:
        msg = (
            f"groups={_show(out)} name coordinate {top}, but there are only {dim} "
            f"(0 to {dim - 1}). Remove it."
        )
        raise ArgumentError(msg)
    named = {p for group in out for p in group}
    if len(named) < dim:
        # Not all of them: a mistyped coordinate may be larger than the memory.
        missing = list(islice((p for p in range(dim) if p not in named), 20))
        names = ", ".join(str(p) for p in missing)
        if len(missing) < dim - len(named):
            names += f", … ({dim - len(named)} in all)"
        remedy = ", ".join(f"({p},)" for p in missing[:3])
        if len(missing) > 3:
            remedy += ", …"
        whole = "a group of its own" if len(missing) == 1 else "groups of their own"
        msg = (
            f"groups={_show(out)} do not cover {dim} coordinates: missing {names}. "
            f"Add {remedy} as {whole}."
        )
        raise ArgumentError(msg)
    return out


def is_partition(groups: Groups) -> bool:
    """Return whether no coordinate belongs to two groups."""
    return sum(len(g) for g in groups) == len({p for g in groups for p in g})


def expand(groups: Groups, blocks: Groups) -> Groups:
    """Return groups of parameters as groups of unit-cube coordinates."""
    return tuple(tuple(p for k in group for p in blocks[k]) for group in groups)


def _show(groups: Groups) -> str:
    text = repr(groups)
    return text if len(text) <= 200 else f"{text[:197]}..."


def _as_group(group: Any) -> tuple[int, ...]:
    if isinstance(group, (int, np.integer)) and not isinstance(group, bool):
        msg = f"groups hold the bare number {group}. Write the group as ({group},)."
        raise ArgumentError(msg)
    coordinates: list[Any] = list(group) if isinstance(group, Iterable) else [group]
    for p in coordinates:
        if isinstance(p, (bool, np.bool_)) or not isinstance(p, (int, np.integer)):
            msg = f"group {group!r} is not a tuple of coordinate numbers, as in (0, 2)."
            raise ArgumentError(msg)
    out = tuple(int(p) for p in coordinates)
    if not out:
        msg = "groups hold an empty group (). Remove it."
        raise ArgumentError(msg)
    if min(out) < 0:
        msg = f"group {out} names the negative coordinate {min(out)}. Count from 0."
        raise ArgumentError(msg)
    if len(set(out)) != len(out):
        msg = f"group {out} names a coordinate twice. Name each once."
        raise ArgumentError(msg)
    return out


def groups_from_labels(labels: Any) -> Groups:
    """Return the places of each label, in order of their first one."""
    labels = np.asarray(labels)
    _, first = np.unique(labels, return_index=True)
    return tuple(
        tuple(int(j) for j in np.flatnonzero(labels == labels[i]))
        for i in np.sort(first)
    )


def co_membership_matrix(groups_list: Sequence[Any]) -> Float[ndarray, "P P"]:
    """Return the fraction of structures in which coordinates i and j share a group.

    Raises:
        ArgumentError: If there is no structure, or they cover different coordinates.
    """
    if len(groups_list) == 0:
        raise ArgumentError("groups_list is empty. Pass at least one structure.")
    structures = [as_groups(groups) for groups in groups_list]
    P = max(p for groups in structures for group in groups for p in group) + 1
    out = np.zeros((P, P))
    for groups in structures:
        member = np.zeros((len(groups), P))
        for m, group in enumerate(as_groups(groups, P)):
            member[m, list(group)] = 1.0
        out += member.T @ member > 0
    return out / len(structures)
