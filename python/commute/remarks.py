# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""What passes report about the nodes of a program."""

import dataclasses
import json


@dataclasses.dataclass(frozen=True)
class Remark:
    """What a pass did to a node, or why it did not."""

    verdict: str
    """"applied", "refused" or "noted"."""
    pass_name: str
    node: str
    """The node that the remark is about, by the name that it had."""
    message: str
    file: str = ""
    line: int = 0
    suggestion: str = ""

    def __str__(self) -> str:
        where = f" ({self.file}:{self.line})" if self.file else ""
        more = f"; {self.suggestion}" if self.suggestion else ""
        return f"{self.pass_name}: {self.verdict} {self.node}{where}: {self.message}{more}"


def parse_remarks(text: str) -> list[Remark]:
    """Returns the remarks of the JSON text that the native module returns."""
    return [
        Remark(
            verdict=entry["verdict"],
            pass_name=entry["pass"],
            node=entry["node"],
            message=entry["message"],
            file=entry.get("file", ""),
            line=entry.get("line", 0),
            suggestion=entry.get("suggestion", ""),
        )
        for entry in json.loads(text)
    ]
