"""Writes an archive again without one record: drop_record.py IN OUT RECORD."""

import sys
import zipfile

source, target, dropped = sys.argv[1:]
found = False
with zipfile.ZipFile(source) as before, zipfile.ZipFile(target, "w") as after:
    for entry in before.infolist():
        # Records lie in a folder that is named after the archive.
        if entry.filename.split("/", 1)[1] == dropped:
            found = True
        else:
            after.writestr(entry, before.read(entry))
if not found:
    sys.exit(f"{source} has no record {dropped}")
