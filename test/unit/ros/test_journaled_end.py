# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the journal says of a flow that the action node does not run any more."""

from __future__ import annotations

from collections.abc import Sequence
import json
from typing import Any

import pytest

msg = pytest.importorskip('action_lifecycle_msgs.msg')
srv = pytest.importorskip('action_lifecycle_msgs.srv')
module = pytest.importorskip('action_lifecycle.ros.calls.journaled_end')
FlowEnd = pytest.importorskip('action_lifecycle.ros.calls.flow_call').FlowEnd
CODES = msg.ErrorCode


def action(name: str, outcome: str, seq: int = 1, **fields: Any) -> Any:
    return msg.ActionStatus(
        action_id=name, seq=seq, attempt=1, **fields,
        state=msg.ActionState(value='terminated' if outcome else 'in_progress', outcome=outcome))


def change(seq: int, to_state: str, flow_id: str = 'f', **fields: Any) -> Any:
    return msg.FlowChange(seq=seq, flow_id=flow_id, to_state=to_state, **fields)


def read(actions: Sequence[Any], changes: Sequence[Any] = ()) -> Any:
    """Answer the requests as the node does, from these rows; returns the result."""
    reading, response = module.journaled_end('f'), None
    while True:
        try:
            kind, request = reading.send(response)
        except StopIteration as end:
            return end.value
        assert request.flow_id == 'f' and 0 < request.limit <= 1000
        if kind is srv.ListActions:
            page = actions[request.offset:request.offset + request.limit]
            response = srv.ListActions.Response(actions=page, total=len(actions))
        else:
            later = [one for one in changes if one.seq > request.after_seq]
            page = later[:request.limit]
            response = srv.GetHistory.Response(
                more=len(later) > len(page),
                changes=[one for one in page if not isinstance(one, msg.FlowChange)],
                flow_changes=[one for one in page if isinstance(one, msg.FlowChange)])


RETRIED = [action('place', 'succeeded', 9), action('pick', 'succeeded', 8),
           action('pick.2/grip', 'succeeded', 7),
           action('pick/grip', 'failed', 4, error_code=CODES.REFUTED, error_msg='slipped')]


@pytest.mark.parametrize('changes', [
    [change(5, 'FAIL', 'f/pick', error_code=CODES.FLOW_FAILED), change(10, 'FINISH')],
    [change(5, 'FAIL', 'f/pick', error_code=CODES.FLOW_FAILED)]])
def test_a_nested_flow_that_succeeded_at_its_retry_does_not_fail_the_flow(changes: Any) -> None:
    result = read(RETRIED, changes)
    assert (result.state, result.error_code, result.error_msg) == ('FINISH', CODES.NONE, '')
    end = FlowEnd.of(result)
    end.require_success()
    assert end.outcomes == {'place': 'succeeded', 'pick': 'succeeded'}
    assert end.codes == {CODES.NONE}


def test_the_change_that_ended_the_flow_is_its_result() -> None:
    """The sum of the actions would be a failure."""
    result = read([action('old', 'failed', 3), action('new', 'succeeded', 5)], [
        change(2, 'CONTINUE'), change(6, '', event='edited'),
        change(7, 'FINISH', data_json='{"total": 2, "failed": 1, "replaced": 1}')])
    assert (result.state, result.error_code, result.flow_id) == ('FINISH', CODES.NONE, 'f')
    assert FlowEnd.of(result).summary['replaced'] == 1
    failed = read([action('a', 'failed', 3)], [
        change(4, 'FAIL', error_code=CODES.STOP_UNCONFIRMED, cause='broken')])
    assert (failed.state, failed.error_code, failed.error_msg) == (
        'FAIL', CODES.STOP_UNCONFIRMED, 'broken')


@pytest.mark.parametrize(('outcomes', 'code'), [
    (['succeeded', 'succeeded'], 'NONE'), (['succeeded', 'skipped'], 'NONE'),
    (['succeeded', 'failed'], 'FLOW_PARTIALLY_FAILED'), (['failed', 'skipped'], 'FLOW_FAILED'),
    (['succeeded', 'canceled'], 'CANCELED')])
def test_a_flow_whose_end_is_not_in_the_journal_is_summed_up_by_its_actions(
    outcomes: list[str], code: str
) -> None:
    result = read([action(f'a{number}', outcome, error_msg='slipped')
                   for number, outcome in enumerate(outcomes)])
    assert result.error_code == getattr(CODES, code)
    assert result.state == ('FAIL' if result.error_code else 'FINISH')
    summary = json.loads(result.summary_json)
    assert summary['total'] == 2 and summary['succeeded'] == outcomes.count('succeeded')
    assert summary['unverified'] == outcomes.count('succeeded') and summary['recovered'] == 0


@pytest.mark.parametrize(('actions', 'changes', 'names'), [
    ([action('a', 'succeeded', 3), action('b', '', 4)], [], '; open: b'),
    ([action('b', '', 4), action('b/in', 'failed', 3)], [change(5, 'FAIL', 'f/b')], '; open: b'),
    ([], [change(1, 'START')], '')])
def test_an_open_flow_is_told_as_open(actions: Any, changes: Any, names: str) -> None:
    with pytest.raises(module.FlowOpen, match='does not go on with the flow f') as raised:
        read(actions, changes)
    assert str(raised.value).endswith(f'not ended in its journal{names}')


def test_a_flow_that_failed_before_its_first_action_has_ended() -> None:
    result = read([], [change(1, 'START'),
                       change(2, 'FAIL', error_code=CODES.FLOW_FAILED, cause='no plan')])
    assert (result.error_code, result.error_msg) == (CODES.FLOW_FAILED, 'no plan')


def test_a_flow_without_a_row_is_not_known() -> None:
    assert read([]) is None


@pytest.mark.parametrize('size', [999, 1000, 2500])
def test_all_actions_are_read(size: int) -> None:
    """The one that failed is on the last page."""
    actions = [action(f'a{number}', 'succeeded', 5000 - number) for number in range(size - 1)]
    actions.append(action('first', 'failed', 2))
    result = read(actions)
    assert json.loads(result.summary_json)['total'] == size == len(result.status.actions)
    assert result.error_code == CODES.FLOW_PARTIALLY_FAILED


def test_all_later_changes_are_read() -> None:
    notes = [change(seq, '', event='note') for seq in range(2, 2500)]
    assert read([action('a', 'failed')], [*notes, change(2500, 'FINISH')]).state == 'FINISH'
