# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The pages that people read, as data: their links, headings and examples."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import re
from typing import NamedTuple

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / 'README.md', ROOT / 'CONTRIBUTING.md', ROOT / 'QUALITY_DECLARATION.md',
         *sorted((ROOT / 'docs').rglob('*.md'))]
TUTORIAL = [page for page in PAGES if page.parent.name == 'tutorial']
_FENCE = re.compile(r'^```(.*)$')
_LINK = re.compile(r'\]\(([^()\s]+)\)')


class Example(NamedTuple):
    """A fenced block: the page, the line of its first line, its language and its text."""

    page: Path
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f'{self.page.name}:{self.line}'


def examples(*languages: str) -> list[Example]:
    """Return the blocks in these languages, of all pages."""
    return [example for page in PAGES for example in blocks(page)
            if example.language in languages]


def blocks(page: Path) -> Iterator[Example]:
    """Yield the fenced blocks of a page."""
    start, language = 0, ''
    lines = page.read_text(encoding='utf-8').splitlines()
    for number, line in enumerate(lines, 1):
        fence = _FENCE.match(line)
        if fence and start:
            yield Example(page, start + 1, language, '\n'.join(lines[start:number - 1]) + '\n')
            start = 0
        elif fence:
            start, language = number, fence[1].strip()


def prose(page: Path) -> str:
    """Return a page without its fenced blocks."""
    return re.sub(r'^```.*?^```$', '', page.read_text(encoding='utf-8'), flags=re.M | re.S)


def links(page: Path) -> list[str]:
    """Return the targets of the links and pictures of a page."""
    return _LINK.findall(prose(page))


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and MkDocs make them."""
    headings = re.findall(r'^#+ +(.*)$', prose(page), re.M)
    return {re.sub(r'[^\w\- ]', '', heading.lower()).strip().replace(' ', '-')
            for heading in headings}
