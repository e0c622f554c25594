"""Makes the archive of one rank from another one: of_rank.py IN OUT RANK [OLD NEW]...

States the rank in the sidecar, and replaces OLD by NEW in the program. A replacement of the
sidecar begins with "sidecar:".
"""

import json
import sys
import zipfile

source, target, rank, *replacements = sys.argv[1:]
pairs = list(zip(replacements[::2], replacements[1::2]))
with zipfile.ZipFile(source) as before, zipfile.ZipFile(target, "w") as after:
    for entry in before.infolist():
        content = before.read(entry)
        name = entry.filename.split("/", 1)[1]
        of_sidecar = name == "extra/commute.json"
        if of_sidecar:
            sidecar = json.loads(content)
            sidecar.pop("rank", None)
            if rank != "none":
                sidecar["rank"] = int(rank)
            content = json.dumps(sidecar).encode()
        for old, new in pairs:
            if old.startswith("sidecar:") != of_sidecar:
                continue
            old = old.removeprefix("sidecar:")
            if name.startswith("models/") or of_sidecar:
                if old.encode() not in content:
                    sys.exit(f"{source} has no {old}")
                content = content.replace(old.encode(), new.encode())
        after.writestr(entry, content)
