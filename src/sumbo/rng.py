"""Randomness by address: a generator is computed from where it is used, never stored.

Resuming a run is exact by construction, because the generator of step ``t`` depends
on the seed, the purpose and ``t`` alone.
"""

import hashlib
import secrets
from typing import NamedTuple

import numpy as np

from sumbo.errors import ArgumentError

Seed = int | np.integer | np.random.Generator | None


def rng_at(seed: int, purpose: str, *steps: int) -> np.random.Generator:
    """Return the generator that belongs to (seed, purpose, steps)."""
    # Python's hash() changes from process to process; blake2 does not.
    tag = int.from_bytes(hashlib.blake2b(purpose.encode(), digest_size=8).digest())
    # SeedSequence drops trailing zeros: without the count, (…, 0) would equal (…).
    address = [seed, tag, len(steps), *steps]
    return np.random.default_rng(np.random.SeedSequence(address))


class Streams(NamedTuple):
    """The randomness of one ask, by purpose.

    Methods with the same seed share what they have in common: the groups and the
    candidates do not depend on how many normal variates another method draws.

    Attributes:
        structure: Groups and starts of fits.
        candidates: Candidate points.
        normals: Normal variates of draws from the posterior.
    """

    structure: np.random.Generator
    candidates: np.random.Generator
    normals: np.random.Generator


def split(rng: np.random.Generator) -> Streams:
    """Return the streams of one ask; what one of them draws shifts no other.

    Examples:
        >>> a, b = split(rng_at(3, "ask", 20)), split(rng_at(3, "ask", 20))
        >>> _ = a.structure.random(1000)
        >>> bool(a.candidates.random() == b.candidates.random())
        True
    """
    return Streams(*rng.spawn(len(Streams._fields)))


def as_seed(seed: Seed) -> int:
    """Return the seed as a non-negative int; ``None`` draws a fresh one.

    A ``Generator`` gives its next integer, so that its state moves on.

    Raises:
        ArgumentError: If ``seed`` is neither a non-negative integer nor a generator.
    """
    if seed is None:
        return secrets.randbits(63)
    if isinstance(seed, np.random.Generator):
        return int(seed.integers(2**63))
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        msg = f"seed={seed!r} is not a non-negative integer. Pass one, a numpy "
        raise ArgumentError(f"{msg}Generator, or None.")
    return int(seed)
