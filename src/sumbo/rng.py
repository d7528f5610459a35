"""Randomness by address: a generator is computed from where it is used, never stored.

Resuming a run is exact by construction, because the generator of step ``t`` depends
on the seed, the purpose and ``t`` alone.
"""

import hashlib
import secrets

import numpy as np

from sumbo.errors import ArgumentError

Seed = int | np.integer | None


def rng_at(seed: int, purpose: str, *steps: int) -> np.random.Generator:
    """Return the generator that belongs to (seed, purpose, steps)."""
    # Python's hash() changes from process to process; blake2 does not.
    tag = int.from_bytes(hashlib.blake2b(purpose.encode(), digest_size=8).digest())
    # SeedSequence drops trailing zeros: without the count, (…, 0) would equal (…).
    address = [seed, tag, len(steps), *steps]
    return np.random.default_rng(np.random.SeedSequence(address))


def as_seed(seed: Seed) -> int:
    """Return the seed as a non-negative int; ``None`` draws a fresh one.

    Raises:
        ArgumentError: If ``seed`` is not a non-negative integer.
    """
    if seed is None:
        return secrets.randbits(63)
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        msg = f"seed={seed!r} is not a non-negative integer. Pass one, or None."
        raise ArgumentError(msg)
    return int(seed)
