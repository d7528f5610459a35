"""Problems that others wrote, on which sumbo is compared with other optimisers.

One file per suite. Each problem is registered from outside the package, as a user would
register one. The packages that they need are installed by ``make suites``.

Development and report never share a function. Of COCO's suites, functions that are made
from an even number of ``bbob`` are reported, and odd ones are for development. Of the
other suites, the designs name the problems; names that begin with ``dev-`` are never
reported.
"""
