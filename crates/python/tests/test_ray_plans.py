"""What sorts on a cluster plan and read, without a cluster."""

import argparse
import os
import random
import subprocess
import sys

import pytest

import eagre

pytest.importorskip("ray", reason="Ray is not installed: no sorts on a cluster")
import eagre.ray  # noqa: E402
from eagre.ray import _boundaries, _model, _options, _parts, _plan, _ranges  # noqa: E402
from eagre.ray._cluster import Cluster  # noqa: E402
from eagre.ray._files import Local  # noqa: E402

GENSORT = eagre.Records("fixed", record_size=100, keys="0:10")


def test_pieces_have_each_line_once(tmp_path):
    source = random.Random(7)
    format = eagre.ray.Format.of("lines")
    for _ in range(50):
        data = bytes(source.choices(b"\na", [1, source.choice([1, 5, 50])], k=source.randrange(300)))
        (tmp_path / "file").write_bytes(data)
        pieces = _ranges.cut([(str(tmp_path / "file"), len(data))], source.randrange(1, 60), format)
        found = [_ranges.read(Local(), piece, format)[0].tobytes() for piece in pieces]
        wanted = data if not data or data.endswith(b"\n") else data + b"\n"
        assert b"".join(found) == wanted


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ([], eagre.Records()),
        (["--gensort"], GENSORT),
        (["--record", "32", "-k", "8:i64", "-k0:8"], eagre.Records("fixed", record_size=32, keys=["8:i64", "0:8"])),
        (["--klv", "10:4"], eagre.Records("klv", klv="10:4")),
        (["--keys", "i32"], eagre.Records("numbers", dtype="i4")),
        (["-t,", "-k2,2n", "-k1,1r", "-rf"], eagre.Records("text", keys=["2,2n", "1,1r"], options="f", separator=",")),
        (["--csv", "-h"], eagre.Records("csv", keys=[], options="h")),
        (["--keys", "f16"], "no type"),
        (["--gensort", "-n"], "do not apply"),
        (["--klv", "10:4", "-k1"], "do not apply"),
    ],
)
def test_options_are_those_of_eagre_sort(options, wanted):
    parser = argparse.ArgumentParser(add_help=False)
    _options.add_format(parser)
    if isinstance(wanted, str):
        with pytest.raises(ValueError, match=wanted):
            _options.format_of(parser.parse_args(options))
    else:
        assert _options.format_of(parser.parse_args(options)) == wanted
    assert [_options.size(text) for text in ("7", "1.5K", "64MiB", "2g")] == [7, 1536, 64 << 20, 2 << 30]


def test_an_output_takes_what_killed_workers_left(tmp_path):
    for name in ("part-00000", ".eagre-17-3", ".eagre-00000000deadbeef", ".part-00001.12ab.34cd", "manifest.json"):
        (tmp_path / name).write_bytes(b"old")
    folder = _parts.Folder(Local(), str(tmp_path), "token", overwrite=True)
    folder.begin()
    assert os.listdir(tmp_path) == []
    (tmp_path / "eagre-17").write_bytes(b"of somebody else")
    with pytest.raises(FileExistsError, match="eagre-17 is no part of an output"):
        _parts.Folder(Local(), str(tmp_path), "token", overwrite=True)


def test_plans():
    cluster = Cluster(40, 320, 320 << 32, 40 << 36, 1 << 36)
    format = eagre.ray.Format.of("gensort")
    memory = _plan.task_memory(cluster, None)
    size = _plan.piece_size(100 * 10**12, cluster, format, memory)
    plan = _plan.plan_of(100 * 10**12, 100 * 10**12 // size, size, cluster, memory)
    assert plan.fan > 1 and plan.merged < 5000 and size * format.memory_per_byte <= memory
    assert [part for group in range(plan.groups) for part in plan.parts_of(group)] == list(range(plan.parts))
    assert max(len(plan.parts_of(group)) for group in range(plan.groups)) <= 512
    model = _model.model_of(100 * 10**12, 40, _model.Machine(), format)
    assert 2e12 < model.received < 1e13 and 1000 < model.seconds < 10_000 and model.cost(3600) > 40 * 1.37
    assert "$ per TB" in model.explain() and model.plan.objects < 100_000_000
    assert len(_boundaries.uniform(7, format)) == 6 and _plan.task_memory(cluster, 1 << 30) == 1 << 30


def test_without_ray_the_message_names_the_cure(tmp_path):
    (tmp_path / "ray.py").write_text("raise ImportError('no ray')")
    code = "import eagre, sys; assert 'ray' not in sys.modules\nimport eagre.ray"
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    assert done.stderr.splitlines()[-1] == "ImportError: eagre.ray: Ray is not installed; pip install 'eagre[ray]'"
