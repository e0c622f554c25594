# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Adapts the pages to the site: links to files of the repository that are not pages
become text, after a check that the files exist. MkDocs checks all other links."""

import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError

LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)#\s]+)(#[^)\s]*)?\)")


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    docs = Path(config["docs_dir"])
    folder = (docs / page.file.src_uri).parent

    def replace(match: re.Match[str]) -> str:
        text, target = match[1], match[2]
        if re.match(r"[a-z]+:", target):
            return match[0]
        path = (folder / target).resolve()
        if not path.exists():
            raise PluginError(f"{page.file.src_uri}: there is no {target}")
        # The site has the pages and their images only.
        return match[0] if path.is_relative_to(docs.resolve()) else text

    return LINK.sub(replace, markdown)
