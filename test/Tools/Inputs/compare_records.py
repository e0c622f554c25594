"""Whether two archives have the same records, in the same order."""

import sys
import zipfile


def read_records(path):
    # Records lie in a folder that is named after the archive.
    with zipfile.ZipFile(path) as archive:
        return [(name.split("/", 1)[1], archive.read(name)) for name in archive.namelist()]


before, after = map(read_records, sys.argv[1:])
if [name for name, _ in before] != [name for name, _ in after]:
    sys.exit(f"{sys.argv[1]} and {sys.argv[2]} have different records")
for (name, content), (_, other) in zip(before, after):
    if content != other:
        sys.exit(f"{sys.argv[1]} and {sys.argv[2]} differ in record {name}")
