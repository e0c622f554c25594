# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""What `commute verify` says of captured programs."""

import dataclasses
import json

from commute_tool import commute


@dataclasses.dataclass
class Verdict:
    exit_code: int
    # What was printed, for messages of tests.
    text: str
    report: dict

    @property
    def difference(self):
        """The first difference, or {}."""
        return next(iter(self.report.get("differences", [])), {})

    @property
    def explanation(self):
        return " ".join([self.difference.get("message", ""), self.difference.get("fix", "")])

    @property
    def nodes(self):
        """The nodes that are named: one, or one of each of two ranks that do not match."""
        found = {self.difference.get("node", "")}
        if str(self.difference.get("other_program", "")).startswith("rank"):
            found.add(str(self.difference.get("other")).split(" ")[0])
        return found

    def line_of(self, file):
        """The line that is named, if it is of this file."""
        named = self.difference.get("file", "")
        return self.difference.get("line") if named.endswith(file) else None


def verify(captured, folder, *options):
    process = commute("verify", *captured.write(folder), "--json", *options)
    report = json.loads(process.stdout) if process.stdout.startswith("{") else {}
    return Verdict(process.returncode, process.stdout + process.stderr, report)
