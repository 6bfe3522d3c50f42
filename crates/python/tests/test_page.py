"""The examples of the page: they run as they stand, one after the other."""

import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
PAGES = [HERE.parent / "python.md", HERE.parent.parent.parent / "docs" / "python.md"]


def test_the_examples_of_the_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = next(page for page in PAGES if page.exists()).read_text()
    examples = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert len(examples) >= 5
    scope = {"__name__": "page"}
    for example in examples:
        exec(compile(example, "python.md", "exec"), scope)
