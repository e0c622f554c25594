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
    def node(self):
        return self.difference.get("node", "")

    def line_of(self, file):
        """The line that is named, if it is of this file."""
        named = self.difference.get("file", "")
        return self.difference.get("line") if named.endswith(file) else None


def verify(captured, folder, *options):
    process = commute("verify", *captured.write(folder), "--json", *options)
    report = json.loads(process.stdout) if process.stdout.startswith("{") else {}
    return Verdict(process.returncode, process.stdout + process.stderr, report)
