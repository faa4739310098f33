# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
MkDocs hook that converts the pages to Python-Markdown.

The site contains only docs/, so links to other files become plain text. After the fence of a code
block only the language is kept; the words behind it are for the tests.
"""

from __future__ import annotations

import re
from typing import Any


def on_page_markdown(markdown: str, page: Any, **site: Any) -> str:
    """Return the page as Python-Markdown."""
    leaves = r'\.\./' * (page.file.src_uri.count('/') + 1)
    markdown = re.sub(rf'(?<!!)\[([^\]]+)\]\({leaves}[^)]*\)', r'\1', markdown)
    return re.sub(r'^(```\w+) .*$', r'\1', markdown, flags=re.MULTILINE)
