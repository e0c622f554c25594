"""The target on standard input, with collectives of 8 ranks that take a second."""

import json
import sys

target = json.load(sys.stdin)
target["name"] = "slow-world"
for lines in target["collectives"].values():
    for line in lines:
        if line["group_size"] == 8:
            line["latency_seconds"] = 1.0
            line.pop("points", None)
json.dump(target, sys.stdout)
