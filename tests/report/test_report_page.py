"""The page of a report: escaped, complete in itself, and true to the run."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from sumbo import Categorical, Integer, Optimizer, Outcome, Real
from sumbo.optimizer.result import columns_of
from sumbo.report import content_of, render
from sumbo.report.charts import convergence
from sumbo.report.html import folded
from sumbo.report.maps import contour
from sumbo.report.numbers import percent, short, shown, span, with_error
from sumbo.report.page import embedded
from sumbo.report.svg import nice

CHEAP = {"starts": 1, "refit": 30, "groups": "singletons", "transform": "standardise"}
WILD = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    "x" * 200,
    "x" * 199 + "y",
    "🧪 yield",
    "درجة الحرارة",
    "\"a' & <!--",
)
CHOICES = ("<b>bold</b>", "]]>", "שלום")


class Page(HTMLParser):
    """What a browser would find in a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.texts = [], [], []
        self.open = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data):
        if not {"script", "style"} & set(self.open):
            self.texts.append(data)


@pytest.fixture(scope="module")
def wild():
    space = [Real(name, 0.1, 1.7) for name in WILD[:5]]
    space += [Integer(WILD[5], 2, 6), Categorical(WILD[6], CHOICES)]
    limit = Outcome("<script>out</script>", upper=1.4)
    opt = Optimizer(space, seed=2, n_init=16, constraints=[limit], **CHEAP)
    X = opt.ask(16)
    for i, x in enumerate(X):
        if i == 3:
            opt.note_failure(x, "<script>document.title='x'</script>")
            opt.tell(x, failed=True)
            continue
        value = 3.3 * x[0] - x[1] + 0.2 * x[5] + (x[6] == "]]>")
        opt.tell(x, float(value), outcomes={limit.name: float(x[2])})
    return opt


@pytest.fixture(scope="module")
def content(wild):
    return content_of(wild, title="<i>weekly</i> meeting")


@pytest.fixture(scope="module")
def text(content):
    return render(content)


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


def data_in(text):
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text)
    return json.loads(found[1])


def test_names_become_no_elements_and_stay_whole(page):
    assert page.tags.count("script") == 2
    assert {"img", "b" * 9, "iframe", "i" * 9}.isdisjoint(page.tags)
    assert "i" not in {t for t, name, _ in page.attributes if name.startswith("on")}
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    words = set(page.texts)
    for name in (*WILD, "<script>out</script> ≤ 1.4", "<i>weekly</i> meeting"):
        assert name in words
    assert "<script>document.title='x'</script>" in words


def test_the_page_allows_one_script_and_no_request(text, page):
    (policy,) = [
        v for t, n, v in page.attributes if t == "meta" and "default-src" in (v or "")
    ]
    script = re.search(r"<script>(.*?)</script>", text, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "connect-src" not in policy
    for tag, name, value in page.attributes:
        if name in {"href", "src", "action", "data", "srcset", "poster"}:
            assert value.startswith(("#", "data:")), (tag, name, value)
    assert set(re.findall(r"https?://[^\s\"'<]+", script)) == {
        "http://www.w3.org/2000/svg"
    }
    assert "url(" not in text
    assert "@import" not in text


def test_the_numbers_of_the_page_are_those_of_the_run(wild, content, text, page):
    data = data_in(text)
    columns = columns_of(wild)
    assert data["head"][: len(columns)] == list(columns)
    for there, here in zip(data["columns"], columns.values(), strict=False):
        assert there == [None if v != v else v for v in here]
    assert data["status"] == content.evaluations.status
    measured = data["columns"][data["head"].index("<script>out</script>")]
    np.testing.assert_array_equal(
        np.array(measured, dtype=float), wild.outcomes["<script>out</script>"]
    )
    said = " ".join(page.texts)
    assert shown(wild.best[1], 6) in said
    recommended = wild.recommend()
    assert with_error(recommended.mean, recommended.sd) in said
    assert span(*content.model.optimum.interval()) in said
    for share in content.model.importance.total[:2]:
        assert percent(float(share)) in said
    assert percent(content.model.check.within[2]) in said


def test_every_section_is_there_and_linked(text, page):
    sections = {v for t, n, v in page.attributes if (t, n) == ("section", "id")}
    wanted = (
        "best progress distance importance effects interactions around constraints "
        "check next failures problem evaluations cite"
    )
    assert sections == set(wanted.split())
    links = {v[1:] for t, n, v in page.attributes if (t, n) == ("a", "href")}
    assert links == sections
    assert "wycoff2025" in text
    assert "ament2023" in text


def test_integers_are_steps_and_choices_are_marks(content, text):
    kinds = {e.axis.kind for e in content.model.effects}
    assert kinds == {"real", "integer", "choice"}
    figures = re.findall(r"<figure>.*?</figure>", text, re.DOTALL)
    marks = [f for f in figures if 'class="choice"' in f]
    assert len(marks) == 2
    for figure in marks:
        assert figure.count('class="choice"') == len(CHOICES)
        assert 'class="mean' not in figure
    steps = [f for f in figures if "درجة الحرارة" in f and 'class="mean"' in f]
    line = re.search(r'class="mean" d="([^"]+)"', steps[0])[1]
    assert line.count("L") == 2 * 5 - 1


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_run_that_has_hardly_begun_has_a_page(count):
    opt = Optimizer([Real("a", 0.2, 1.9), Categorical("b", ("p", "q"))], seed=3)
    X = opt.ask(4)
    for x in X[:count]:
        opt.tell(x, float(x[0]))
    text = render(content_of(opt))
    assert f"There are {count} value" in text or f"There is {count}" in text
    assert 'id="effects"' not in text
    assert 'id="next"' in text
    data_in(text)


def test_a_run_of_failures_has_a_page():
    opt = Optimizer([Real("a", 0.2, 1.9)], seed=3)
    opt.tell(opt.ask(3), failed=True)
    text = render(content_of(opt))
    assert "none yet" in text
    assert text.count("no reason was noted") == 3


def test_one_parameter_has_a_page():
    opt = Optimizer([Real("only", 0.2, 1.9)], seed=3, n_init=9, maximize=True, **CHEAP)
    X = opt.ask(9)
    opt.tell(X, X[:, 0] ** 2 + 0.3)
    text = render(content_of(opt))
    assert 'id="around"' in text
    assert 'id="interactions"' not in text
    assert "maximised" in text


def test_only_a_watched_page_reads_itself_again(content, text):
    assert data_in(text)["reload"] == 0
    again = render(content, reload=5)
    assert data_in(again)["reload"] == 5
    assert '<span class="live">' in again


def test_no_tag_begins_in_embedded_json():
    wild = {"</script>": ["<!--", "&amp;", "\u2028", 0.1, None, True]}
    text = embedded(wild)
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == wild


@pytest.mark.parametrize(
    ("v", "said"),
    [
        (-13.96741, "−13.97"),
        (0.00012345, "0.0001234"),
        (3.2e-7, "3.2·10⁻⁷"),
        (1e9, "10⁹"),
        (float("nan"), "–"),
        (float("-inf"), "−∞"),
    ],
)
def test_numbers_are_shown_as_on_paper(v, said):
    assert shown(v) == said


def test_errors_and_intervals_have_the_digits_that_count():
    assert with_error(-13.96756, 0.00246) == "−13.9676 ± 0.0025"
    assert with_error(1234.5, 87.0) == "1234 ± 87"
    assert with_error(2.5, float("nan")) == "2.5"
    assert span(-13.9917, -13.9733) == "−13.992 … −13.973"
    assert percent(0.0003) == "< 1 %"
    assert percent(0.9999) == "> 99 %"


def test_short_names_stay_distinct():
    names = ("x" * 200, "x" * 199 + "y", "x" * 100 + "z" + "x" * 99, "plain")
    found = short(names)
    assert len(set(found)) == 4
    assert max(map(len, found)) <= 20
    assert found[3] == "plain"


@pytest.mark.parametrize(("lo", "hi"), [(-1.3, 7.9), (0.00231, 0.00287), (3e8, 4.1e9)])
def test_ticks_are_round_and_inside(lo, hi):
    ticks = nice(lo, hi, 5)
    assert 3 <= len(ticks) <= 8
    assert lo <= ticks[0] < ticks[-1] <= hi
    step = ticks[1] - ticks[0]
    mantissa = float(f"{step:.12e}".partition("e")[0])
    assert min(abs(mantissa - m) for m in (1, 2, 2.5, 5)) < 1e-6


def test_a_model_that_predicts_poorly_makes_no_headline():
    # Noise alone: no model predicts it, and an interval of the optimum says nothing.
    rng = np.random.default_rng(104)
    opt = Optimizer([(0.2, 1.9)] * 6, seed=4, n_init=30, **CHEAP)
    opt.tell(opt.ask(30), rng.standard_normal(30))
    content = content_of(opt)
    assert not content.model.check.usable
    # The fit to all values follows the noise, and leaving out one does not show it.
    post = opt.surrogate().posterior
    mean, _ = post.leave_one_out()
    assert (
        1 - np.sum((post.y - mean) ** 2) / np.sum((post.y - post.y.mean()) ** 2) > 0.5
    )
    assert content.model.check.explained < 0.2
    page = Page(render(content))
    said = " ".join(page.texts)
    assert "What it says below may be wrong" in said
    assert "expected gain that is left" not in said
    assert "do not rely on this" in said


def test_long_tables_are_folded_and_no_row_is_lost():
    rows = [[f"p{k}", "1"] for k in range(43)]
    text = folded(["parameter", "best"], rows, "point", "less important parameters")
    page = Page(text)
    assert page.tags.count("details") == 1
    assert "23 less important parameters" in page.texts
    assert {f"p{k}" for k in range(43)} <= set(page.texts)
    few = folded(["parameter", "best"], rows[:22], "point", "more")
    assert "details" not in Page(few).tags


def test_a_map_of_two_choices_has_names_and_no_numbers_on_its_axes():
    space = [
        Categorical("wood", ("oak", "pine", "ash")),
        Categorical("glue", ("A", "B")),
    ]
    opt = Optimizer(space, seed=5, n_init=6, **CHEAP)
    for x in opt.ask(6):
        opt.tell(x, len(x[0]) + 0.3 * (x[1] == "A"))
    content = content_of(opt)
    picture = contour(content.model.contour, content.names, 1.0)
    ticks = re.findall(
        r'<text class="tick"[^>]*text-anchor="\w+">([^<]*)</text>', picture
    )
    assert sorted(ticks) == ["A", "B", "ash", "oak", "pine"]


def test_evaluations_are_counted_in_whole_numbers():
    opt = Optimizer([(0.2, 1.9)], seed=5, n_init=9, **CHEAP)
    opt.tell(opt.ask(3), [2.2, 1.3, 1.7])
    e = content_of(opt).evaluations
    picture = convergence(e, width=999.0, by_time=False, log=False, maximize=False)
    below = re.findall(r'text-anchor="middle">([^<]*)</text>', picture)
    assert below == ["1", "2", "3", "evaluation"]
