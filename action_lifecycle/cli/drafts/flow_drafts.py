# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Drafts of a first flow for an action server, and of its cases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import yaml

from .fact_drafts import FactDraft, FactsDraft, FINGERS
from .seen_graph import SeenGraph
from ...documents.errors import LifecycleError
from ...ros.interfaces.types import action_class

CHANGE = 'CHANGE_ME'
MAX_JOINTS = 10
SPEEDS = ('speed', 'turning', 'joint_speed')
"""Names of facts that are 0 when nothing moves."""


@dataclass
class FlowDraft:
    """A flow for a server: `text` of the file, and `cases`, empty if they need your condition."""

    name: str
    server: str
    type: str  # noqa: A003
    text: str
    cases: str


def draft_flow(seen: SeenGraph, facts: FactsDraft, server: str) -> FlowDraft:
    """Return a flow for a server, given by its full name; raises LifecycleError."""
    type_name = seen.servers[server]
    name = seen.name_in_files(server)
    known = _DRAFTS.get(type_name)
    found = None if known is None else known(name, facts)
    flow, text, cases = found or _any(name, type_name, facts)
    return FlowDraft(flow, name, type_name, text, cases)


def choose_server(seen: SeenGraph, wanted: str) -> str:
    """Return the full name of a server: the wanted one, or one of a known type, or any."""
    if wanted:
        for full in seen.servers:
            if wanted.strip('/') in (full.strip('/'), seen.name_in_files(full)):
                return full
        known = ', '.join(sorted(map(seen.name_in_files, seen.servers))) or 'none'
        raise LifecycleError(
            f"--server '{wanted}': there is no such action server (seen: {known})")
    order = [*_DRAFTS]
    return min(sorted(seen.servers), default='', key=lambda full: (
        order.index(seen.servers[full]) if seen.servers[full] in order else len(order)))


Found = tuple[str, str, str]
"""Name of a flow, its text, and that of its cases."""


def _navigate(server: str, facts: FactsDraft) -> Found | None:
    valid = facts.valid()
    at = valid.get('at')
    if at is None:
        return None
    x, y = (_number(number, 2) for number in at.value[:2])
    facing = _inline({axis: _number(number, 4) for axis, number in zip(
        'xyzw', valid['heading'].value)}) if 'heading' in valid else '{w: 1.0}'
    still = ' and speed < 0.02' if 'speed' in valid else ''
    stopped = _stopped('speed < 0.02', 0.3) if still else _NOT_STOPPED
    text = f"""\
flow: go_to
description: Drive to a place; there is where tf says, not where the navigator says.
parameters:  # the first run drives to where the robot is now, and faces as it does now
  x: {{default: {x}, unit: m}}
  y: {{default: {y}, unit: m}}
actions:
  go:
    resources: [base]
    motion:
      server: {server}
      type: nav2_msgs/action/NavigateToPose
      goal:
        pose:
          header: {{frame_id: {at.fields['tf']['target']}}}
          pose: {{position: {{x: '{{{{ x }}}}', y: '{{{{ y }}}}'}}, orientation: {facing}}}
      timeout: 300
{stopped}    confirm:  # within 3 s of the end of the motion, for 0.5 s
      condition: dist(at[:2], [x, y]) < 0.25{still}
      hold: 0.5
      within: 3
{_FALLBACK}"""
    there = [x + 2.0, y, *at.value[2:]]
    short = [x + 1.0, y, *at.value[2:]]
    moving = {'speed': 0.3} if still else {}
    return 'go_to', text, _cases(
        'go_to', facts, server, {'x': x + 2.0}, 'go',
        {'takes': 8, 'during': {'at': {'to': there}, **moving}},
        ('it says so a metre before', {'takes': 4, 'during': {'at': {'to': short}, **moving}}))


def _trajectory(server: str, facts: FactsDraft) -> Found | None:
    joints = [fact for fact in facts.joints() if not FINGERS.search(fact.joint)][:MAX_JOINTS]
    if not joints:
        return None
    target = [_number(fact.value, 3) for fact in joints]
    speed = 'joint_speed' in facts.valid()
    near = ' and '.join(f'abs({fact.name} - target[{index}]) < 0.02'
                        for index, fact in enumerate(joints))
    stopped = _stopped('joint_speed < 0.01', 0.2) if speed else _NOT_STOPPED
    text = f"""\
flow: move
description: One point for the trajectory controller; there is where the joints are.
parameters:  # the first run goes to where the arm is now
  target: {{default: {target}}}
  seconds: {{default: 5.0, min: 1.0, max: 60.0, unit: s}}
actions:
  move:
    resources: [arm]
    motion:
      server: {server}
      type: control_msgs/action/FollowJointTrajectory
      goal:
        trajectory:
          joint_names: {_inline([fact.joint for fact in joints])}  # those of this controller?
          points: [{{positions: '{{{{ target }}}}', time_from_start: '{{{{ seconds }}}}'}}]
      timeout: '{{{{ seconds * 2 + 5 }}}}'
{stopped}    confirm:  # within 2 s of the end of the motion, for 0.2 s
      condition: {near}
      hold: 0.2
      within: 2
{_FALLBACK}"""
    goal = [round(number + 0.3, 3) for number in target]
    moving = {'joint_speed': 0.2} if speed else {}
    moved = {fact.name: {'to': number} for fact, number in zip(joints, goal)}
    stays = dict(list(moved.items())[1:])
    return 'move', text, _cases(
        'move', facts, server, {'target': goal}, 'move',
        {'takes': 5, 'during': {**moved, **moving}},
        (f'{joints[0].joint} stays behind', {'takes': 5, 'during': {**stays, **moving}}))


def _gripper(server: str, facts: FactsDraft) -> Found | None:
    fingers = [fact for fact in facts.joints() if FINGERS.search(fact.joint)]
    if not fingers:
        return None
    finger = fingers[0]
    position = _number(finger.value, 4)
    speed = 'joint_speed' in facts.valid()
    stopped = _stopped('joint_speed < 0.01', 0.2) if speed else _NOT_STOPPED
    text = f"""\
flow: grip
description: Move the gripper; it is there when the finger is.
parameters:  # where {finger.joint} is now: is it in the unit of the command?
  position: {{default: {position}}}
  force: {{default: 5.0, min: 0.0}}
actions:
  grip:
    resources: [gripper]
    motion:
      server: {server}
      type: control_msgs/action/GripperCommand
      goal: {{command: {{position: '{{{{ position }}}}', max_effort: '{{{{ force }}}}'}}}}
      timeout: 10
{stopped}    confirm:  # that it holds a part is another one: {finger.name} > position + 0.005
      condition: abs({finger.name} - position) < 0.005
      hold: 0.2
      within: 2
{_FALLBACK}"""
    goal = round(position + 0.02, 4)
    return 'grip', text, _cases(
        'grip', facts, server, {'position': goal}, 'grip',
        {'takes': 1, 'during': {finger.name: {'to': goal}}},
        ('it stalls half way and reports success',
         {'takes': 1, 'during': {finger.name: {'to': round(position + 0.01, 4)}}}))


_DRAFTS: dict[str, Callable[[str, FactsDraft], Found | None]] = {
    'nav2_msgs/action/NavigateToPose': _navigate,
    'control_msgs/action/FollowJointTrajectory': _trajectory,
    'control_msgs/action/GripperCommand': _gripper,
}
"""Drafts by type of the action, the first choice first; None: a fact that it needs is missing."""

_FALLBACK = """\
    fallback:
      - {strategy: ask, question: '{{ error }}. Try again?'}
"""


_NOT_STOPPED = """\
    # stopped: …  # without what shows a standstill, a cancel ends with STOP_UNCONFIRMED
"""


def _stopped(condition: str, hold: float) -> str:
    return (f'    stopped: {{condition: {condition}, hold: {hold}}}  # what shows a stop after a '
            'cancel\n')


def _any(server: str, type_name: str, facts: FactsDraft) -> Found:
    """Return a flow whose goal and condition are to be filled in."""
    fields = action_class(type_name).Goal.get_fields_and_field_types()
    shown = ''.join(f'        # {name}:  # {kind}\n' for name, kind in fields.items())
    known = ', '.join(facts.valid()) or 'none was read'
    name = server.split('/')[-1] if server.split('/')[-1].isidentifier() else 'first'
    text = f"""\
flow: {name}
actions:
  {name}:
    motion:
      server: {server}
      type: {type_name}
      goal: {{}}  # its fields, with defaults:
{shown}      timeout: 60
{_NOT_STOPPED}    confirm:  # What do the sensors show when it has succeeded? Facts: {known}
      condition: {CHANGE} > 0
      hold: 0.2
      within: 2
{_FALLBACK}"""
    return name, text, ''


def _cases(
    flow: str, facts: FactsDraft, server: str, parameters: dict[str, Any], action: str,
    works: dict[str, Any], lie: tuple[str, dict[str, Any]],
) -> str:
    """Return the cases of a flow: it works, it lies, it is killed on the way."""
    values = '\n'.join(
        f'    {fact.name}: {_inline(0.0 if fact.name in SPEEDS else _rounded(fact))}'
        for fact in facts.valid().values())
    said, liar = lie
    return f"""\
# What may happen, and how the flow must end then: action_lifecycle test {flow}.cases.yaml
flow: {flow}.yaml
facts: facts.yaml
parameters: {_inline(parameters)}
robot:
  facts:  # as they were read, and nothing moves
{values}
  servers:
    {server}: {_inline(works)}
cases:
  it works:
    expect: {{flow: succeeded, goals: {{{server}: 1}}}}
  {said}:
    robot: {{servers: {{{server}: {_inline(liar)}}}}}
    answers: {{{action}: give_up}}
    expect: {{flow: failed, actions: {{{action}: {{error: REFUTED}}}}}}
  the process is killed on the way:
    events: [{{at: 0.5, kill: true}}]
    expect: {{flow: succeeded, goals: {{{server}: 1}}}}
"""


def _rounded(fact: FactDraft) -> Any:
    """Return the value of a fact with four decimals."""
    value = fact.value
    return [_number(item, 4) for item in value] if isinstance(value, list) else _number(value, 4)


def _number(value: Any, decimals: int) -> Any:
    return round(value, decimals) + 0.0 if isinstance(value, float) else value  # no -0


def _inline(data: Any) -> str:
    text: str = yaml.safe_dump(data, default_flow_style=True, sort_keys=False, width=10_000,
                               allow_unicode=True)
    return text.removesuffix('...\n').strip()
