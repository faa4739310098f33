# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

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
