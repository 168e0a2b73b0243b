"""Runs the code of notebooks, whose assertions are the test, and of the README. Plots need matplotlib."""

import importlib.util
import json
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent
NOTEBOOKS = sorted((PACKAGE / "notebooks").glob("*.ipynb"))


def test_there_are_notebooks():
    assert [path.stem for path in NOTEBOOKS] == ["elasticity", "poisson", "time_steps"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    has_plots, names = importlib.util.find_spec("matplotlib") is not None, {}
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    assert any("assert" in line for cell in cells for line in cell["source"])
    for cell in cells:
        assert not cell["outputs"], "notebooks are kept without outputs"
        if has_plots or "plot" not in cell["metadata"].get("tags", []):
            exec(compile("".join(cell["source"]), cell["id"], "exec"), names)


def test_the_examples_of_the_readme_run(capsys):
    blocks = (PACKAGE / "README.md").read_text().split("```python\n")[1:]
    for block in blocks:
        exec(block.split("```")[0], {})
    # The load of the only free node is 1/8, its diagonal entry 4/3.
    found = [float(line) for line in capsys.readouterr().out.splitlines() if "[" not in line]
    assert len(blocks) == 3 and found == pytest.approx([3 / 32])
