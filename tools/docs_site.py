# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
MkDocs hook for what the pages have beyond Python-Markdown.

The site has only docs/, so links to other files become plain text. A code block has one word after
its fence; a second one says how the tests read it.
"""

from __future__ import annotations

import re
from typing import Any


def on_page_markdown(markdown: str, page: Any, **site: Any) -> str:
    """Return the page as Python-Markdown reads it."""
    leaves = r'\.\./' * (page.file.src_uri.count('/') + 1)
    markdown = re.sub(rf'(?<!!)\[([^\]]+)\]\({leaves}[^)]*\)', r'\1', markdown)
    return re.sub(r'^(```\w+) .*$', r'\1', markdown, flags=re.MULTILINE)
