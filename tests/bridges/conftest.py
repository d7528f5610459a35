"""Bridges to libraries that the default environment leaves out: collected if there."""

import importlib
import warnings
from importlib.util import find_spec

collect_ignore_glob = []
if find_spec("botorch") is None:
    collect_ignore_glob.append("test_*.py")
else:
    # GPyTorch uses what torch deprecates; in a test the warning would be an error.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        importlib.import_module("botorch")
