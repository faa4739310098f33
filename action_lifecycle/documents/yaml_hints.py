# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Hints for YAML syntax errors: the likely cause and what to write instead.

The parser's own messages differ by version and refer to its grammar. The hints mainly use the text
around the position of the error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import re
from typing import Any, NamedTuple

from .budget import TOO_DEEP

_BREAK = re.compile('\r\n|[\n\r\x85\u2028\u2029]')  #: line breaks of YAML
_TEMPLATE = re.compile(r"""(?<!['"{])\{\{""")
_PAIR = re.compile(r"""[^\s#'"][^#]*?:(\s|$)""")


class Trouble(NamedTuple):
    """The position of a syntax error and its context; positions from 0."""

    lines: Sequence[str]
    line: int
    column: int
    began: tuple[int, int]  #: start of the construct that was being read
    reading: str  #: name of that construct in the parser's message
    problem: str  #: the parser's message

    def line_at(self, number: int) -> str:
        """Return a line; '' after the last one."""
        return self.lines[number] if number < len(self.lines) else ''

    @property
    def text(self) -> str:
        """Return the line of the error."""
        return self.line_at(self.line)

    @property
    def before(self) -> str:
        """Return the text of that line before the error."""
        return self.text[:self.column]

    @property
    def indent(self) -> int:
        """Return the number of spaces by which that line is indented."""
        return len(self.text) - len(self.text.lstrip(' '))


class Hint(NamedTuple):
    """The message of a likely cause, with its line and column from 0."""

    line: int
    column: int
    message: str


def hint(text: str, error: Any) -> Hint:
    """Return the likely cause of a parser's error; if none is known, the parser's message."""
    mark = error.problem_mark
    began = error.context_mark or mark
    trouble = Trouble(_BREAK.split(text), mark.line, mark.column, (began.line, began.column),
                      error.context or '', error.problem)
    for rule in _RULES:
        found = rule(trouble)
        if found is not None:
            return found if isinstance(found, Hint) else Hint(mark.line, mark.column, found)
    context = f' ({error.context})' if error.context else ''
    return Hint(mark.line, mark.column, error.problem + context)


def is_template(text: str, start: int) -> bool:
    """Whether the mapping that begins at `start` is an unquoted template."""
    return start > 0 and text[start - 1:start + 1] == '{{'


UNQUOTED_TEMPLATE = "a template must be put in quotes: '{{ … }}'"


def _depth(at: Trouble) -> str | None:
    """Return the hint at the limit of 1000 levels that PyYAML has since 6.0.4."""
    return TOO_DEEP if 'maximum nesting depth' in at.problem else None


def _tab(at: Trouble) -> Hint | None:
    indent = at.text[:len(at.text) - len(at.text.lstrip())]
    if '\t' in indent:
        return Hint(at.line, indent.index('\t'),
                    'a tab indents this line; YAML indents with spaces')
    return None


def _template(at: Trouble) -> Hint | None:
    found = _TEMPLATE.search(at.before)
    return Hint(at.line, found.start(), UNQUOTED_TEMPLATE) if found else None


def _quote_not_closed(at: Trouble) -> Hint | None:
    if 'quoted scalar' not in at.reading:
        return None
    return Hint(*at.began, 'the quote that is opened here is not closed')


def _block_scalar(at: Trouble) -> Hint | None:
    if 'block scalar' not in at.reading:
        return None
    column = max(at.before.rfind('>'), at.before.rfind('|'))
    return _begins_with(at.line, max(column, 0), at.text)


def _first_character(at: Trouble) -> Hint | None:
    if 'scanning an anchor' in at.reading or 'scanning an alias' in at.reading \
            or 'scanning a tag' in at.reading:
        line, column = at.began
        return _begins_with(line, column, at.line_at(line))
    if 'cannot start any token' in at.problem and at.text[at.column:at.column + 1] != '\t':
        return _begins_with(at.line, at.column, at.text)
    return None


def _begins_with(line: int, column: int, text: str) -> Hint:
    return Hint(line, column,
                f"a text that begins with '{text[column:column + 1]}' must be put in quotes")


def _in_braces(at: Trouble) -> str | None:
    """Explain an error inside {…} or […]."""
    if 'flow mapping' not in at.reading and 'flow sequence' not in at.reading:
        return None
    opening = '{' if 'mapping' in at.reading else '['
    if at.began[0] < at.line and at.text[at.column:at.column + 1] != '[':
        return f"the '{opening}' that is opened in line {at.began[0] + 1} is not closed"
    if at.text[at.column:at.column + 1] in ('[', '{', ']', '}'):
        return "inside {…} and […], a text with '[', ']', '{', '}' or ',' must be put in quotes"
    return "inside {…} and […], entries are separated by ',', and a text with ': ' must be put " \
        'in quotes'


def _second_colon(at: Trouble) -> str | Hint | None:
    if 'mapping values are not allowed' not in at.problem:
        return None
    key = at.before.lstrip(' -')
    if _PAIR.match(key + ' ') and ': ' in key:
        return "a text with ': ' in it must be put in quotes"
    above = next((number for number in range(at.line - 1, -1, -1)
                  if at.line_at(number).strip()), None)
    if above is None:
        return None
    line = at.line_at(above)
    column = len(line) - len(line.lstrip(' '))
    if re.match(r'[\w-]+:\S', line.lstrip(' -')):
        return Hint(above, column, "a space must follow the ':' behind a key")
    return Hint(at.line, at.indent, (
        f'indented by {at.indent} spaces, but line {above + 1} above it, indented by {column}, '
        'has a value already'))


def _key_without_space(at: Trouble) -> Hint | None:
    if 'simple key' not in at.reading:
        return None
    line, column = at.began
    if re.match(r'[\w-]+:\S', at.line_at(line).strip()):
        return Hint(line, column, "a space must follow the ':' behind a key")
    return Hint(line, column, "expected 'key: value'")


def _dash(at: Trouble) -> str | None:
    if 'sequence entries are not allowed' not in at.problem:
        return None
    return "a list whose entries begin with '-' must begin in a line of its own"


def _behind_quotes(at: Trouble) -> str | None:
    if 'block mapping' not in at.reading or at.before.rstrip()[-1:] not in ('"', "'"):
        return None
    return 'the text goes on behind the closing quote: put all of it in quotes (a quote inside ' \
        "'…' is written twice)"


def _closes_nothing(at: Trouble) -> str | None:
    if 'block' in at.reading and at.text[at.column:at.column + 1] in ('}', ']'):
        return f"this '{at.text[at.column]}' closes nothing"
    return None


def _indented(at: Trouble) -> str | None:
    if 'parsing a block' not in at.reading or at.column != at.indent:
        return None
    line, column = at.began
    if column != at.column:
        return (f'indented by {at.column} spaces, which fits no block: the one around it begins '
                f'in line {line + 1}, indented by {column}')
    if 'collection' in at.reading or 'sequence' in at.reading:
        return f"expected '-', as in the list that begins in line {line + 1}; indent this line " \
            'less'
    return f"expected 'key: value', as in the mapping that begins in line {line + 1}"


_RULES: tuple[Callable[[Trouble], str | Hint | None], ...] = (
    _depth, _tab, _template, _quote_not_closed, _block_scalar, _first_character, _in_braces,
    _second_colon, _key_without_space, _dash, _behind_quotes, _closes_nothing, _indented)
