# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Who chooses the next state, what they are told, and what becomes of bad answers."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from action_lifecycle.engine import (
    by_priority,
    ByRule,
    Choice,
    ChoiceError,
    Chooser,
    first_ready,
    Session,
)
import pytest

from .walking import handler, May, walk

FORK = """\
a:
  type: decision
  transition: {next: [left, right]}
left: {type: terminal, description: Go left}
right: {type: terminal, description: Go right}
"""


def test_single_way_out_asks_nobody() -> None:
    def chooser(choice: Choice) -> str:
        raise AssertionError('asked')

    result = walk('a: {type: decision, transition: {next: [b]}}\nb: {type: terminal}\n',
                  chooser=chooser)
    assert (result.reason, result.state, result.steps) == ('terminal', 'b', 1)


def test_chooser_sees_names_descriptions_and_a_schema_that_admits_only_them() -> None:
    seen: list[Choice] = []

    def chooser(choice: Choice) -> str:
        seen.append(choice)
        return 'right'

    assert walk(FORK, ['hello'], chooser=chooser).state == 'right'
    choice, = seen
    assert choice.names == ('left', 'right')
    assert choice.descriptions == ('Go left', 'Go right')
    assert choice.context == ['hello']
    jsonschema = pytest.importorskip('jsonschema')
    accepts = jsonschema.Draft202012Validator(choice.schema).is_valid
    assert accepts({'next_state': 'left'}) and accepts({'next_state': 'right'})
    assert not accepts({'next_state': 'a'}) and not accepts({}) and not accepts('left')


async def _too_late(choice: Choice) -> str:
    await asyncio.sleep(60)
    return 'left'


def _fails(choice: Choice) -> str:
    raise OSError('no service')


BAD_CHOOSERS: list[Chooser] = [
    lambda choice: 'a', lambda choice: None, lambda choice: 5, lambda choice: '5',
    lambda choice: '{"next_state": ', lambda choice: '{"next_state": ' * 100_000,
    lambda choice: {'next_state': 'up'}, lambda choice: ['left'], _too_late, _fails,
    lambda choice: 'LEFT',
]


@pytest.mark.parametrize('chooser', BAD_CHOOSERS)
def test_answer_that_can_not_be_used_leads_to_the_default_or_is_an_error(
    chooser: Chooser
) -> None:
    for text, default in ((FORK, False), (FORK.replace(']}', '], default: right}'), True)):
        session = Session(handler(text), chooser=chooser, choice_timeout=0.02)
        if default:
            assert asyncio.run(session.run()).state == 'right'
        else:
            with pytest.raises(ChoiceError) as caught:
                asyncio.run(session.run())
            assert caught.value.names == ('left', 'right')
            assert session.machine.state == 'a'


@pytest.mark.parametrize('answer', [
    'right', {'next_state': 'right'}, json.dumps({'next_state': 'right'})])
def test_structured_and_plain_answers_are_taken(answer: Any) -> None:
    async def chooser(choice: Choice) -> Any:
        return answer

    assert walk(FORK, chooser=chooser).state == 'right'


def test_nobody_to_ask_is_an_error() -> None:
    with pytest.raises(ChoiceError, match='there is nobody to ask; to choose from: left, right'):
        walk(FORK)


def test_agent_that_chooses_is_asked_as_the_seed_does() -> None:
    class Chooses:
        async def choose_transition(self, transitions: Any, messages: Any) -> str:
            assert transitions == {'tt': ['left', 'right'], 'td': ['Go left', 'Go right']}
            return 'left'

    assert walk(FORK, [], Chooses()).state == 'left'


LISTED = """\
initial: a
states: {a: {type: decision}, b: {type: terminal}, c: {type: terminal}, d: {type: terminal}}
transitions:
  - {event: to_b, from: a, to: b, cond: may_b}
  - {event: to_c, from: a, to: c}
  - {event: to_d, from: a, to: d, priority: 5, description: The best}
"""


def test_built_in_choosers() -> None:
    may = May()
    assert walk(LISTED, [], may, chooser=first_ready).state == 'c'
    may.may_b = True
    assert walk(LISTED, [], may, chooser=first_ready).state == 'b'
    assert walk(LISTED, [], may, chooser=by_priority).state == 'd'
    rule = ByRule({'b': lambda context: 'bee' in context, 'c': lambda context: 'sea' in context})
    assert walk(LISTED, ['sea'], may, chooser=rule).state == 'c'
    with pytest.raises(ChoiceError, match='the answer is None'):
        walk(LISTED, ['sky'], may, chooser=rule)


def test_description_of_a_transition_goes_before_that_of_its_target() -> None:
    assert handler(LISTED).get_transitions('a')['td'] == ['', '', 'The best']


def test_state_may_be_left_only_by_an_edge_that_its_guards_admit() -> None:
    text = """\
initial: move
states:
  move: {type: motion, motion: {}, succeeded: b, failed: c}
  b: {type: terminal}
  c: {type: terminal}
transitions:
  - {event: ok, from: move, to: b}
  - {event: bad, from: move, to: c, cond: may_b}
"""

    class Agent(May):

        def execute_motion(self, motion: Any, context: Any) -> bool:
            return False

    with pytest.raises(ChoiceError, match="it decided on 'c'; to choose from: b"):
        walk(text, [], Agent())
