"""Changes one byte of a stored record: damage_record.py IN OUT RECORD."""

import sys
import zipfile
from pathlib import Path

source, target, damaged = sys.argv[1:]
with zipfile.ZipFile(source) as archive:
    (entry,) = [entry for entry in archive.infolist() if entry.filename.split("/", 1)[1] == damaged]
    content = archive.read(entry)
data = Path(source).read_bytes()
position = data.index(content) + len(content) // 2
changed = data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :]
Path(target).write_bytes(changed)
