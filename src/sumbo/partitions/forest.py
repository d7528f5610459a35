"""Forests over the parameters, and Metropolis-Hastings proposals between them.

``change_edge``: a fair coin decides between removing an edge, all equally likely, and
adding a pair e with probability w_e. Where e closes a cycle, a uniform choice among
the other edges of the cycle is removed (a swap). ``move_end`` moves one end of an edge
to another parameter, all choices uniform.
"""

import math

import numpy as np

from sumbo.typing import Edge, Float, Groups, ndarray

Forest = tuple[Edge, ...]  # sorted, each edge with the lower end first


def forest_groups(forest: Forest, K: int) -> Groups:
    """Return the edges, and every parameter on none of them by itself."""
    covered = {k for edge in forest for k in edge}
    return (*((k,) for k in range(K) if k not in covered), *forest)


def random_forest(rng: np.random.Generator, K: int, edges: int) -> Forest:
    """Return edges added one by one, each uniform among those that close no cycle.

    Args:
        rng: The source of randomness.
        K: The number of nodes.
        edges: The number of edges, at most K − 1.
    """
    label = np.arange(K)  # the tree of every node
    forest: list[Edge] = []
    while len(forest) < edges:
        i, j = sorted(int(k) for k in rng.choice(K, size=2, replace=False))
        if label[i] != label[j]:
            label[label == label[j]] = label[i]
            forest.append((i, j))
    return tuple(sorted(forest))


def path(forest: Forest, start: int, end: int) -> Forest:
    """Return the edges between two different nodes, empty if nothing joins them."""
    came: dict[int, Forest] = {start: ()}
    todo = [start]
    while todo:
        k = todo.pop()
        for edge in forest:
            if k in edge:
                other = edge[0] + edge[1] - k
                if other not in came:
                    came[other] = (*came[k], edge)
                    todo.append(other)
    return came.get(end, ())


def edge_weights(
    slopes: Float[ndarray, "K K"], even_share: float
) -> Float[ndarray, "K K"]:
    """Return the probabilities w with which pairs are added: symmetric, sum 1.

    The share ``even_share`` is the same for all pairs. The rest is proportional to
    exp(z), where z are the standardised slopes of the evidence (``affinity``).
    """
    K = len(slopes)
    i, j = np.triu_indices(K, 1)
    out = np.zeros((K, K))
    if K > 1:
        s = slopes[i, j]
        z = (s - s.mean()) / max(float(s.std()), 1e-300)
        by_slope = np.exp(z - z.max())
        w = even_share / len(s) + (1.0 - even_share) * by_slope / by_slope.sum()
        out[i, j] = out[j, i] = w
    return out


def change_edge(
    rng: np.random.Generator, forest: Forest, weights: Float[ndarray, "K K"]
) -> tuple[Forest, float]:
    """Return the forest with an edge added, removed or swapped, and the log ratio of q.

    Of n edges, removing f has q = 1/(2n), adding e has q = w_e/2. A swap of f for e in
    a cycle of c + 1 edges has q = w_e/(2c), and so has the reverse with w_f: both close
    the same cycle.
    """
    if rng.random() < 0.5:
        if not forest:
            return forest, 0.0
        gone = forest[int(rng.integers(len(forest)))]
        log_ratio = math.log(weights[gone] * len(forest))
        return tuple(e for e in forest if e != gone), log_ratio
    i, j = np.triu_indices(len(weights), 1)
    ends = np.cumsum(weights[i, j])
    at = min(int(np.searchsorted(ends, rng.random() * ends[-1])), len(ends) - 1)
    edge = int(i[at]), int(j[at])
    if edge in forest:
        return forest, 0.0
    between = path(forest, *edge)
    if not between:
        log_ratio = -math.log(weights[edge] * (len(forest) + 1))
        return tuple(sorted((*forest, edge))), log_ratio
    gone = between[int(rng.integers(len(between)))]
    kept = (e for e in forest if e != gone)
    return tuple(sorted((*kept, edge))), math.log(weights[gone] / weights[edge])


def move_end(rng: np.random.Generator, forest: Forest, K: int) -> tuple[Forest, float]:
    """Return the forest with one end of an edge moved, and 0: q is symmetric.

    The forest itself is returned if the moved edge would close a cycle.
    """
    if not forest or K < 3:
        return forest, 0.0
    edge = forest[int(rng.integers(len(forest)))]
    stays = edge[int(rng.integers(2))]
    others = [k for k in range(K) if k not in edge]
    goes = others[int(rng.integers(len(others)))]
    kept = tuple(e for e in forest if e != edge)
    if path(kept, stays, goes):
        return forest, 0.0
    return tuple(sorted((*kept, (min(stays, goes), max(stays, goes))))), 0.0
