# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Sessions of a journal with damaged rows, or with rows after the end of a session."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
import sqlite3
import threading
from typing import Any

from action_lifecycle.journal import Entry
from action_lifecycle.journal.row import ALTERED
import pytest

from .rig import Agent, Rig, run

ASK = """\
initial: ask
states:
  ask: {type: user}
  bye: {type: terminal}
transitions:
  - {event: do, from: ask, to: ask}
  - {event: bye, from: ask, to: bye}
"""


def change(path: Path, sql: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute(sql).rowcount == 1
        connection.commit()


@pytest.mark.parametrize('altered, event, reason', [
    ("data_json = replace(data_json, 'hello', 'hullo')", 'moved', ALTERED),
    ("data_json = '['", 'moved', 'data that are not JSON'),
    ("data_json = '['", 'opened', 'data that are not JSON'),
    ("action_id = 'x'", 'moved', ALTERED),
    ("actor = 'x'", 'dialogue', ALTERED),
    ("actor = 'x'", 'failed', ALTERED)])
def test_a_damaged_row_sets_only_its_session_aside(
    tmp_path: Path, altered: str, event: str, reason: str
) -> None:
    async def main() -> None:
        rig = Rig(tmp_path / 'journal', Agent())
        rig.begin(ASK, session_id='old')
        await rig.sessions.send('old', 'bye')
        for name in ('one', 'two'):
            rig.begin(ASK, session_id=name)
        await rig.sessions.send('one', 'do', 'hello', 'anna')
        rig.sessions.open['one'].write('failed', {'error': 'the last row'})
        await rig.close()
        change(tmp_path / 'journal', f"UPDATE entry SET {altered} WHERE flow_id = 'one' "
               f"AND event = '{event}'")
        rig = Rig(tmp_path / 'journal', Agent())
        rig.sessions.restore()
        assert list(rig.sessions.open) == ['two'] and list(rig.sessions.ended) == ['old']
        assert reason in rig.sessions.aside['one'] and list(rig.sessions.aside) == ['one']
        await rig.sessions.send('two', 'bye')
        await rig.end('two')
        await rig.close()
    run(main())


@pytest.mark.parametrize('change_of', ["data_json = '['", "actor = 'x'"])
def test_a_damaged_end_is_left_out(tmp_path: Path, change_of: str) -> None:
    async def main() -> None:
        rig = Rig(tmp_path / 'journal', Agent())
        for name in ('one', 'two'):
            rig.begin(ASK, session_id=name)
        await rig.sessions.send('one', 'bye')
        await rig.close()
        change(tmp_path / 'journal', f"UPDATE entry SET {change_of} WHERE event = 'ended'")
        rig = Rig(tmp_path / 'journal', Agent())
        rig.sessions.restore()
        assert list(rig.sessions.open) == ['two'] and not rig.sessions.ended
        await rig.close()
    run(main())


def test_no_row_of_a_task_follows_the_end(tmp_path: Path) -> None:
    async def main() -> None:
        rig = Rig(tmp_path / 'journal', Agent())
        rig.begin(ASK, session_id='one')
        session = rig.sessions.open['one']
        appending, original = threading.Event(), rig.journal.append

        def append(entry: Entry) -> Any:
            if entry.event == 'task_sent':  # of a thread that has passed all checks
                appending.set()
                threading.Event().wait(0.3)
            return original(entry)
        rig.journal.append = append  # type: ignore[method-assign]
        task = asyncio.ensure_future(asyncio.to_thread(
            session.write, 'task_sent', {'run': 'r', 'task': '0'}))
        await asyncio.to_thread(appending.wait)
        await rig.sessions.send('one', 'cancel')
        await asyncio.wait([task])
        events = [row.event for row in rig.journal.rows()]
        assert events[-1] == 'ended' and 'task_sent' in events
        await rig.close()
    run(main())


def test_rows_after_the_end_do_not_revive_a_session(tmp_path: Path) -> None:
    async def main() -> None:
        rig = Rig(tmp_path / 'journal', Agent())
        rig.begin(ASK, session_id='one')
        await rig.sessions.send('one', 'bye')
        rig.journal.append(Entry('session', 'one', 'session', event='task_sent',
                                 data={'run': 'r', 'task': '0'}))
        await rig.close()
        rig = Rig(tmp_path / 'journal', Agent())
        rig.sessions.restore()
        assert not rig.sessions.open and not rig.sessions.aside
        assert rig.sessions.status('one').status == 'ended'
        await rig.close()
    run(main())
