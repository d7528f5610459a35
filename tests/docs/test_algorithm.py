"""The pages on the default algorithm: their numbers are those of the code."""

import dataclasses
import importlib
import inspect
import pkgutil
import re

import pytest

import sumbo
from pages import DOCS
from sumbo import data
from sumbo.gp import fit, model
from sumbo.gp.solvers import inducing, projected
from sumbo.surrogate import AdditiveModel, large
from sumbo.surrogate.additive import KERNEL_CHOICES

if not DOCS.exists():
    pytest.skip("the documentation is not part of this copy", allow_module_level=True)

PAGE = (DOCS / "algorithm.md").read_text("utf-8")
TABLES = PAGE + (DOCS / "algorithm_settings.md").read_text("utf-8")
TEXT = " ".join(PAGE.split())
# Rooms that the default algorithm uses.
ROOMS = (
    "data",
    "decompositions",
    "gp",
    "optimizer",
    "partitions",
    "search",
    "surrogate",
)


def default(name):
    return inspect.signature(sumbo.minimize).parameters[name].default


def rules():
    """Return the classes of the constants that shape the default, by module."""
    found = {}
    for module in pkgutil.walk_packages(sumbo.__path__, "sumbo."):
        if module.name.split(".")[1] in ROOMS or module.name == "sumbo.methods.logei":
            for name, value in vars(importlib.import_module(module.name)).items():
                known = dataclasses.is_dataclass(value) and not isinstance(value, type)
                if known and re.fullmatch("[A-Z]+", name):
                    cls = type(value)
                    found[f"{cls.__module__}.{cls.__name__}"] = cls
    return found


def test_the_pages_have_a_table_of_every_settings_object_of_the_default():
    listed = set(re.findall(r"<!-- settings: ([\w.]+) -->", TABLES))
    assert len(rules()) > 5
    assert set(rules()) <= listed


def test_the_refits_of_the_page_are_those_of_the_defaults():
    settings = AdditiveModel()
    counts = [default("n_init")]
    while counts[-1] < 120:
        counts.append(settings.next_refit(counts[-1]))
    *first, last = map(str, counts)
    assert f"refits happen at {', '.join(first)} and {last} observations" in TEXT


@pytest.mark.parametrize(
    "sentence",
    [
        f'(`method="{default("method")}"`, `groups="{AdditiveModel().groups}"`)',
        f"uniformly random points ({default('n_init')} by default)",
        f"a length-scale is {model.DEFAULT_LENGTHSCALE}·√d",
        f"only if {fit.TRIAL} iterations lead higher",
        f"More than {large.MANY.fitted} observations",
        f"Up to {large.MANY.fitted} observations",
        f"has {inducing.FEWEST_ON_LINE} to {inducing.MOST_ON_LINE} inducing points",
        f"at most {projected.MOST_ON_LINES:_} for all".replace("_", " "),
        f"otherwise {projected.ANCHORS_PER_COORDINATE} for each coordinate",
        f"at most {fit.MapFit().steps} iterations",
        f"begin with Matérn-{KERNEL_CHOICES[0][-2]}/2",
        f"in a group of $d$ coordinates is ${fit.Priors().lengthscale} \\sqrt d$",
        f"mode of the noise variance is {fit.Priors().noise:.0e}".replace("e-0", "e-"),
        f"more than {data.DECADES.ratio:.0f} times further above",
        f"`exact` observations** ({large.MANY.exact:_})".replace("_", " "),
        f"up to {large.MANY.anchors} of the observations",
    ],
)
def test_a_number_in_the_text_is_that_of_the_code(sentence):
    assert sentence in TEXT
