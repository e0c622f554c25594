"""Changes one byte of a stored record: damage_record.py IN OUT RECORD."""

import sys
import zipfile

source, target, damaged = sys.argv[1:]
with zipfile.ZipFile(source) as archive:
    (entry,) = [
        entry
        for entry in archive.infolist()
        if entry.filename.split("/", 1)[1] == damaged
    ]
    content = archive.read(entry)
data = open(source, "rb").read()
position = data.index(content) + len(content) // 2
changed = data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :]
open(target, "wb").write(changed)
