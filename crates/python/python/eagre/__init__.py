"""Memory that flows: sorting, files and streams larger than memory."""

from eagre import process
from eagre._copying import Copied, Diagnosis, Fact, copy, doctor
from eagre._eagre import __version__, sort
from eagre._generating import generate
from eagre._indexing import gather, index_file
from eagre._merging import merge
from eagre._network import Carried, Connector, Listener, Offer, Transfer
from eagre._pipes import Pipe, PipeReader
from eagre._questions import Counts, Found, Group, Stats, count, find, find_all, stats
from eagre._reading import File, open
from eagre._records import (
    Checked,
    Records,
    Sorted,
    check_file,
    checksum,
    record_keys,
    sample_boundaries,
    sort_and_partition,
    sort_file,
    tied,
)
from eagre._selecting import partition, top_k, unique
from eagre._sorting import argsort, lexsort, sort_pairs, sorted
from eagre._writing import FileWriter, Writer, create

__all__ = [
    "Carried",
    "Checked",
    "Connector",
    "Copied",
    "Counts",
    "Diagnosis",
    "Fact",
    "File",
    "FileWriter",
    "Found",
    "Group",
    "Listener",
    "Offer",
    "Pipe",
    "PipeReader",
    "Records",
    "Sorted",
    "Stats",
    "Transfer",
    "Writer",
    "__version__",
    "argsort",
    "check_file",
    "checksum",
    "copy",
    "count",
    "create",
    "doctor",
    "find",
    "find_all",
    "gather",
    "generate",
    "index_file",
    "lexsort",
    "merge",
    "open",
    "partition",
    "process",
    "record_keys",
    "sample_boundaries",
    "sort",
    "sort_and_partition",
    "sort_file",
    "sort_pairs",
    "sorted",
    "stats",
    "tied",
    "top_k",
    "unique",
]
