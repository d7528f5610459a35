"""Reports in a real browser: nothing overflows, nothing is loaded, nothing runs."""

import csv
import io

import numpy as np
import pytest

from sumbo import Categorical, Integer, Optimizer, Outcome, Real
from sumbo.optimizer.result import columns_of
from sumbo.report import content_of, render

CHEAP = {"starts": 1, "refit": 30, "groups": "singletons", "transform": "standardise"}
HOSTILE = "<script>window.hacked=1</script>"
WIDTHS = (1400, 390)


def played(space, f, n=18, fail=(), **settings):
    opt = Optimizer(space, seed=5, n_init=n, **{**CHEAP, **settings})
    for i, x in enumerate(opt.ask(n)):
        if i in fail:
            opt.note_failure(x, f"tripped {HOSTILE}")
            opt.tell(x, failed=True)
        else:
            y = f(x)
            value, outcomes = y if isinstance(y, tuple) else (y, None)
            opt.tell(x, float(value), outcomes=outcomes)
    return opt


def three():
    space = [Real("rate", 1e-4, 0.7, log=True), Real("angle", -1.2, 2.1), (0.3, 1.9)]
    return played(space, lambda x: np.log10(x[0]) ** 2 + np.sin(x[1]) * x[2])


def mixed():
    space = [Real(f"temperature of reactor number {k}", 0.2, 1.4) for k in range(6)]
    space += [Integer(f"stages {k}", 1, 3 + 20 * k) for k in range(3)]
    space += [
        Categorical("solvent", [f"solvent with a long name {k}" for k in range(9)]),
        Categorical("ligand", ("Pd", "Ni")),
        Categorical("additive", (None, True, "LiCl")),
    ]
    limit = Outcome("impurity in the product", upper=1.2)
    return played(
        space,
        lambda x: (x[0] + x[6] - x[8] / 9, {limit.name: x[1] + 0.3 * x[2]}),
        fail=(3, 8),
        n=22,
        constraints=[limit],
    )


def sixty():
    space = [Real(f"control_point_{k:02d}", -1.3, 0.8) for k in range(60)]
    return played(space, lambda x: x[:5] @ np.arange(1, 6.0), n=14)


def maximisation():
    return played([(0.2, 1.9)] * 2, lambda x: 40 - x @ x, maximize=True)


def noise():
    rng = np.random.default_rng(8)
    return played(
        [(0.2, 1.9)] * 3, lambda x: x[0] + rng.standard_normal(), n=34, method="ts"
    )


def unfinished():
    opt = Optimizer([Real("a", 0.2, 1.9)], seed=1)
    opt.tell(opt.ask(2), [2.1, 1.7])
    opt.ask(3)
    return opt


def categorical():
    space = [Categorical("wood", ("oak", "pine", "ash")), Categorical("glue", (1, 2))]
    return played(space, lambda x: len(x[0]) + 0.3 * x[1], n=6)


def names():
    space = [Real(HOSTILE, 0.2, 1.4), Real("x" * 200, 0.2, 1.4)]
    space += [Real("x" * 199 + "y", 0.1, 0.7), Real("🧪 yield", -1.1, 0.4)]
    space += [Integer("درجة الحرارة", 2, 5)]
    space += [
        Categorical(
            '"><img src=x onerror="window.hacked=2">',
            ("</script><svg onload=window.hacked=3>", "שלום" * 20, "]]>"),
        )
    ]
    return played(space, lambda x: x[0] - x[2] + 0.2 * x[4], fail=(4,))


RUNS = (three, mixed, sixty, maximisation, noise, unfinished, categorical, names)


@pytest.fixture(scope="module")
def runs():
    return {make.__name__: make() for make in RUNS}


@pytest.fixture(scope="module")
def pages(runs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    found = {}
    for name, opt in runs.items():
        found[name] = folder / f"{name}.html"
        found[name].write_text(render(content_of(opt)), encoding="utf-8")
    return found


def complaints(browser):
    """Return errors and messages of the console, and what was loaded elsewhere."""
    thrown = browser.happened("Runtime.exceptionThrown")
    said = browser.happened("Runtime.consoleAPICalled")
    logged = browser.happened("Log.entryAdded")
    loaded = [
        e["request"]["url"] for e in browser.happened("Network.requestWillBeSent")
    ]
    loaded = [url for url in loaded if not url.startswith(("file:///", "data:"))]
    return [*thrown, *said, *logged, *loaded]


# Elements beyond the right edge that are not inside something that scrolls or clips.
INSIDE = ".scroll, .all, svg, #tip"
OVERFLOW = """
[document.documentElement.scrollWidth,
 ...Array.from(document.querySelectorAll("body *"))
  .filter((e) => !e.parentElement.closest(INSIDE))
  .filter((e) => e.getBoundingClientRect().right > WIDTH + 0.5)
  .map((e) => e.tagName + "." + e.className)]
""".replace("INSIDE", f"{INSIDE!r}")


def overflow(browser, width):
    wide, *beyond = browser.run(OVERFLOW.replace("WIDTH", str(width)))
    return beyond if wide <= width else [f"{wide} pixels", *beyond]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", [make.__name__ for make in RUNS])
def test_a_report_fits_loads_nothing_and_runs_nothing(name, width, pages, browser):
    browser.open(pages[name], width)
    assert overflow(browser, width) == []
    assert complaints(browser) == []
    assert browser.run("window.hacked") is None
    assert browser.run("document.scripts.length") == 2
    assert browser.run("document.querySelectorAll('[onerror], [onload]').length") == 0


@pytest.mark.parametrize("name", [make.__name__ for make in RUNS])
def test_a_report_prints(name, pages, browser):
    browser.open(pages[name], 1400)
    paper = browser.pdf()
    assert paper.startswith(b"%PDF")
    count = paper.count(b"/Type /Page\n") + paper.count(b"/Type /Page/")
    assert 1 <= count <= 40
    browser.call("Emulation.setEmulatedMedia", media="print")
    try:
        browser.open(pages[name], 688)  # what the margins leave of A4
        assert overflow(browser, 688) == []
        assert browser.run(
            "getComputedStyle(document.querySelector('nav')).display"
        ) == ("none")
    finally:
        browser.call("Emulation.setEmulatedMedia", media="")


def test_a_planted_handler_and_a_request_are_refused(pages, browser):
    # The tests above would notice: the policy stops both, and says so.
    browser.open(pages["three"], 1400)
    image = '<img src="http://127.0.0.1:9/x.png" onerror="window.hacked=1">'
    browser.run(f"document.body.insertAdjacentHTML('beforeend', '{image}')")
    browser.wait("true")
    browser.run("new Promise((r) => setTimeout(r, 300))")
    assert browser.run("window.hacked") is None
    assert complaints(browser)
    failed = browser.happened("Network.loadingFailed")
    assert all(e.get("blockedReason") == "csp" for e in failed)


def center_of(browser, selector):
    return browser.run(
        f"(() => {{ const e = document.querySelector('{selector}');"
        "e.scrollIntoView({block: 'center', behavior: 'instant'});"
        "const b = e.getBoundingClientRect();"
        "return [b.x + b.width / 2, b.y + b.height / 2]; })()"
    )


def test_a_dot_says_what_it_is_and_is_marked_everywhere(runs, pages, browser):
    browser.open(pages["three"], 1400)
    x, y = center_of(browser, '.wide circle[data-i="7"]')
    browser.move(x, y)
    text = browser.run("document.getElementById('tip').textContent")
    assert text.startswith(f"Evaluation 8: {runs['three'].y[7]:.6g}".replace("-", "−"))
    assert "rate = " in text
    browser.click(x, y)
    browser.move(5, 5)
    hot = browser.run("document.querySelectorAll('.hot[data-i=\"7\"]').length")
    assert hot >= 3
    assert browser.run("document.querySelector('tr.hot').dataset.i") == "7"


def test_a_curve_says_its_value(pages, browser):
    browser.open(pages["three"], 1400)
    x, y = center_of(browser, "#effects svg[data-h]")
    browser.move(x, y)
    text = browser.run("document.getElementById('tip').textContent")
    assert " to " in text
    assert browser.run("getComputedStyle(document.getElementById('tip')).display") == (
        "block"
    )


def test_the_table_is_sorted_by_any_column(runs, pages, browser):
    y = runs["mixed"].y
    browser.open(pages["mixed"], 1400)
    first = "document.querySelector('.all tbody tr').dataset.i"
    button = "document.querySelectorAll('.all th button')[1].click()"
    browser.run(button)
    assert int(browser.run(first)) == int(np.nanargmin(y))
    browser.run(button)
    assert int(browser.run(first)) == int(np.nanargmax(y))
    last = browser.run(
        "[...document.querySelectorAll('.all tbody tr')].pop().dataset.i"
    )
    assert np.isnan(y[int(last)])


@pytest.mark.parametrize("name", ["mixed", "names"])
def test_the_file_holds_all_evaluations(name, runs, pages, browser):
    browser.open(pages[name], 390)
    browser.run("URL.createObjectURL = (b) => { window.kept = b; return '#cite'; }")
    browser.run("document.getElementById('csv').click()")
    browser.run("window.kept.text().then((t) => { window.text = t; })")
    browser.wait("window.text !== undefined")
    rows = list(csv.reader(io.StringIO(browser.run("window.text"))))
    columns = columns_of(runs[name])
    assert rows[0][: len(columns)] == list(columns)
    wanted = list(zip(*columns.values(), strict=True))
    assert len(rows) == len(wanted) + 1
    for row, cells in zip(rows[1:], wanted, strict=True):
        for text, cell in zip(row, cells, strict=False):
            if isinstance(cell, float):
                assert (float(text) == cell) if cell == cell else text == ""
            else:
                assert text == ("" if cell is None else str(cell))


def test_a_live_page_reads_itself_again(runs, tmp_path, browser):
    content = content_of(runs["unfinished"], title="first")
    path = tmp_path / "live.html"
    path.write_text(render(content, reload=1), encoding="utf-8")
    browser.open(path, 390)
    assert browser.run("document.querySelector('h1').textContent") == "first"
    again = content_of(runs["unfinished"], title="second")
    path.write_text(render(again, reload=1), encoding="utf-8")
    browser.wait("document.querySelector('h1')?.textContent === 'second'")
