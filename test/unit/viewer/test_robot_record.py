# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The flows of a journal that grows, and of one that is replaced, damaged, old, or not there."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from action_lifecycle.documents.errors import LifecycleError
from action_lifecycle.flow import parse_edit
from action_lifecycle.journal import JournalError
from action_lifecycle.viewer.record import LocalRows, robot_record, RobotRecord
from action_lifecycle.viewer.record.questions import OpenQuestions
from action_lifecycle.viewer.record.shown import FLOW, STRUCTURE, Update
import pytest

from ..flow.changes import FLOW as CHAIN
from ..flow.robot import Clock, one, Process, Robot, Start
from ..flow.test_damaged_journal import alter

run = asyncio.run
NOTHING = Update()


def record_of(process: Process) -> RobotRecord:
    return RobotRecord(LocalRows(process.journal.path))


def test_new_rows_tell_what_they_change(start: Start, clock: Clock, robot: Robot) -> None:
    process = start()

    async def follow() -> None:
        record = record_of(process)
        assert (await record.update()).new_flows and await record.update() == NOTHING
        process.submit(CHAIN)
        update = await record.update()
        assert update.new_flows and not update.flows  # nobody looks at it
        flow = await record.flow('f')
        assert await record.update() == NOTHING
        clock.run(1.0)
        assert (await record.update()).flows == {'f': frozenset({'a', FLOW})}
        assert flow.shown('a').state == 'sensor_confirm'
        assert [(head.done, head.total) for head in await record.heads()] == [(0, 2)]
        process.orchestrator.edit(
            'f', parse_edit('- add: {c: {confirm: z > 0, after: a}}'), 'ann', '')
        assert STRUCTURE in (await record.update()).flows['f']
        clock.run()
        update = await record.update()
        assert update.new_flows and update.flows['f'] >= {'a', 'b', 'c', FLOW}
        (head,) = await record.heads()
        assert head == flow.head and head.state == 'FINISH' and head.done == 3

    run(follow())


def test_the_progress_of_a_flow_that_nobody_looks_at(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    process.submit(CHAIN)
    clock.run(1.5)

    async def follow() -> None:
        record = record_of(process)
        await record.update()
        (head,) = await record.heads()
        assert (head.name, head.file, head.ended, head.done, head.total) == (
            'f', 'f.yaml', None, 1, 2)
        clock.run(1.2)
        await record.update()
        assert [(head.state, head.done) for head in await record.heads()] == [('FINISH', 2)]

    run(follow())


def test_lists_the_newest_flows_first_page_by_page(start: Start, clock: Clock) -> None:
    process = start()
    for number in range(7):
        process.submit(one(), f'flow-{number}')
        clock.run()

    async def pages() -> list[str]:
        record, found = record_of(process), []
        before: int | None = None
        while heads := await record.heads(before, limit=3):
            found += [head.flow_id for head in heads]
            before = heads[-1].seq
        return found

    assert run(pages()) == [f'flow-{number}' for number in reversed(range(7))]


def test_flows_that_nobody_holds_are_forgotten(
    start: Start, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = start()
    for number in range(4):
        process.submit(one(), f'{number}')
    monkeypatch.setattr(robot_record, 'KEPT', 2)

    async def look() -> None:
        record = record_of(process)
        await record.update()
        held = await record.flow('0')
        for number in (1, 2, 3):
            await record.flow(str(number))
        assert sorted(record._flows) == ['0', '2', '3'] and await record.flow('0') is held
        clock.run()
        assert set((await record.update()).flows) == {'0', '3'}

    run(look())


def test_a_journal_that_is_not_there_yet(start: Start, tmp_path: Path) -> None:
    async def wait() -> None:
        record = RobotRecord(LocalRows(tmp_path / 'journal', 'arm'))
        assert 'journal' in (await record.update()).lost
        with pytest.raises(LifecycleError):
            await record.flow('f')
        process = start()
        process.submit(one())
        assert await record.update() == Update(new_flows=True)
        assert (await record.flow('f')).nodes().keys() == {'pick'}

    run(wait())


@pytest.mark.parametrize('flows', [1, 2, 3])  # fewer, as many, more rows than before
def test_a_journal_that_is_replaced(
    start: Start, clock: Clock, tmp_path: Path, flows: int
) -> None:
    process = start()
    for flow_id in ('f', 'g'):
        process.submit(one(), flow_id)
        clock.run()
    process.kill()
    other = Process(tmp_path / 'other', clock, Robot(clock))
    for flow_id in ('f', 'h', 'i')[:flows]:
        other.submit(CHAIN.replace('b:', 'other:') if flow_id == 'f' and flows == 1 else
                     one().replace('pick', 'other'), flow_id)
        clock.run()
    other.kill()

    async def replace() -> None:
        record = record_of(process)
        await record.update()
        flow, gone = await record.flow('f'), await record.flow('g')
        for end in ('-wal', '-shm', '.lock'):
            (tmp_path / f'journal{end}').unlink(missing_ok=True)
        (tmp_path / 'other').rename(tmp_path / 'journal')
        update = await record.update()
        assert update.new_flows and not update.lost
        assert update.flows == dict.fromkeys(('f', 'g'), frozenset({STRUCTURE, FLOW}))
        assert 'other' in flow.nodes() and flow.shown('other').outcome == 'succeeded'
        assert not gone.nodes() and not gone.seqs()
        assert await record.update() == NOTHING

    run(replace())


def test_a_journal_that_is_deleted_and_comes_back(
    start: Start, clock: Clock, tmp_path: Path
) -> None:
    process = start()
    process.submit(one())
    process.journal.close()

    async def lose() -> None:
        record = record_of(process)
        await record.update()
        flow = await record.flow('f')
        path = tmp_path / 'journal'
        path.rename(tmp_path / 'away')
        assert str(path) in (await record.update()).lost
        assert flow.nodes().keys() == {'pick'}  # what was read is still shown
        (tmp_path / 'away').rename(path)
        assert await record.update() == NOTHING

    run(lose())


def test_damaged_rows_are_left_out_and_said(start: Start, clock: Clock) -> None:
    process = start()
    process.submit(CHAIN)
    clock.run()
    (ended,) = [row for row in process.journal.rows(action_id='a') if row.final]
    process.kill()
    alter(process, ended.seq, 'data_json', '{"outcome": "failed"}')

    async def look() -> RobotRecord:
        record = record_of(process)
        assert not (await record.update()).lost and not record.damage
        flow = await record.flow('f')
        assert flow.shown('a').state == 'completed' and flow.shown('b').outcome == 'succeeded'
        assert await record.update() == Update(new_flows=True)  # so that pages say it
        assert await record.update() == NOTHING
        return record

    assert f'row {ended.seq} does not have the content' in run(look()).damage


def test_a_file_that_is_no_journal_is_said(tmp_path: Path) -> None:
    (tmp_path / 'journal').write_text('not a journal, but long enough for a header of one' * 9)
    assert 'damaged' in run(RobotRecord(LocalRows(tmp_path / 'journal')).update()).lost


def test_open_questions_and_answers(start: Start, clock: Clock, robot: Robot) -> None:
    robot.verdicts['pick', 'confirm'] = ['refuted']
    process = start()
    process.submit(one(', fallback: [{strategy: ask, question: "What now?"}]'))
    clock.run()

    async def follow() -> None:
        record = record_of(process)
        await record.update()
        (question,) = record.questions()
        assert (question.flow_id, question.action_id, question.question) == (
            'f', 'pick', 'What now?')
        assert set(question.options) == {'retry', 'give_up'}
        flow = await record.flow('f')
        asked = [bar for bar in flow.bars() if bar.kind == 'question']
        assert [(bar.name, bar.end) for bar in asked] == [('operator', None)]
        process.desk.respond(question.id, 'retry', 'ann')
        clock.run()
        await record.update()
        assert not record.questions() and flow.shown('pick').outcome == 'succeeded'
        assert [attempt.path for attempt in flow.attempts('pick')] == ['', 'operator']

    run(follow())


def test_an_answered_question_is_closed_before_the_action_goes_on(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.verdicts['pick', 'confirm'] = ['refuted']
    process = start()
    process.submit(one(', fallback: [{strategy: ask}]'))
    clock.run()
    (request,) = process.desk.open
    process.desk.respond(request, 'give_up', 'ann')
    questions = OpenQuestions()
    changed = [(row.event, len(questions.open())) for row in process.journal.rows()
               if questions.take(row)]
    assert changed == [('question_asked', 1), ('question_answered', 0)]


def test_a_journal_that_is_replaced_while_it_can_not_be_read(
    start: Start, clock: Clock, tmp_path: Path
) -> None:
    process = start()
    process.submit(CHAIN)
    clock.run()
    process.kill()
    other = Process(tmp_path / 'other', clock, Robot(clock))
    other.submit(one())
    other.kill()

    class Failing(LocalRows):
        fails = False

        async def flows(self, **options: Any) -> Any:
            if self.fails:
                raise JournalError('no network')
            return await super().flows(**options)

    async def replace() -> None:
        source = Failing(process.journal.path)
        record = RobotRecord(source)
        flow = await record.flow('f')  # before the first update
        assert (await record.update()).flows.keys() == {'f'}
        (tmp_path / 'other').rename(tmp_path / 'journal')
        source.fails = True
        assert (await record.update()).lost == 'no network'
        source.fails = False
        assert (await record.update()).flows == {'f': frozenset({STRUCTURE, FLOW})}
        assert flow.nodes().keys() == {'pick'} and await record.update() == NOTHING

    run(replace())
