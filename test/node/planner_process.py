# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A planner that does well or badly, as the words of the request say; a process of its own."""

from __future__ import annotations

import json
import os
from pathlib import Path
import sys
import time
from typing import Any

from action_lifecycle_msgs.srv import Plan
import rclpy
from rclpy.node import Node

GOOD = """flow: planned
actions:
  open:
    motion:
      server: gripper_controller/gripper_cmd
      type: control_msgs/action/GripperCommand
      goal: {command: {position: 0.07, max_effort: 20.0}}
      server_timeout: 1.0
    confirm: {condition: gap > 0.06, within: 3.0}
"""
ANSWERS = {
    'good': GOOD,
    'invalid': 'flow: planned\nactions: [\n',
    'cycle': GOOD.replace('    motion:', '    after: open\n    motion:'),
    'server': GOOD.replace('gripper_cmd', 'griper_cmd'),
    'fact': GOOD.replace('gap >', 'gripe >'),
    'name': GOOD.replace('gripper_cmd', 'gripper cmd?'),
    'field': GOOD.replace('max_effort', 'max_efort'),
    'limit': GOOD.replace('20.0', '2000.0'),
    'unsafe': GOOD.replace('condition: gap > 0.06', 'condition: 1 < 2'),
    'bomb': 'flow: planned\nactions:\n  a: &a [x, x, x]\n' + ''.join(
        f'  {name}: &{name} [*{before}, *{before}, *{before}, *{before}, *{before}, *{before}]\n'
        for before, name in zip('abcdefghijk', 'bcdefghijkl', strict=True)),
    'scheduled': GOOD.replace(
        'actions:', 'schedule: {every: 3600, clock: wall}\nactions:'),
}
EDIT = """- add:
    close:
      after: open
      motion:
        server: gripper_controller/gripper_cmd
        type: control_msgs/action/GripperCommand
        goal: {command: {position: 0.03, max_effort: 20.0}}
      confirm: {condition: gap < 0.04, within: 3.0}
"""
REPLACE = """- add:
    wide:
      replaces: pick
      motion:
        server: gripper_controller/gripper_cmd
        type: control_msgs/action/GripperCommand
        goal: {command: {position: 0.07, max_effort: 20.0}}
      confirm: {condition: gap > 0.06, within: 3.0}
"""
LONG_EDIT = """- add:
    turn:
      after: open
      motion:
        server: arm_controller/follow_joint_trajectory
        type: control_msgs/action/FollowJointTrajectory
        goal:
          trajectory:
            joint_names: [x_joint]
            points: [{positions: [0.05], time_from_start: {sec: 3, nanosec: 0}}]
      confirm: {condition: gap > 0.06, within: 3.0}
"""


class Planner(Node):
    """Answers by the words; what it is asked goes into a file, a line each."""

    def __init__(self, folder: Path) -> None:
        super().__init__('planner')
        self.folder = folder
        self.create_service(Plan, 'planner/plan', self.plan)

    def plan(self, request: Any, response: Any) -> Any:
        with open(self.folder / 'asked', 'a', encoding='utf-8') as file:
            file.write(json.dumps({
                'request': request.request, 'errors': list(request.errors),
                'capabilities': list(request.capabilities), 'flow': request.flow_yaml,
                'facts': {fact.name: [fact.unit, fact.value_json]
                          for fact in request.facts.facts},
                'completed': list(request.completed_actions),
                'ended': [{
                    'name': action.action_id, 'outcome': action.state.outcome,
                    'code': action.error_code, 'message': action.error_msg,
                    'sensors': action.sensors_said, 'controller': action.controller_said,
                    'attempt': action.attempt,
                    'evidence': [[item.expression, item.verdict, list(item.facts[0].numbers)]
                                 for item in action.evidence]} for action in request.ended],
                'status': {action.action_id: action.state.value
                           for action in request.status.actions}}) + '\n')
        if request.completed_actions:
            return self.edit(request, response)
        words = request.request.split()
        # Further words are what it answers when it is told what was wrong.
        said = sum(1 for line in (self.folder / 'asked').read_text().splitlines()
                   if json.loads(line)['request'] == request.request)
        word = words[min(said, len(words)) - 1]
        if word == 'die':
            os._exit(1)
        if word == 'slow':
            time.sleep(4.0)
        response.accepted = word != 'refuse'
        response.message = 'I would rather not'
        response.flow_yaml = ANSWERS.get(word, GOOD)
        if 'steer' in request.request:
            response.flow_yaml = GOOD.replace('actions:', 'steering: true\nactions:')
        return response

    def edit(self, request: Any, response: Any) -> Any:
        response.accepted = True
        if 'weave' in request.request:
            response.edit_yaml = self.weave(request)
            return response
        if list(request.completed_actions) != ['open']:
            return response
        if 'long' in request.request:
            response.edit_yaml = LONG_EDIT
        elif 'limits' in request.request and not request.errors:
            response.edit_yaml = EDIT.replace('20.0', '2000.0')
        else:
            response.edit_yaml = EDIT
        return response

    @staticmethod
    def weave(request: Any) -> str:
        """Return what to do about an action that has failed."""
        failed = [action for action in request.ended if action.state.outcome == 'failed']
        if not failed:
            return ''
        if 'slow' in request.request:
            time.sleep(3.0)
        if 'late' in request.request:
            time.sleep(9.0)
        if 'fail' in request.request:
            return '- fail: the gripper is too weak\n'
        return REPLACE


def main() -> None:
    """Serve until killed."""
    rclpy.init()
    rclpy.spin(Planner(Path(sys.argv[1])))


if __name__ == '__main__':
    main()
