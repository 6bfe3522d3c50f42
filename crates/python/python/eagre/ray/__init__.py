"""Sorting on a cluster: Ray moves the data, Eagre sorts and merges them.

>>> eagre.ray.sort("s3://bucket/in", "s3://bucket/out", format="gensort")

``python -m eagre.ray --help`` is the same as a command. Ray must be installed: ``pip install 'eagre[ray]'``.
"""

try:
    import ray as _ray  # noqa: F401
except ImportError as _missing:
    raise ImportError("eagre.ray: Ray is not installed; pip install 'eagre[ray]'") from _missing

from eagre.ray._checking import CheckedParts, check
from eagre.ray._dataset import sort_dataset
from eagre.ray._errors import BadRecord
from eagre.ray._format import Format
from eagre.ray._generating import generate
from eagre.ray._parts import MANIFEST, Part
from eagre.ray._plan import Plan
from eagre.ray._sorting import SortedParts, plan, sort

__all__ = [
    "MANIFEST",
    "BadRecord",
    "CheckedParts",
    "Format",
    "Part",
    "Plan",
    "SortedParts",
    "check",
    "generate",
    "plan",
    "sort",
    "sort_dataset",
]
