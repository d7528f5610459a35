"""The additive model of methods that average over structures: logei and alcb2."""

from dataclasses import dataclass, replace
from functools import cached_property

from sumbo.decompositions import Decomposition, resolve
from sumbo.decompositions.auto import Auto
from sumbo.errors import ArgumentError, require_positive_integer
from sumbo.surrogate.additive import AdditiveModel


@dataclass(frozen=True, kw_only=True)
class AveragedModel(AdditiveModel):
    """An additive model whose acquisition function is averaged over structures.

    Attributes:
        averaged: Largest number of structures to average over, with their probabilities
            as weights [gardner2017]. None for the choice of the groups: ``"auto"``
            takes two, the present one of the walk and singletons. With more, the last
            ones that the walk visited are fitted too; with 1 there is no average.
    """

    averaged: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.averaged is None:
            return
        require_positive_integer("averaged", self.averaged)
        source = resolve(self.groups)
        if not isinstance(source, Auto):
            msg = (
                f"averaged={self.averaged} averages over structures that are learned, "
                f"not groups={self.groups!r}. Pass groups='auto'."
            )
            raise ArgumentError(msg)

    @cached_property
    def _source(self) -> Decomposition:
        source = resolve(self.groups)
        if self.averaged is None or not isinstance(source, Auto):
            return source
        return replace(source, averaged=self.averaged)
