# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Which lines of the user's program the nodes of a graph come from."""

import functools
import os
import re
from pathlib import Path

import torch

import commute

_FRAME = re.compile(r'^ *File "(?P<path>[^"]+)", line (?P<line>\d*)', re.MULTILINE)


def _folders() -> tuple[str, ...]:
    """Those of PyTorch and of Commute, whose files may be links."""
    packages = [Path(path) for path in (*torch.__path__, *commute.__path__)]
    packages += [Path(path).resolve() for path in commute.__path__]
    packages.append(Path(__file__).resolve().parents[1])
    return tuple(f"{package}{os.sep}" for package in packages)


_LIBRARIES = _folders()


@functools.lru_cache(maxsize=4096)
def user_frame(trace: str) -> str:
    """The user's innermost frame of a stack trace, which has the innermost call last: the last
    that is not PyTorch's or Commute's; "" if no frame is the user's."""
    starts = list(_FRAME.finditer(trace))
    end = len(trace)
    for frame in reversed(starts):
        path = frame["path"]
        # Code of torch.fx has no file; neither has a user's notebook.
        if not path.startswith(("<eval_with_key>", *_LIBRARIES)):
            return trace[frame.start() : end]
        end = frame.start()
    return ""


@functools.lru_cache(maxsize=4096)
def user_line(trace: str) -> tuple[str, int]:
    """The file and the line of the user's innermost frame; "" and 0 if no frame is the user's."""
    frame = _FRAME.match(user_frame(trace))
    return (frame["path"], int(frame["line"] or 0)) if frame else ("", 0)
