# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The judge of a soak finds each thing that it looks for, in journals and logs made by hand."""

from __future__ import annotations

from dataclasses import replace
import json
from pathlib import Path
import sqlite3
from typing import Any

import pytest

from .judged import Change, COLUMNS, read_journal, read_log
from .story import FLOW, GOAL, good, OTHER, sent, Story


def test_a_flow_as_it_should_be_has_no_violation() -> None:
    assert good().kinds() == []


def test_a_gap_a_duplicate_and_a_row_that_does_not_follow_are_found() -> None:
    story = good()
    del story.rows[-1]
    story.rows[-1:] = [replace(story.rows[-1], seq=story.rows[-1].seq + 1)]
    assert 'sequence' in story.kinds()
    story = good()
    story.rows.insert(1, story.rows[0])
    assert 'sequence' in story.kinds()
    story = good()
    story.rows[3] = replace(story.rows[3], hash='another')
    assert story.kinds() == ['sequence']


def test_a_change_from_another_state_than_the_one_before_ended_in_is_found() -> None:
    story = good()
    story.rows[2] = replace(story.rows[2], from_state='error')
    assert story.kinds() == ['history']


def test_a_motion_that_no_row_knows_or_that_came_before_its_row_is_found() -> None:
    story = good()
    story.moves(OTHER).stands(OTHER)
    assert story.kinds() == ['unknown motion']
    story = Story().flow().begin().moves().execute().stands().done().confirmed().never('b').over()
    assert story.kinds() == ['unknown motion']


def test_the_steps_of_a_motion_are_known_by_its_one_goal_id() -> None:
    story = good()
    story.lines += [{**line, 'goal': sent(GOAL, 1), 'resource': 'right', 'boot': line['boot'] + .1}
                    for line in story.lines]
    assert story.kinds() == []


def test_a_goal_that_is_executed_twice_is_found() -> None:
    story = good()
    story.lines.insert(1, story.lines[0])
    assert story.kinds() == ['executed twice']


def test_two_motions_at_once_on_a_resource_are_found() -> None:
    story = Story().flow().begin().begin('b', 'right').execute().execute('b', OTHER)
    story.moves().moves(OTHER).stands().stands(OTHER).done().done('b')
    story.confirmed().confirmed('b').over()
    assert story.kinds() == ['two at once']
    story.lines = [{**line, 'resource': 'right'} if line['goal'] == sent(OTHER) else line
                   for line in story.lines]
    assert story.kinds() == []


@pytest.mark.parametrize('locked', [False, True])
def test_a_motion_that_outlives_its_action_is_found_unless_locked(locked: bool) -> None:
    story = Story().flow().begin().execute().moves().fails(error_code='STOP_UNCONFIRMED')
    if locked:
        story.add('lock', 'lock', 'left', flow='')
    story.ended().stands().never('b').over()
    assert story.kinds() == ([] if locked else ['outlives its end'])


def test_a_lock_that_was_taken_away_before_the_end_does_not_count() -> None:
    story = Story().flow()
    story.add('lock', 'lock', 'left', flow='')
    story.unlock()
    story.begin().execute().moves().fails(error_code='MOTION_ABORTED').ended()
    story.stands().never('b').over()
    assert story.kinds() == ['outlives its end']


def test_a_resource_that_is_given_away_under_a_motion_is_found_unless_unlocked() -> None:
    def story(unlocked: bool) -> Story:
        story = Story().flow().begin().execute().moves().fails(error_code='STOP_UNCONFIRMED')
        story.add('lock', 'lock', 'left', flow='')
        story.ended()
        if unlocked:
            story.unlock()
        story.begin('b').stands()
        return story.fails('b', error_code='REFUTED').ended('b').over()

    assert story(unlocked=False).kinds() == ['given away']
    assert story(unlocked=True).kinds() == []


@pytest.mark.parametrize('resource', ['left', 'right'])
@pytest.mark.parametrize('unlocked', [False, True])
def test_a_goal_that_is_sent_while_a_motion_uses_its_resource_is_found(
    unlocked: bool, resource: str
) -> None:
    story = Story().flow().begin().execute().moves().fails(error_code='MOTION_ABORTED')
    if unlocked:
        story.unlock()
    story.add('transition', 'retry', 'a', to='in_progress')
    story.execute(goal=OTHER).line('asked', sent(OTHER), resource)
    story.stands().moves(OTHER, resource).stands(OTHER, resource)
    story.done().confirmed().never('b').over()
    assert story.kinds() == ([] if unlocked else ['sent in motion'])


def again(*, sensors: str = '', person: bool = False, event: str = 'execute',
          interrupted: bool = True, code: str = 'INTERRUPTED') -> list[str]:
    """Return what is found of an action that moves once more after its motion was lost."""
    story = Story().flow().begin().execute().moves().stands()
    story.done(interrupted=interrupted)
    if event == 'repeat_motion':
        story.execute(goal=OTHER, event=event, sensors_said=sensors)
    else:
        story.fails(error_code=code, **({'sensors_said': sensors} if sensors else {}))
        if person:
            story.add('transition', 'request_fallback', 'a', to='fallback_requested')
            story.note('question_asked', 'a', id='q')
            story.note('question_answered', 'a', id='q', answer='retry')
            story.add('transition', 'receive_fallback', 'a', to='fallback_received',
                      actor='ann', answer='retry')
            story.add('transition', 'apply_fallback', 'a', to='in_progress')
        else:
            story.add('transition', 'retry', 'a', to='in_progress')
        story.execute(goal=OTHER)
    story.moves(OTHER).stands(OTHER).done().confirmed().never('b').over()
    return story.kinds()


def test_a_motion_that_is_repeated_blindly_is_found() -> None:
    assert again() == ['blind repeat']
    assert again(sensors='refuted') == ['blind repeat']  # policy says ask, and nobody was asked
    assert again(event='repeat_motion') == ['blind repeat']
    assert again(sensors='failed', code='GOAL_UNKNOWN') == ['blind repeat']
    assert again(sensors='refuted', code='GOAL_UNKNOWN') == []  # on_resume: confirm, then retry
    assert again(sensors='refuted', event='repeat_motion') == []
    assert again(sensors='refuted', person=True) == []
    assert again(interrupted=False) == []  # the server has told of its end


def test_a_motion_again_without_a_word_of_the_one_before_is_found() -> None:
    story = Story().flow().begin().execute().moves().stands()
    story.rows.append(replace(story.rows[-1], seq=len(story.rows) + 1,
                              from_state='executing_motion', data={'goal_id': OTHER},
                              prev_hash=story.rows[-1].hash, hash='more'))
    assert 'blind repeat' in story.kinds()


def test_a_success_elsewhere_and_one_without_evidence_are_found() -> None:
    story = Story().flow().begin().execute().moves().stands(position=0.1).done().confirmed() \
        .never('b').over()
    assert story.kinds() == ['not at its target']
    story = Story().flow().begin().execute().moves().stands().done().confirmed(evidence=()) \
        .never('b').over()
    assert story.kinds() == ['no evidence']


@pytest.mark.parametrize(('kind', 'fields'), [
    ('flow', {'flow_id': 'another'}), ('cancel_action', {'flow_id': 'f', 'action_id': 'a'}),
    ('edit', {'flow_id': 'f', 'seq': 3}), ('retry', {'flow_id': 'f', 'action_id': 'a'}),
    ('answer', {'flow_id': 'f', 'question': 'q', 'answer': 'retry'}), ('clear_stop', {}),
    ('unlock', {'resources': ['left']})])
def test_an_order_that_was_accepted_and_has_no_row_is_found(
    kind: str, fields: dict[str, Any]
) -> None:
    story = good().ordered(kind, **fields)
    assert set(story.kinds()) == {'half an order'}
    story.orders[0].accepted = False
    assert story.kinds() == []
    story.orders[0].accepted = None
    assert story.kinds() == []


def test_a_cancel_of_a_flow_without_a_row_is_found_unless_it_had_ended() -> None:
    story = good().ordered('cancel_flow', flow_id='f')
    assert story.kinds() == []
    story.orders[0].answered = 101.0
    assert story.kinds() == ['half an order']


@pytest.mark.parametrize('note', ['cancel_flow', 'cancel_action'])
def test_what_goes_on_after_its_cancel_is_found(note: str) -> None:
    story = Story().flow().begin()
    story.note(note)
    story.rows[-1] = replace(story.rows[-1], data={'action': 'a'})
    moved = story.execute().moves().stands().done().confirmed().never('b').over()
    assert 'half an order' in moved.kinds()


def test_an_action_that_was_canceled_and_has_failed_is_found() -> None:
    story = Story().flow().begin().note('cancel_flow').fails(error_code='REFUTED').ended() \
        .never('b', outcome='canceled').over()
    assert story.kinds() == ['half an order']
    story = Story().flow().begin().note('cancel_flow').fails(error_code='CANCELED') \
        .ended(outcome='canceled').never('b', outcome='canceled').over()
    assert story.kinds() == []


def test_a_cancel_that_nobody_ordered_is_found() -> None:
    story = Story().flow().begin().fails(error_code='CANCELED').ended(outcome='canceled') \
        .never('b').over()
    assert story.kinds() == ['half an order']


def test_an_edit_without_effect_and_an_action_that_no_row_brought_are_found() -> None:
    def story(edit: str) -> Story:
        story = Story().flow().begin().execute().moves().stands().done().confirmed().never('b')
        story.add('flow', 'edited', to='CONTINUE', actor='ann', edit=edit)
        return story
    assert story('[{add: {c: {}}}]').over().kinds() == ['half an order']
    assert story('[{add: {c: {}}}]').never('c').over().kinds() == []
    assert story('[{add: {c: {}}}, {remove: [c]}]').over().kinds() == []
    assert story('[]').never('c').over().kinds() == ['half an order']


@pytest.mark.parametrize(('hold', 'event', 'found'), [
    (False, 'start', True), (False, 'execute', False), (True, 'execute', True)])
def test_what_begins_in_a_paused_flow_is_found(hold: bool, event: str, found: bool) -> None:
    story = Story().flow()
    if event == 'execute':
        story.begin()
    story.note('paused', hold=hold)
    if event == 'start':
        story.begin()
    story.execute()
    story.note('resumed').moves().stands().done().confirmed().never('b').over()
    assert story.kinds() == (['half an order'] if found else [])


def test_a_flow_that_ends_in_a_pause_and_a_breakpoint_that_is_passed_are_found() -> None:
    story = Story().flow().begin().execute().moves().stands().done().confirmed().never('b')
    story.note('paused', hold=False)
    assert story.over().kinds() == ['half an order']
    story = Story().flow().note('breakpoint_set', action='a')
    story.begin().execute().moves().stands().done().confirmed().never('b').over()
    assert story.kinds() == ['half an order']


def test_a_skip_or_a_retry_that_is_not_carried_out_is_found() -> None:
    def story() -> Story:
        return Story().flow().begin().fails(error_code='REFUTED')
    assert story().note('skipped', action='a').ended(outcome='skipped').never('b').over() \
        .kinds() == []
    assert story().note('skipped', action='a').ended().never('b').over().kinds() == [
        'half an order']
    assert story().ended().note('retried', action='a', actions=['a']).never('b').over() \
        .kinds() == ['half an order']
    again = story().ended()
    again.add('transition', 'reassign', 'a', to='assigned', actor='ann')
    again.begin().fails(error_code='REFUTED').ended().never('b').over()
    assert again.kinds() == ['half an order']


def test_a_flow_that_was_begun_twice_is_found() -> None:
    story = good()
    story.add('flow', 'accepted', to='START', text=FLOW)
    story.over()
    assert story.kinds() == ['half an order']


def answered(story: Story, answer: str = 'retry', taken: str = 'retry') -> Story:
    story.add('transition', 'fail', 'a', to='error')
    story.add('transition', 'request_fallback', 'a', to='fallback_requested')
    if answer:
        story.note('question_answered', 'a', id='q', answer=answer)
    if taken:
        story.add('transition', 'receive_fallback', 'a', to='fallback_received', actor='ann',
                  answer=taken)
        story.fails().ended()
    return story.never('b').over()


def test_an_answer_without_effect_an_effect_without_answer_and_another_answer_are_found() -> None:
    assert answered(Story().flow().begin()).kinds() == []
    assert answered(Story().flow().begin(), taken='').kinds() == ['half an order', 'open']
    assert answered(Story().flow().begin(), answer='').kinds() == ['half an order']
    assert answered(Story().flow().begin(), taken='give_up').kinds() == ['half an order'] * 2
    story = answered(Story().flow().begin())
    story.note('question_answered', 'a', id='q', answer='retry')
    assert 'half an order' in story.kinds()


def test_an_unlocking_that_nobody_ordered_is_found() -> None:
    story = good()
    story.add('lock', 'unlock', 'left', flow='', actor='ann', final=True)
    assert story.kinds() == ['half an order']


def test_a_clearing_that_is_open_or_leaves_something_locked_is_found() -> None:
    def story(*without: str) -> list[str]:
        story = good()
        story.add('lock', 'lock', 'left', flow='')
        kept = [row for row in story.unlock().rows if row.event not in without]
        story.rows = [replace(row, seq=seq, prev_hash=f'h{seq - 1}' if seq > 1 else '',
                              hash=f'h{seq}') for seq, row in enumerate(kept, 1)]
        story.ordered('unlock', resources=['left'])
        if without:
            story.orders[0].accepted = None
        return story.kinds()

    assert story() == []
    assert 'half an order' in story('done')
    assert story('unlock') == ['half an order']


@pytest.mark.parametrize(('actor', 'kinds'), [('bob', []), ('eve', ['half an order'])])
def test_of_two_who_unlock_at_once_one_finds_nothing_to_unlock(
    actor: str, kinds: list[str]
) -> None:
    story = good()
    story.add('lock', 'lock', 'left', flow='')
    story.unlock()
    story.add('clear_stop', 'clear_stop', 'o2', flow='', actor='bob', resources=['left'])
    story.add('clear_stop', 'done', 'o2', flow='', actor='bob', final=True)
    story.ordered('unlock', resources=['left'])
    story.ordered('unlock', resources=['left'])
    story.orders[-1].actor = actor
    assert story.kinds() == kinds


def test_a_published_change_that_is_not_in_the_journal_is_found() -> None:
    story = good()
    row = story.rows[2]
    told = Change(row.seq, 'f', 'a', 1, 'start', 'assigned', 'in_progress')
    story.changes = [told]
    assert story.kinds() == []
    story.changes = [replace(told, to_state='error'), replace(told, seq=99)]
    assert story.kinds() == ['published', 'published']


def test_what_is_open_at_rest_is_found() -> None:
    story = Story().flow().begin().execute().moves()
    assert story.kinds() == ['open', 'open', 'open']


def test_a_journal_and_a_log_are_read_as_they_are_written(tmp_path: Path) -> None:
    story = good()
    connection = sqlite3.connect(tmp_path / 'journal')
    connection.execute(f"CREATE TABLE entry ({', '.join(COLUMNS)})")
    for row in story.rows:
        connection.execute(f"INSERT INTO entry VALUES ({', '.join('?' * len(COLUMNS))})", (
            row.seq, row.kind, row.flow_id, row.action_id, row.attempt, row.event, row.from_state,
            row.to_state, row.cause, row.actor, json.dumps(row.data), row.final, row.boot,
            row.prev_hash, row.hash))
    connection.commit()
    connection.close()
    (tmp_path / 'log').write_text(''.join(json.dumps(line) + '\n' for line in story.lines))
    assert read_journal(tmp_path / 'journal') == story.rows
    assert read_log(tmp_path / 'log') == story.lines
