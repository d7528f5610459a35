"""Checks that every method, problem, kernel and decomposition must pass.

For files of this package and for those of others: each check raises an
``AssertionError`` that says what was promised and what happened instead. Nothing but
sumbo is needed to run them; in a test,

    def test_my_method_keeps_its_promises():
        sumbo.testing.check_method("mine", candidates=50)
"""

from sumbo.testing.citations import check_citation
from sumbo.testing.decompositions import check_decomposition
from sumbo.testing.kernels import check_kernel
from sumbo.testing.methods import METHOD_CHECKS, check_method
from sumbo.testing.problems import check_problem

__all__ = [
    "METHOD_CHECKS",
    "check_citation",
    "check_decomposition",
    "check_kernel",
    "check_method",
    "check_problem",
]
