# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The pages of --report: their data, their size, and, where Chromium is installed, that
a browser draws them and that filter, keys and folding work."""

import html
import json
import re
import shutil
import subprocess
import sys

import pytest

from commute_tool import REPOSITORY, commute, succeed

sys.path.append(str(REPOSITORY / "benchmarks"))

CHROMIUM = shutil.which("chromium")
DATA = re.compile(r'<script id="data" type="application/json">(.*?)</script>', re.DOTALL)


def read_page(path):
    """The page, which must not load anything, and its data."""
    page = path.read_text()
    (text,) = DATA.findall(page)
    assert page.count("</script>") == 2
    assert not re.search(r"<(?!svg)[^>]*\b(src|href)\s*=", page.replace(text, ""))
    return page, json.loads(text)


def check_columns(data):
    """Columns of equal length, strings that exist, and lanes on which nothing overlaps."""
    for program in data["programs"]:
        ops, events = program["lanes"]["ops"], program["lanes"]["events"]
        assert len({len(column) for column in ops.values()}) == 1
        assert len({len(column) for column in events.values()}) == 1
        for name in ("kind", "node", "shape", "file", "layer", "bound"):
            assert all(0 <= index < len(data["strings"]) for index in ops[name])
        assert max(events["op"]) < len(ops["kind"])
        step = program["step_seconds"] * 1e9
        for lane in (0, 1):
            end = 0
            for which, start, time in zip(events["lane"], events["start"], events["time"]):
                if which == lane:
                    # Times are rounded to nanoseconds.
                    assert start >= end - 2
                    end = start + time
                    assert end <= step + 2


@pytest.fixture(scope="module")
def optimized(tmp_path_factory, fixtures_folder):
    folder = tmp_path_factory.mktemp("report")
    source = fixtures_folder / "llama_model_tp2.pt2"
    target, page = folder / "better.pt2", folder / "report.html"
    succeed("opt", source, "-o", target, "--policy=always", f"--report={page}", "--quiet")
    return source, target, page


def test_programs_are_those_of_estimate(optimized):
    source, target, page = optimized
    _, data = read_page(page)
    check_columns(data)
    assert data["version"] == 1 and data["command"] == "opt"
    for path, program in zip((source, target), data["programs"], strict=True):
        expected = json.loads(succeed("estimate", path, "--json"))
        assert expected.pop("file") == str(path)
        # The page has a version of its own, and states its target.
        for key in ("version", "is_default_target"):
            expected.pop(key)
        for key, value in expected.items():
            assert program[key] == value or program[key] == pytest.approx(value), key
    assert [program["role"] for program in data["programs"]] == ["before", "after"]
    assert data["proof"]["verdict"] == "equivalent"
    explained = data["explanation"]
    assert explained["before"]["seconds"] == data["programs"][0]["step_seconds"]
    assert {site["decision"] for site in explained["sites"]} >= {"applied", "refused"}
    evidence = data["target"]
    assert len(evidence["sources"]) == sum(
        evidence[kind] for kind in ("measured", "stated", "assumed")
    )
    assert min(evidence["measured"], evidence["stated"], evidence["assumed"]) > 0


def test_rewrites_are_drawn(optimized):
    _, data = read_page(optimized[2])
    rewrites = data["rewrites"]
    assert rewrites
    layers = set()
    for rewrite in rewrites:
        layers.update(rewrite["layers"])
        assert rewrite["count"] > 0 and rewrite["remarks"]
        for side in ("before", "after"):
            boxes = rewrite[side]
            assert boxes
            for index, box in enumerate(boxes):
                assert all(0 <= operand < len(boxes) for operand in box["operands"])
                assert index not in box["operands"]
    assert layers == {"blocks.layers.0"}
    drawn = {
        side: {box["label"] for rewrite in rewrites for box in rewrite[side]}
        for side in ("before", "after")
    }
    assert "all_reduce" in drawn["before"] and "all_reduce" not in drawn["after"]
    assert {"all_gather_matmul", "matmul_reduce_scatter"} <= drawn["after"]
    # Places that look alike are one drawing: every rewritten node is at some place.
    # The passes run a second time for the explanation, without remarks.
    remarks = [json.dumps(remark, sort_keys=True) for remark in data["remarks"]]
    assert len(set(remarks)) == len(remarks)
    applied = {r["node"] for r in data["remarks"] if r["verdict"] == "applied"}
    drawn_nodes = {r["node"] for rewrite in rewrites for r in rewrite["remarks"]}
    assert drawn_nodes <= applied


def test_sources_are_excerpts_of_python_files(optimized):
    _, data = read_page(optimized[2])
    lines = {file["file"] for file in data["sources"]}
    # The fixtures name files of this repository; the tests may run elsewhere.
    for file in data["sources"]:
        assert file["file"].endswith(".py")
        text = (REPOSITORY / file["file"]).read_text().split("\n")
        for excerpt in file["excerpts"]:
            first = excerpt["first"] - 1
            assert text[first : first + len(excerpt["lines"])] == excerpt["lines"]
    assert len(lines) == len(data["sources"])


HOSTILE = '</script><img src=x onerror="alert(1)"><!--\u2028'


def test_hostile_names_stay_data(tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret\n" * 10)
    module = tmp_path / "module.mlir"
    name = HOSTILE.replace('"', "\\22")
    module.write_text(
        "func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {\n"
        '  %0 = tp.all_reduce sum %x group <"0", [0, 1]> : tensor<4x4xf32> -> tensor<4x4xf32> '
        f'loc("{name}"("{secret}":3:1))\n'
        "  %1 = tp.map add(%0, %0) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> "
        f'loc("{name}"("{secret}.py":3:1))\n'
        "  return %1 : tensor<4x4xf32>\n}\n"
    )
    page = tmp_path / "report.html"
    succeed("estimate", module, f"--report={page}")
    text, data = read_page(page)
    assert "<img" not in text and "onerror" in json.dumps(data)
    assert HOSTILE in data["strings"]
    # An archive must not put any file it names into a page that is passed on.
    assert "the secret" not in text and data["sources"] == []


def test_pages_of_programs_with_symbolic_sizes(tmp_path, fixtures_folder):
    page = tmp_path / "report.html"
    source = fixtures_folder / "llama_tp2_dynamic.pt2"
    process = commute("verify", source, source, f"--report={page}")
    assert process.returncode == 0, process.stderr
    _, data = read_page(page)
    assert data["command"] == "verify" and data["proof"]["equivalent"]
    check_columns({**data, "programs": [p for p in data["programs"] if "lanes" in p]})


def test_differences_are_shown(tmp_path):
    text = (
        "func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {{\n"
        "  %0 = tp.map {function}(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32> "
        'loc("y"("model.py":3:1))\n  return %0 : tensor<4x4xf32>\n}}\n'
    )
    paths = []
    for function in ("exp", "neg"):
        paths.append(tmp_path / f"{function}.mlir")
        paths[-1].write_text(text.format(function=function))
    page = tmp_path / "report.html"
    process = commute("verify", *paths, f"--report={page}")
    assert process.returncode == 1, process.stderr
    _, data = read_page(page)
    assert data["proof"]["verdict"] == "different"
    assert data["proof"]["differences"][0]["first"] == "y (model.py:3)"


@pytest.fixture(scope="module")
def deep_page(tmp_path_factory):
    from llama_70b import write_deep

    folder = tmp_path_factory.mktemp("deep")
    module, page = folder / "deep.mlir", folder / "report.html"
    write_deep(module, layers=80, tokens=4096)
    # As of an archive, whose parameters have the names of the model's.
    named = re.sub(
        r'tp.name = "layer(\d+)_(\w+)"',
        r'tp.kind = "parameter", tp.name = "layer\1_\2", tp.parameter = "layers.\1.\2"',
        module.read_text(),
    )
    located = re.sub(r"^%(v\d+)( = .*)$", r'%\1\2 loc("\1")', named, flags=re.MULTILINE)
    module.write_text(located)
    output = folder / "better.mlir"
    succeed("opt", module, "-o", output, f"--report={page}", "--no-verify", "--quiet")
    return page


def test_eighty_layers_are_a_small_page(deep_page):
    assert deep_page.stat().st_size < 2_000_000
    _, data = read_page(deep_page)
    check_columns(data)
    assert max(rewrite["count"] for rewrite in data["rewrites"]) >= 78
    assert len(data["rewrites"]) < 12
    assert len({i for p in data["programs"] for i in p["lanes"]["ops"]["layer"]}) in (80, 81)


# Runs in the page, and leaves what it saw in attributes of the document.
PROBE = """<script>
const results = {};
const canvas = document.querySelector('canvas');
const view = { cards: document.querySelectorAll('.rewrite').length };
const hidden = () => document.querySelectorAll('.rewrite[hidden]').length;
const key = name => canvas.dispatchEvent(
  new KeyboardEvent('keydown', { key: name, bubbles: true, cancelable: true }));
const filter = document.getElementById('filter');
const type = text => { filter.value = text; filter.dispatchEvent(new Event('input')); };
requestAnimationFrame(() => requestAnimationFrame(() => {
  results.cards = view.cards;
  results.drawn = canvas.width > 0 && canvas.height > 100;
  const picture = () => canvas.toDataURL();
  const before = picture();
  key('+');
  results.zooms = picture() !== before;
  key('0');
  results.fits = picture() === before;
  key('.');
  const first = document.querySelector('.selected').textContent;
  key('.');
  results.selects = first.includes('bound by') &&
    document.querySelector('.selected').textContent !== first;
  const fold = document.querySelector('.tools input');
  const folded = picture();
  fold.click();
  results.folds = picture() !== folded;
  type('no such text');
  results.filters = hidden() === view.cards;
  type('');
  results.shows = hidden() === 0;
  document.getElementById('theme').click();
  results.theme = document.documentElement.dataset.theme;
  results.images = document.images.length;
  document.documentElement.setAttribute('data-results', JSON.stringify(results));
}));
</script></body>"""


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_browser(deep_page, tmp_path):
    page = tmp_path / "probed.html"
    page.write_text(deep_page.read_text().replace("</body>", PROBE))
    process = subprocess.run(
        [
            CHROMIUM,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--enable-logging=stderr",
            "--virtual-time-budget=5000",
            f"--user-data-dir={tmp_path / 'profile'}",
            "--dump-dom",
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "CONSOLE" not in process.stderr
    found = re.search(r'data-results="([^"]*)"', process.stdout)
    results = json.loads(html.unescape(found[1]))
    cards = results.pop("cards")
    assert cards > 0
    assert results == {
        "drawn": True,
        "zooms": True,
        "fits": True,
        "selects": True,
        "folds": True,
        "filters": True,
        "shows": True,
        "theme": "light",
        "images": 0,
    }
