"""Every notebook runs from its first cell to its last, and says something."""

import json
import pathlib
import subprocess
import sys

import pytest

NOTEBOOKS = sorted((pathlib.Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))


def test_there_is_one_for_each_kind_of_user():
    assert [path.stem for path in NOTEBOOKS] == ["algorithm_author", "ml_engineer", "researcher", "router_team", "table_owner"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path):
    cells = json.loads(path.read_text())["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    # As a program, so that what it defines pickles as in a notebook.
    (tmp_path / "notebook.py").write_text("\n\n".join(code))
    ran = subprocess.run([sys.executable, "notebook.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0 and ran.stdout, ran.stderr
    assert all(not cell.get("outputs") for cell in cells) and path.stat().st_size < 20_000
