# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Sessions whose tasks return binary data, and input that has the form of binary data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from action_lifecycle.invoke import LocalEngine, WireError
import pytest

from .rig import Agent, Rig, run

PICTURE = {'$bytes': 'YWJj'}


def look(given: Any) -> Any:
    return {'picture': b'abc'} if given != 'plain' else b'abc'


def size(given: Any) -> int:
    return len(given if isinstance(given, bytes) else given['picture'])


GRAPH = f"""\
initial: ask
states:
  ask: {{type: user}}
  look: {{type: invoker, done: found, invoke: '{__name__}:look'}}
  size: {{type: invoker, done: judged, invoke: '{__name__}:size'}}
transitions:
- {{event: note, from: ask, to: ask}}
- {{event: look, from: ask, to: look}}
- {{event: found, from: look, to: size}}
- {{event: judged, from: size, to: ask}}
- {{event: back, from: [look, size], to: ask}}
"""


def opened(path: Path) -> Rig:
    rig = Rig(path, Agent(), engine=LocalEngine(1, 30.0))
    rig.sessions.restore()
    if 'one' not in rig.sessions.open:
        rig.begin(GRAPH, session_id='one')
    return rig


@pytest.mark.parametrize('given, found', [('plain', PICTURE), ('', {'picture': PICTURE})])
def test_binary_data_of_a_task_reaches_the_next_task_and_is_json_in_the_context(
    tmp_path: Path, given: str, found: Any
) -> None:
    async def main() -> None:
        rig = opened(tmp_path / 'journal')
        await rig.sessions.send('one', 'look', given)
        await rig.until('one', lambda status: status.step == 4 and status.status == 'waiting')
        view = rig.sessions.view('one')
        assert view.context == [given, found, 3]
        assert not view.status.error_msg
        await rig.close()
        rig = opened(tmp_path / 'journal')
        assert rig.sessions.view('one').context == view.context
        await rig.sessions.send('one', 'cancel')
        assert rig.sessions.view('one').context == view.context
        await rig.close()
    run(main())


def test_input_in_the_form_of_binary_data_is_the_same_after_a_restart(tmp_path: Path) -> None:
    async def main() -> None:
        rig = opened(tmp_path / 'journal')
        await rig.sessions.send('one', 'note', PICTURE)
        assert rig.sessions.view('one').context == [PICTURE]
        await rig.close()
        rig = opened(tmp_path / 'journal')
        assert rig.sessions.view('one').context == [PICTURE]
        assert (await rig.sessions.send('one', 'cancel'))[1].status == 'canceled'
        await rig.close()
    run(main())


@pytest.mark.parametrize('text', ['***', 5, None])
def test_input_that_no_task_could_read_is_refused_before_it_is_recorded(
    tmp_path: Path, text: Any
) -> None:
    async def main() -> None:
        rig = opened(tmp_path / 'journal')
        rows = rig.journal.last_seq()
        with pytest.raises(WireError, match="event 'note': actor_input: .*expected base64"):
            await rig.sessions.send('one', 'note', [{'$bytes': text}])
        assert rig.journal.last_seq() == rows
        await rig.sessions.send('one', 'note', 'a cup')
        assert rig.sessions.view('one').context == ['a cup']
        await rig.close()
        rig = opened(tmp_path / 'journal')
        assert not rig.sessions.aside and rig.sessions.view('one').context == ['a cup']
        await rig.close()
    run(main())
