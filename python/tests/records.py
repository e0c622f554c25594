# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The records of a .pt2 archive, read and written as a plain zip file."""

import copy
import json
import zipfile

PROGRAM = "models/model.json"
SIDECAR = "extra/commute.json"


def read_records(path):
    """The archive's root folder, and {record: bytes} in the order of the file."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        root = names[0].split("/")[0]
        assert all(name.startswith(f"{root}/") for name in names)
        return root, {name[len(root) + 1 :]: archive.read(name) for name in names}


def write_records(path, root, records):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, content in records.items():
            archive.writestr(f"{root}/{name}", content)
    return path


def read_program(path):
    return json.loads(read_records(path)[1][PROGRAM])


def edit_records(source, target, edit):
    """A copy of an archive with its records as `edit` leaves them."""
    root, records = read_records(source)
    edit(records)
    return write_records(target, root, records)


def edit_program(source, target, edit):
    """A copy of an archive with its program document as `edit` leaves it.

    `edit` changes the document in place, or returns another one.
    """

    def edit_document(records):
        document = json.loads(records[PROGRAM])
        edited = edit(document)
        records[PROGRAM] = json.dumps(document if edited is None else edited).encode()

    return edit_records(source, target, edit_document)


def graph_of(document):
    return document["graph_module"]["graph"]


def node_of(document, name):
    """The node of that name, to be changed in place."""
    (node,) = [node for node in graph_of(document)["nodes"] if node["name"] == name]
    return node


def argument_of(node, name):
    """The argument's value: an object with one key, its tag."""
    (argument,) = [entry["arg"] for entry in node["inputs"] if entry["name"] == name]
    return argument


def copy_of_node(node, name):
    """The same operation under another name; its one output has that name too."""
    result = copy.deepcopy(node)
    result["name"] = name
    result["outputs"] = [{"as_tensor": {"name": name}}]
    return result
