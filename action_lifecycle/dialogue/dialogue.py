# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Records the dialogue of user and assistant during the transitions of a machine.

A state of type `invoker` is left when its work ends, any other state by an event of the user. Each
state may have a `template`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Iterable, Mapping
from enum import Enum
import time
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import jinja2

from .text import as_text, presentable, verbatim
from ..documents.errors import LifecycleError
from ..documents.suggestions import nearest
from ..documents.templates.language import MAX_TEMPLATE, parsed
from ..documents.templates.template import render, TemplateError
from ..graphs.graph import Graph

MAX_ENTRY = 65_536
"""Maximum length of an entry, in characters."""
MAX_ENTRIES = 1000
"""Maximum number of entries; the oldest are dropped first."""

Party = Literal['user', 'invoker']


class Persistence(str, Enum):
    """What a transition records in the dialogue."""

    NONE = 'NONE'          #: nothing
    RAW = 'RAW'            #: the user's input, unchanged
    RENDERED = 'RENDERED'  #: the rendered template of the target state


DEFAULTS: Mapping[tuple[Party, Party], Persistence] = {
    ('user', 'user'): Persistence.RENDERED,
    ('user', 'invoker'): Persistence.RAW,
    ('invoker', 'user'): Persistence.RENDERED,
    ('invoker', 'invoker'): Persistence.NONE,
}


class DialogueEntry(NamedTuple):
    """One entry of the dialogue."""

    stamp: float  #: s of the dialogue's clock
    state: str    #: the state that was entered
    actor: str    #: `user` or `assistant`
    persistence: Persistence
    text: str


class DialogueError(LifecycleError):
    """An input is not valid, or a template can't be rendered."""


class Dialogue:
    """
    A listener that records a dialogue; it must be the first listener of its machine.

    `before_transition` sets `transition_type`, `actor`, `dialogue_persistence`, `actor_input` (the
    data of the event) and `current_template` (of the target). Hooks may change these until
    `after_transition`, which renders the template, sets `output` and records the entry.

    Templates may read `actor_input`, `dialogue` (a list of actor and text), `state`, and the names
    that `names()` returns. `templates`: replacements for those of the graph, by state. `entries`:
    entries from before a restart. `recorded(entry)` is called before an entry is added; if it
    raises, the entry is not added. `works`: the states that end by themselves, by default those
    of type `invoker` or with the field `party: invoker`; events of the user end the others.
    """

    def __init__(
        self,
        graph: Graph,
        *,
        templates: Mapping[str, str] = MappingProxyType({}),
        names: Callable[[], Mapping[str, Any]] = dict,
        entries: Iterable[DialogueEntry] = (),
        recorded: Callable[[DialogueEntry], object] | None = None,
        clock: Callable[[], float] = time.time,
        works: Container[str] | None = None,
    ) -> None:
        self._works = works
        self._templates = {
            name: templates.get(name, state.config.get('template'))
            for name, state in graph.states.items()}
        _check_templates(graph.name, self._templates)
        self.actor = 'user'
        self.actor_input: Any = None
        self.current_template: Any = None
        self.transition_type: tuple[Party, Party] = ('user', 'user')
        self.output = ''
        """The output of the last transition for the user."""
        self._persistence = Persistence.NONE
        self._entries = deque(entries, maxlen=MAX_ENTRIES)
        self._graph = graph
        self._names = names
        self._recorded = recorded
        self._clock = clock

    @property
    def entries(self) -> tuple[DialogueEntry, ...]:
        """Return the entries, oldest first."""
        return tuple(self._entries.copy())

    @property
    def names(self) -> Mapping[str, Any]:
        """Return the further names of templates, such as `context` and `session` of a session."""
        return self._names()

    @property
    def dialogue_persistence(self) -> Persistence:
        """Return the persistence of the current transition; can be set, also by name."""
        return self._persistence

    @dialogue_persistence.setter
    def dialogue_persistence(self, value: Persistence | str) -> None:
        try:
            self._persistence = Persistence(value)
        except ValueError:
            raise DialogueError(f"no persistence is called '{value}'"
                                + nearest(str(value), Persistence.__members__)) from None

    def greet(self, state: str) -> None:
        """Record the template of the initial state."""
        self.current_template = self._templates[self._graph.state(state).name]
        if self._party(state) == 'user' and self.current_template is not None:
            self.actor = 'assistant'
            self.output = self._rendered(state)
            self._record(state, Persistence.RENDERED, self.output)

    def validators(self, source: str, actor_input: Any = None, sender: str = '') -> None:
        """Raise `DialogueError` before the transition if an input is too long for an entry."""
        if (sender or self._party(source)) == 'user' and isinstance(actor_input, str) \
                and len(actor_input) > MAX_ENTRY:
            raise DialogueError(f'actor_input has {len(actor_input)} characters, '
                                f'at most {MAX_ENTRY} are taken')

    def before_transition(
        self, source: str, target: str, actor_input: Any = None,
        sender: Literal['', 'user', 'invoker'] = '',
    ) -> None:
        """
        Set the defaults for this type of transition.

        `sender`: the party that sent the event, if it is not the party of the source state: `user`
        after work has failed, or `invoker` if the robot asks another question.
        """
        self.actor_input = actor_input
        self.current_template = self._templates[target]
        party: Party = sender or self._party(source)
        self.transition_type = (party, self._party(target))
        self.actor = 'assistant' if self.transition_type[0] == 'invoker' else 'user'
        self.dialogue_persistence = DEFAULTS[self.transition_type]

    def after_transition(self, target: str) -> None:
        """Record the entry and set `output`."""
        persistence, to_user = self.dialogue_persistence, self.transition_type[1] == 'user'
        self.output = kept = ''
        if to_user or persistence is Persistence.RENDERED:
            self.output = kept = self._rendered(target)
        if persistence is Persistence.RAW:
            kept = verbatim(self.actor_input)
        elif persistence is Persistence.NONE:
            kept = ''
        if not to_user:
            self.output = kept
        if kept:
            self._record(target, persistence, kept)

    def _party(self, state: str) -> Party:
        """Return the party that sends the events of a state, by its field `party` or its type."""
        found = self._graph.states[state]
        works = found.config.get('party', found.type) == 'invoker' if self._works is None \
            else state in self._works
        return 'invoker' if works else 'user'

    def _rendered(self, state: str) -> str:
        typed = self.actor == 'user'
        if self.current_template is None:
            return _cut(verbatim(self.actor_input) if typed
                        else as_text(presentable(self.actor_input, typed)))
        said = [{'actor': entry.actor, 'text': entry.text} for entry in self._entries]
        names = {**self._names(), 'actor_input': presentable(self.actor_input, typed),
                 'dialogue': said, 'state': state}
        try:
            return _cut(as_text(render(self.current_template, names)))
        except TemplateError as error:
            raise DialogueError(f"state '{state}': {error}") from error

    def _record(self, state: str, persistence: Persistence, text: str) -> None:
        entry = DialogueEntry(self._clock(), state, self.actor, persistence, _cut(text))
        if self._recorded is not None:
            self._recorded(entry)
        self._entries.append(entry)


def _cut(text: str) -> str:
    if len(text) <= MAX_ENTRY:
        return text
    mark = f'… [{len(text)} characters]'
    return text[:MAX_ENTRY - len(mark)] + mark


def _check_templates(graph: str, templates: Mapping[str, Any]) -> None:
    """Raise `DialogueError` for templates that are no string, too long, or not valid."""
    faults = []
    for state, template in templates.items():
        where = f"graph '{graph}', state '{state}': template"
        if template is None:
            continue
        if not isinstance(template, str) or len(template) > MAX_TEMPLATE:
            faults.append(f'{where}: expected a text of at most {MAX_TEMPLATE} characters')
            continue
        try:
            parsed(template)
        except jinja2.TemplateSyntaxError as error:
            faults.append(f'{where}, line {error.lineno}: {error.message}')
        except (ValueError, RecursionError) as error:
            faults.append(f'{where}: {error}')
    if faults:
        raise DialogueError('\n'.join(faults))
