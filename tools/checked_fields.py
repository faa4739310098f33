# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The table of all fields of flows and facts files with where each is checked.

The fields are those of the models. What is wrong with a field is tried: the table says which check
has refused it first. What only a robot can tell is what the kinds of work and verifiers use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
import tempfile
from typing import Any

from action_lifecycle.cli.running.motions import motion_faults
from action_lifecycle.documents.errors import DocumentError
from action_lifecycle.documents.models import field_names
from action_lifecycle.flow.files.loader import parse_flow
from action_lifecycle.flow.files.spec import DialogueSpec, FlowSpec, ParameterSpec
from action_lifecycle.flow.files.uses import check_names
from action_lifecycle.lifecycle.schedule.schedule import ScheduleSpec
from action_lifecycle.lifecycle.spec import (
    ActionSpec,
    ConditionSpec,
    FallbackSpec,
    RepeatSpec,
    RetrySpec,
    WhenSpec,
)
from action_lifecycle.lifecycle.verifiers import VERIFIERS
from action_lifecycle.lifecycle.work import WORK
from action_lifecycle.ros.interfaces.field_kinds import field_kind
from action_lifecycle.world.facts.facts_file import (
    AgreeSpec,
    FactsFile,
    FactSpec,
    FrozenSpec,
    HealthSpec,
    QosSpec,
    RateSpec,
    SafetySpec,
    StandstillSpec,
    TfSpec,
)
from action_lifecycle.world.facts.loader import parse_facts

LOAD = 'when the file is loaded'
VALIDATE = '`validate --facts`, {}'
INSTALLED = '`validate` where the package is installed, {}'
BOTH = '`validate --facts` where the package is installed, {}'
ROBOT = {True: 'check of the bridge', False: 'the node that runs the flow, before it starts'}
FORM = 'a value of another type or out of its bounds'
FACTS = """
estop: none
facts:
  gap: {topic: gap, type: std_msgs/msg/Float64, field: data, max_age: 1, unit: m}
  part: {topic: part, type: std_msgs/msg/String, field: data, max_age: 1}
limits: {cmd: {data: [0, 1]}}
"""
GRIPPER = 'motion: {server: gripper, type: control_msgs/action/GripperCommand'
SETBOOL = 'call: {service: light, type: std_srvs/srv/SetBool'
FLOAT = 'publish: {topic: cmd, type: std_msgs/msg/Float64, physical: false'
VERIFIER = 'tool: {name: horn}, verify: {by: service, service: s, type: std_srvs/srv/Trigger'

MODELS: dict[str, type[Any]] = {
    'flow': FlowSpec, 'parameter': ParameterSpec, 'dialogue': DialogueSpec, 'action': ActionSpec,
    'schedule': ScheduleSpec, 'condition': ConditionSpec, 'after': WhenSpec, 'repeat': RepeatSpec,
    'retry': RetrySpec, 'fallback': FallbackSpec}
FACT_MODELS: dict[str, type[Any]] = {
    'facts file': FactsFile, 'fact': FactSpec, 'tf': TfSpec, 'qos': QosSpec,
    'health': HealthSpec, 'frozen': FrozenSpec, 'rate': RateSpec, 'agree': AgreeSpec,
    'safety topic': SafetySpec, 'stopped': StandstillSpec}

#: fields of an action with something wrong
WRONG: dict[str, dict[str, str]] = {
    'flow.actions': {'an unknown field': 'tool: {name: horn}, colour: red'},
    'action.parameters': {'a name that is none': 'tool: {name: horn}, parameters: {"a b": 1}'},
    'action.after': {'an unknown action': 'tool: {name: horn}, after: {c: success}'},
    'action.for_each': {'an unknown fact': 'for_each: {n: "{{ facts.gapp }}"}, tool: {name: t}'},
    'action.resources': {'a name that is none': 'tool: {name: horn}, resources: ["a b"]'},
    'action.steps': {'an unknown kind of work': 'steps: [{dance: {}}]'},
    'action.maintain': {'nothing that it could stop': 'tool: {name: horn}, maintain: gap > 0'},
    'action.confirm': {'no fact is read': f'{GRIPPER}}}, confirm: 1 > 0'},
    'schedule.clock': {'no clock': 'tool: {name: horn}, schedule: {clock: sun}'},
    'condition.condition': {
        'an unknown name': 'tool: {name: horn}, require: gapp > 1',
        'no valid syntax': 'tool: {name: horn}, require: gap >',
        'another kind of value': 'tool: {name: horn}, require: part > 1'},
    'after.condition': {'an unknown name': 'tool: {name: t}, after: {b: {condition: gapp > 1}}'},
    'repeat.until': {'an unknown name': 'tool: {name: horn}, repeat: {times: 2, until: gapp > 1}'},
    'fallback.recipe': {'no recipe': 'tool: {name: horn}, fallback: [{strategy: recipe}]'},
    'fallback.fields': {'an unknown name': 'tool: {name: horn}, fallback: [{strategy: action, '
                                           'require: gapp > 1}]'},
    'fallback.parameters': {
        'a value that no longer fits the field':
            f'{GRIPPER}, goal: {{command: {{position: "{{{{ to }}}}"}}}}}}, '
            'parameters: {to: 1}, fallback: [{strategy: retry, parameters: {to: far}}]'},
    'fallback.default': {'no option': 'tool: {name: horn}, fallback: [{strategy: ask, '
                                      'question: why, timeout: 1, default: never}]'},
    'motion.type': {'no type': 'motion: {server: s, type: control_msgs/action/Nothing}'},
    'motion.goal': {
        'an unknown field of the type': f'{GRIPPER}, goal: {{force: 1}}}}',
        'a value that does not fit the field':
            f'{GRIPPER}, goal: {{command: {{position: far}}}}}}',
        'an unknown fact': f'{GRIPPER}, goal: {{command: {{position: {{fact: gapp}}}}}}}}',
        'operands of another kind':
            f'{GRIPPER}, goal: {{command: {{position: {{expr: part + 1}}}}}}}}',
        'a fact whose kind does not fit the field':
            f'{GRIPPER}, goal: {{command: {{position: {{fact: part}}}}}}}}'},
    'call.type': {'no type': 'call: {service: s, type: std_srvs/srv/Nothing}'},
    'call.service': {'a service of this package':
                     'call: {service: s, type: action_lifecycle_msgs/srv/ClearStop}'},
    'call.request': {'an unknown field of the type': f'{SETBOOL}, request: {{on: true}}}}'},
    'call.success': {'an unknown field of the response': f'{SETBOOL}, success: response.ok}}'},
    'publish.type': {'no type': 'publish: {topic: t, type: std_msgs/msg/No, physical: false}'},
    'publish.topic': {'a topic of ROS itself': 'publish: {topic: /clock, physical: false, '
                                               'type: rosgraph_msgs/msg/Clock}'},
    'publish.message': {
        'an unknown field of the type': f'{FLOAT}, message: {{value: 1}}}}',
        'beyond the limits of the facts file': f'{FLOAT}, message: {{data: 7}}}}'},
    'publish.until': {
        'an unknown name': f'{FLOAT}, rate: 5, until: gapp > 1}}',
        'another kind of value': f'{FLOAT}, rate: 5, until: part > 1}}'},
    'publish.finally': {'an unknown field of the type':
                        f'{FLOAT}, rate: 5, until: gap > 1, finally: {{value: 1}}}}'},
    'flow work.flow': {'no such file': 'flow: {flow: nowhere.yaml}'},
    'verify: service.type': {'no type': 'tool: {name: horn}, verify: {by: service, service: s, '
                                        'type: std_srvs/srv/Nothing}'},
    'verify: service.request': {'an unknown field of the type':
                                f'{VERIFIER}, request: {{a: 1}}}}'},
    'verify: service.verdict': {'an unknown field of the response':
                                f'{VERIFIER}, verdict: ok}}'},
    'verify: service.reason': {'an unknown field of the response': f'{VERIFIER}, reason: why}}'},
}
#: fields of a facts file with something wrong
FACT_WRONG: dict[str, dict[str, str]] = {
    'facts file.limits': {'an unknown field of the type': 'limits: {std_msgs/msg/Float64: {value: '
                                                          '[0, 1]}}'},
    'fact.topic': {'no name of a topic': "facts: {x: {topic: 'a b', type: std_msgs/msg/Bool, "
                                         'field: data}}'},
    'fact.type': {'no type': 'facts: {x: {topic: a, type: std_msgs/msg/Nothing, field: data}}'},
    'fact.field': {'an unknown field of the type':
                   'facts: {x: {topic: a, type: std_msgs/msg/Bool, field: value}}'},
    'fact.expression': {'an unknown name': 'facts: {x: {expression: y + 1}}'},
    'fact.reduce': {'an unknown reducer':
                    'facts: {x: {topic: a, type: std_msgs/msg/Bool, field: data, reduce: most}}'},
    'fact.frame': {'not the target of tf':
                   'facts: {x: {tf: {target: a, source: b}, frame: c}}'},
    'health.range': {'bounds of no number': 'facts: {x: {topic: a, type: std_msgs/msg/String, '
                                            'field: data, health: {range: [0, 1]}}}'},
    'health.needs': {'an unknown fact': 'facts: {x: {topic: a, type: std_msgs/msg/Bool, '
                                        'field: data, health: {needs: [y]}}}'},
    'agree.with': {'an unknown fact': 'facts: {x: {topic: a, type: std_msgs/msg/Float64, field: '
                                      'data, health: {agree: {with: y, within: 1}}}}'},
    'safety topic.field': {'an unknown field of the type': 'safety: [{topic: a, type: '
                                                           'std_msgs/msg/Bool, field: value}]'},
    'stopped.condition': {'an unknown name': 'stopped: {gripper: gapp < 1}'},
}


def found_by(action: str) -> str:
    """Return which check refuses an action of a flow first; {} stands for that of the robot."""
    confirm = '' if 'confirm:' in action else ', confirm: gap > 0.5'
    facts = parse_facts(FACTS, field_kind=field_kind)
    with tempfile.TemporaryDirectory() as folder:
        try:
            flow = parse_flow(f'flow: f\nactions:\n  b: {{tool: {{name: horn}}}}\n'
                              f'  a: {{{action}{confirm}, stopped: gap < 1}}\n',
                              str(Path(folder) / 'flow.yaml'))
        except DocumentError:
            return LOAD
    try:
        check_names(flow, facts.kinds, facts.fixed)
    except DocumentError:
        return VALIDATE
    if list(motion_faults(flow, {})):
        return INSTALLED
    if list(motion_faults(flow, facts.limits, facts.kinds)):
        return BOTH
    raise AssertionError(f'no check refuses {action!r}')


def found_in_facts(text: str) -> str:
    """Return that a facts file is refused, or raise AssertionError."""
    for kinds, where in (({}, LOAD), ({'field_kind': field_kind},
                                      f'{LOAD}, and the package is installed')):
        try:
            parse_facts(f'estop: none\n{text}\n', **kinds)
        except DocumentError:
            return where
    raise AssertionError(f'nothing refuses {text!r}')


def rows() -> Iterator[tuple[str, str, str]]:
    """Yield field, what is wrong, and where it is found, for each field of each model."""
    work = {'flow work' if kind == 'flow' else kind: WORK.find(kind) for kind in WORK.names()}
    verifiers = {f'verify: {name}': kind for name, kind in VERIFIERS.items()}
    left = {*WRONG, *FACT_WRONG}
    for models, wrong, found in (
            ({**MODELS, **work, **verifiers}, WRONG, found_by),
            (FACT_MODELS, FACT_WRONG, found_in_facts)):
        for model, cls in models.items():
            plain = []
            robot = ROBOT[model not in verifiers and getattr(cls, 'at_bridge', True)]
            for field in field_names(cls):
                name = f'{model}.{field}'
                left.discard(name)
                for what, text in wrong.get(name, {}).items():
                    yield f'{model}: `{field}`', what, found(text).format(robot)
                if field in USED.get(model, {}):
                    yield f'{model}: `{field}`', USED[model][field], robot
                elif name not in wrong:
                    plain.append(f'`{field}`')
            if plain:
                yield f"{model}: {', '.join(plain)}", FORM, LOAD
    assert not left, f'no field: {left}'


USED: Mapping[str, Mapping[str, str]] = {
    'motion': {'server': 'no such server, or of another type or definition'},
    'call': {'service': 'no such service, or of another type or definition'},
    'publish': {'topic': 'nobody subscribes to it, or with another definition'},
    'tool': {'name': 'no such tool'}, 'graph': {'graph': 'no such graph'},
    'job': {'invoke': 'no such job'}, 'verify: service': {'service': 'no such service'},
    'verify: checker': {'checker': 'no such checker'}}
