"""Files wherever they are: local ones, and those of pyarrow's and fsspec's file systems."""

from __future__ import annotations

import io
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from eagre import _eagre

Bytes = npt.NDArray[np.uint8]
# How many bytes a request writes to an object store.
REQUEST = 32 << 20


class Files(Protocol):
    """A file system. It travels to workers."""

    @property
    def near(self) -> bool:
        """Whether a read of a few bytes costs little."""
        ...

    def list(self, path: str) -> list[tuple[str, int]] | None:
        """The regular files of a folder with their sizes, sorted by name; or of a file, itself. ``None`` if there is none."""
        ...

    def read(self, path: str, offset: int, length: int) -> Bytes:
        """Bytes of a file, fewer at its end."""
        ...

    def write(self, path: str, token: str) -> Any:
        """A context that gives a function to write bytes with. The file has its name when the context ends well."""
        ...

    def make_folder(self, path: str) -> bool:
        """Makes a folder, and says whether it was not there."""
        ...

    def remove(self, path: str) -> None:
        """Removes a file, if it is there."""
        ...

    def remove_folder(self, path: str) -> None:
        """Removes a folder, if it is empty."""
        ...


def files_of(location: str | os.PathLike[Any], filesystem: Any = None) -> tuple[Files, str]:
    """The file system of a path or URL, and the path there.

    Args:
        location: a path, or a URL such as ``s3://bucket/folder``.
        filesystem: a file system of pyarrow or fsspec, in which the location is a path.
    """
    name = os.fspath(location)
    if filesystem is not None:
        return Remote(_arrow(filesystem)), name
    scheme, separator, rest = name.partition("://")
    if not separator:
        return Local(), os.path.abspath(name)
    if scheme == "file":
        return Local(), os.path.abspath("/" + rest.lstrip("/"))
    try:
        from pyarrow import fs
    except ImportError:
        raise ImportError(f"eagre.ray: {name}: URLs need pyarrow; pip install 'eagre[ray]'") from None
    try:
        found, path = fs.FileSystem.from_uri(name)
    except (ValueError, NotImplementedError):
        import fsspec.core

        found, path = fsspec.core.url_to_fs(name)
    return Remote(_arrow(found)), path


def _arrow(filesystem: Any) -> Any:
    """A file system of fsspec as one of pyarrow."""
    from pyarrow import fs

    if isinstance(filesystem, fs.FileSystem):
        return filesystem
    return fs.PyFileSystem(fs.FSSpecHandler(filesystem))


class _Raw(io.RawIOBase):
    """A file of pyarrow, which buffers write to."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return int(self._file.write(data))


def hidden(name: str) -> bool:
    """Whether a file is none of the data: its name begins with a dot or an underscore."""
    return name.startswith((".", "_"))


def joined(folder: str, name: str) -> str:
    return f"{folder.rstrip('/')}/{name}"


def base(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


@dataclass(frozen=True)
class Local:
    """Files of this machine, or of a file system that all nodes have mounted."""

    near: bool = True

    def list(self, path: str) -> list[tuple[str, int]] | None:
        if os.path.isdir(path):
            entries = sorted(os.scandir(path), key=lambda entry: entry.name)
            return [(entry.path, entry.stat().st_size) for entry in entries if entry.is_file()]
        return [(path, os.path.getsize(path))] if os.path.exists(path) else None

    def read(self, path: str, offset: int, length: int) -> Bytes:
        out, done = np.empty(length, np.uint8), 0
        with open(path, "rb", buffering=0) as file:
            file.seek(offset)
            while done < length and (count := file.readinto(out.data[done:])):
                done += count
        return out[:done]

    @contextmanager
    def write(self, path: str, token: str) -> Iterator[Any]:
        # Past the page cache. The file has no name until it is complete: two workers that both write a part, one of them believed
        # dead, do not share it.
        sink = _eagre.Sink.create(path)
        try:
            yield lambda data: sink.write(np.frombuffer(data, np.uint8))
        except BaseException as error:
            sink.fail(str(error))
            raise
        sink.finish()

    def make_folder(self, path: str) -> bool:
        if os.path.isdir(path):
            return False
        os.makedirs(path)
        return True

    def remove(self, path: str) -> None:
        try:
            os.remove(path)
        except FileNotFoundError:
            pass

    def remove_folder(self, path: str) -> None:
        try:
            os.rmdir(path)
        except OSError:
            pass


@dataclass(frozen=True)
class Remote:
    """Files of a file system of pyarrow."""

    filesystem: Any
    near: bool = False

    def list(self, path: str) -> list[tuple[str, int]] | None:
        from pyarrow import fs

        path = path.rstrip("/")
        found = self.filesystem.get_file_info(path)
        if found.type == fs.FileType.File:
            return [(found.path, found.size)]
        if found.type != fs.FileType.Directory:
            return None
        entries = self.filesystem.get_file_info(fs.FileSelector(path))
        return sorted((entry.path, entry.size) for entry in entries if entry.type == fs.FileType.File)

    def read(self, path: str, offset: int, length: int) -> Bytes:
        with self.filesystem.open_input_file(path) as file:
            length = max(min(length, file.size() - offset), 0)
            return np.frombuffer(file.read_at(length, offset), np.uint8)

    @contextmanager
    def write(self, path: str, token: str) -> Iterator[Any]:
        # Object stores show a file when it is complete; others show it under a name of its own until then.
        whole = self.filesystem.type_name in ("s3", "gcs", "abfs")
        folder, _, name = path.rpartition("/")
        temporary = path if whole else f"{folder}/.{name}.{token}.{secrets.token_hex(4)}"
        try:
            # Each write is a request to an object store: few and large ones.
            with self.filesystem.open_output_stream(temporary) as file, io.BufferedWriter(_Raw(file), REQUEST) as buffer:
                yield buffer.write
            if not whole:
                self.filesystem.move(temporary, path)
        except BaseException:
            self.remove(temporary)
            raise

    def make_folder(self, path: str) -> bool:
        if self.list(path) is not None:
            return False
        self.filesystem.create_dir(path, recursive=True)
        return True

    def remove(self, path: str) -> None:
        from pyarrow import fs

        if self.filesystem.get_file_info(path).type == fs.FileType.File:
            self.filesystem.delete_file(path)

    def remove_folder(self, path: str) -> None:
        if self.list(path) == []:
            self.filesystem.delete_dir(path)
