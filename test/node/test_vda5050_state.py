# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the state of VDA 5050 says of stops; test_vda5050_node.py has a real one."""

from __future__ import annotations

from action_lifecycle.nodes.vda5050.robot_state import emergency_stop, safety_errors
from action_lifecycle_msgs.msg import SafetyState
import pytest


@pytest.mark.parametrize(('safety', 'stop', 'words'), [
    (None, 'AUTOACK', ['the action node has not said yet']),
    (SafetyState(state=SafetyState.NOT_READY, reason='never seen'), 'AUTOACK', ['never seen']),
    (SafetyState(state=SafetyState.READY), 'NONE', []),
    (SafetyState(state=SafetyState.STOPPED, reason='silent', topic='/estop', cause='still silent'),
     'MANUAL', ['silent; latched: look at the robot, then clear the stop: ',
                'clear-stop', 'it can not be cleared now: still silent']),
])
def test_only_a_latched_stop_is_acknowledged_by_a_person(safety, stop, words):
    assert emergency_stop(safety) == stop
    found = [*safety_errors(safety)]
    assert [one['errorLevel'] for one in found] == ['FATAL'] * bool(words)
    for word in words:
        assert word in found[0]['errorDescription']
    if stop == 'AUTOACK':
        assert 'clear' not in found[0]['errorDescription']


def test_locked_resources_are_named():
    safety = SafetyState(state=SafetyState.READY, locked_resources=['arm', 'base'])
    assert emergency_stop(safety) == 'NONE'
    found = [*safety_errors(safety)]
    assert [(one['errorType'], one['errorLevel'], one['errorReferences'][0]['referenceValue'])
            for one in found] == [('resourceLocked', 'WARNING', name) for name in ('arm', 'base')]
    assert "resource 'arm' is locked" in found[0]['errorDescription']
    assert 'clear-stop' in found[0]['errorDescription']
