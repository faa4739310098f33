# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A journal that an earlier version has written is opened and its flows are resumed."""

from __future__ import annotations

import gzip
from pathlib import Path

from action_lifecycle.dialogue import FlowDialogues
from action_lifecycle.dialogue.flow_dialogue import dialogue_rows, entries_of
from action_lifecycle.flow import parse_flow
from action_lifecycle.flow.jobs.jobs import Jobs
from action_lifecycle.journal import verify_journal
from action_lifecycle.lifecycle.states import ActionState

from .robot import Clock, Robot, Start

WRITTEN = Path(__file__).parent / 'journal_of_november_2026.gz'
"""A journal with open and ended flows, an edit, questions, dialogues, a lock and jobs."""
KILLED_AT = 1048.0


def test_everything_open_is_resumed(
    start: Start, clock: Clock, robot: Robot, tmp_path: Path
) -> None:
    (tmp_path / 'journal').write_bytes(gzip.decompress(WRITTEN.read_bytes()))
    clock.time = KILLED_AT
    robot.by_hand.add('motion')
    process = start()
    orchestrator = process.orchestrator
    dialogues = FlowDialogues(process.journal, clock, process.desk)
    orchestrator.extensions.append(dialogues)
    jobs = Jobs(orchestrator, lambda: clock.time, lambda run, refused: None if orchestrator.submit(
        parse_flow(run.order['text'], 'job.yaml'), run.flow_id) else None)
    assert not verify_journal(process.journal.path)
    moving, asking = orchestrator.restore()
    jobs.restore()

    assert (moving.flow_id, moving.priority, moving.state) == ('moving', 2, 'CONTINUE')
    assert moving.origin == {'kind': 'request', 'request': 'Bring the cup'}
    assert [edit['names'] for edit in moving.edits] == [['check', 'place']]
    assert moving.flow.actions['place'].description == 'softly'
    assert {action.action_id: action.state.value for action in moving.actions} == {
        'look': 'terminated', 'pick': 'executing_motion', 'place': 'assigned',
        'later': 'assigned', 'check': 'assigned'}
    assert orchestrator.resources.holders == {'arm': ('moving', 'pick')}
    assert orchestrator.resources.locked == {'leg': 'stuck/lift was not seen to stop'}
    (motion,) = robot.motions
    assert motion.request.resume and motion.request.goal_id

    (request,) = process.desk.open.values()
    assert request.question.flow_id == 'asking' and request.asked_at < KILLED_AT
    assert asking.runners['grasp'].action.attempt == 2
    rows = [row.event for row in process.journal.rows(flow_id='asking', kind='note')]
    said = list(entries_of(dialogue_rows(process.journal, 'asking')))
    assert rows.count('question_asked') == 2 and len(said) == 3  # nothing is asked twice
    assert list(jobs.jobs) == ['moving/later', 'daily'] and not jobs.aside.reasons

    motion.end()
    clock.run(2.0)
    robot.motions[-1].end()
    process.desk.respond(request.id, 'give_up', 'anna')
    clock.run(200.0)
    assert (moving.state, asking.state) == ('FINISH', 'FAIL')
    assert moving.runners['later'].action.attempt == 3
    assert all(action.state is ActionState.TERMINATED for action in moving.actions)
    assert orchestrator.runs['daily.2'].state == 'FINISH'
    assert not verify_journal(process.journal.path)
