"""Data frames as files, for what reads files."""

from __future__ import annotations

import atexit
import contextlib
import csv
import fcntl
import hashlib
import io
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ._errors import FileFailed

# The files that this process reads, each open with a lock that it shares with other readers.
_READ: dict[str, int] = {}


def kept(frame: Any) -> str:
    """Writes a frame as CSV, and says where: by its content, in a folder of the user's, so that a spec is the same in every
    process. The last process that reads a file removes it when it ends.
    """
    if isinstance(frame, Mapping):
        text = _of_columns(frame)
    elif hasattr(frame, "write_csv"):
        text = frame.write_csv()
    else:
        text = frame.to_csv(index=False)
    data = text.encode()
    path = _folder() / f"frame-{hashlib.sha256(data).hexdigest()[:32]}.csv"
    key = str(path)
    if key in _READ and os.path.exists(key):
        return key
    if not _READ:
        atexit.register(_leave, os.getpid())
    while True:
        if not path.exists() or path.read_bytes() != data:
            fresh = path.with_suffix(f".{os.getpid()}")
            fresh.write_bytes(data)
            fresh.replace(path)
        with contextlib.suppress(FileNotFoundError):
            file = os.open(path, os.O_RDONLY)
            fcntl.flock(file, fcntl.LOCK_SH)
            # Another process may have removed it meanwhile.
            if path.exists() and os.path.samestat(os.fstat(file), os.stat(path)):
                _READ[key] = file
                return key
            os.close(file)


def _folder() -> Path:
    """The user's own, which no other user may write to."""
    folder = Path(tempfile.gettempdir()) / f"corral-frames-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if found.st_uid != os.getuid() or not folder.is_dir() or folder.is_symlink() or found.st_mode & 0o022:
        raise FileFailed(f"{folder}: data frames are kept there, and others may write to it")
    return folder


def _leave(process: int) -> None:
    # A forked process has the files of its parent.
    for path, file in _READ.items() if os.getpid() == process else ():
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(file), os.stat(path)):
                os.unlink(path)
        os.close(file)


def _of_columns(columns: Mapping[str, Any]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return out.getvalue()
