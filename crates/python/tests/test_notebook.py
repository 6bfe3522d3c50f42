"""A notebook: its kernel lives through arrays that are shown, summed twice, cut, and calls that are interrupted."""

import textwrap

import pytest

nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")

CELLS = [
    """
    import os, signal, numpy as np, eagre
    np.arange(3_000_000, dtype="f8").tofile("numbers")
    array = eagre.open("numbers").array("f8")
    array
    """,
    "(float(array.sum()), float(array.sum()), round(float(array.std())))",
    "[float(chunk.sum()) for chunk in eagre.open('numbers').chunks('f8')][0]",
    """
    def interrupt(done, total):
        os.kill(os.getpid(), signal.SIGINT)
    try:
        eagre.sorted(array[::-1], progress=interrupt)
    except KeyboardInterrupt:
        print("interrupted")
    """,
    """
    os.truncate("numbers", 4096)
    (float(array[0]), float(array[-1]), len(eagre.sorted(array)))
    """,
]


@pytest.mark.filterwarnings("ignore")
def test_a_notebook(tmp_path):
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(textwrap.dedent(cell)) for cell in CELLS])
    done = nbclient.NotebookClient(book, timeout=60, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [
        "".join(output.get("text") or output["data"]["text/plain"] for output in cell.outputs if output.output_type != "error")
        for cell in done.cells
    ]
    assert shown[0].startswith("array([0.000000e+00, 1.000000e+00") and "2.999999e+06" in shown[0]
    assert shown[1] == "(4499998500000.0, 4499998500000.0, 866025)"
    assert shown[2] == str(float(sum(range(262144))))
    assert shown[3] == "interrupted\n"
    assert shown[4] == "(0.0, 0.0, 3000000)"
