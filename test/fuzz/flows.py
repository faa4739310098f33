# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Flow files: made action by action or taken from the repository, then spoilt as data and text."""

from __future__ import annotations

import contextlib
from pathlib import Path
import random
import re
from typing import Any

from action_lifecycle.documents.errors import DocumentError
from action_lifecycle.flow import parse_flow
from action_lifecycle.flow.files.uses import check_names
from action_lifecycle.world.expressions.value_types import Kind
import yaml

from .case import Case
from .expressions import condition, NAMES
from .schedules import schedule
from .values import how_many, mutated, number, some, text, value
from .yaml_text import bombs, damaged, Writer

ROOT = Path(__file__).resolve().parents[2]
PARAMETERS = {'force': 9.0, 'part': 'b', 'slots': [1.0, 2, 'a'], 'firm': 3, 'on': False,
              'table': {'b': [1]}}
_KINDS = {'number': Kind.NUMBER, 'vector': Kind.VECTOR, 'truth': Kind.TRUTH,
          'truths': Kind.TRUTHS, 'text': Kind.TEXT, 'texts': Kind.TEXTS, 'any': Kind.ANY}
_BLOCK = re.compile(r'^```yaml.*?\n(.*?)^```', re.DOTALL | re.MULTILINE)


def written() -> list[str]:
    """Return the flows of the repository and the examples in its documentation."""
    texts = [path.read_text() for path in sorted((ROOT / 'config' / 'flows').glob('*.yaml'))]
    for page in sorted((ROOT / 'docs').glob('*.md')):
        texts += [block for block in _BLOCK.findall(page.read_text()) if '\nactions:' in block]
    return texts


def condition_spec(rng: random.Random, plain: bool = True) -> Any:
    """Return a condition in one of its forms."""
    made = condition(rng) if rng.random() < 0.6 else rng.choice(
        ('gap > 0.01', 'norm(tool) < {{ force }}', 'gap > {{ firm }}', 'done'))
    if rng.random() < 0.95 and not any(name in made for name in ('gap', 'tool', 'mode', 'done')):
        made = f'{made} and gap > 0'
    if plain and rng.random() < 0.5:
        return made
    spec: dict[str, Any] = {'condition': made}
    for name, most in (('hold', 1.0), ('within', 9.0), ('max_age', 3.0)):
        if rng.random() < 0.3:
            spec[name] = rng.uniform(0, most)
    return spec


def action(rng: random.Random, earlier: list[str]) -> dict[str, Any]:
    """Return an action as a flow file has it; it may wait for the earlier ones."""
    made: dict[str, Any] = {'confirm': condition_spec(rng)}
    if rng.random() < 0.5:
        made['motion'] = [motion(rng) for _ in range(rng.randrange(1, 3))]
        if rng.random() < 0.3:
            made['maintain'] = condition_spec(rng)
        if rng.random() < 0.3:
            made['stopped'] = condition_spec(rng, plain=False)
    if earlier and rng.random() < 0.7:
        names = rng.sample(earlier, rng.randrange(1, min(3, len(earlier)) + 1))
        made['after'] = rng.choice((
            names[0], names, {name: rng.choice(('success', 'completion', 'unconditional'))
                              for name in names},
            {name: {'condition': rng.choice(("outcome == 'succeeded'", 'attempts > 1 or done',
                                             'duration < {{ force }}'))} for name in names}))
    made['parameters'] = {'own': 1.5}
    if rng.random() < 0.3:
        made['parameters'] |= {name: rng.choice((
            1.5, 'a', [1.0, 2.0], '{{ force }}', '{{ slots[0] }}', True, {'a': 1}, [1, 'a'], None,
            '{{ facts.gap }}', number(rng)))
            for name in some(rng, ('own', 'part', 'q', 'target'), 3)}
    for name, maker in _FIELDS.items():
        if rng.random() < 0.12:
            made[name] = maker(rng)
    return made


def motion(rng: random.Random) -> dict[str, Any]:
    """Return one step of a motion."""
    return rng.choice((
        {'server': 'gripper', 'type': 'control_msgs/action/GripperCommand',
         'goal': {'command': {'position': rng.choice((0.02, '{{ force }}', {'fact': 'gap'},
                                                      {'expr': 'tool[0] * 2'}, '{{ own }}')),
                              'max_effort': rng.uniform(0, 50)}}},
        {'server': 'arm/follow', 'type': 'control_msgs/action/FollowJointTrajectory',
         'timeout': 20.0, 'goal': {'trajectory': {
             'joint_names': ['x', 'y'], 'points': [{
                 'positions': '{{ slots }}' if rng.random() < 0.2 else [
                     rng.uniform(-1, 1), {'expr': 'tool[1]'}],
                 'time_from_start': rng.choice((1.5, {'sec': 1, 'nanosec': 0}))}]}}},
        {'server': 'spin', 'type': 'nav2_msgs/action/Spin', 'goal': {'target_yaw': 1.5}},
        {'server': 'a', 'type': 'a/action/B'}))


def _fallback(rng: random.Random) -> Any:
    return rng.sample([
        'retry', 'give_up', {'strategy': 'retry', 'parameters': {'own': 9.0}},
        {'strategy': 'ask', 'question': 'What of {{ part }}?', 'timeout': 9.0,
         'options': ['retry', 'give_up'], 'default': 'retry'},
        {'motion': motion(rng)}, {'recipe': 'r/a'}, {'strategy': 'action', 'fields': {
            'confirm': condition_spec(rng)}}], rng.randrange(1, 4))


_FIELDS: dict[str, Any] = {
    'description': text,
    'schedule': lambda rng: schedule(rng, of_action=True),
    'resources': lambda rng: some(rng, ('arm', 'hand', '{{ part }}', 'base'), 3),
    'priority': lambda rng: rng.randrange(-5, 6),
    'timeout': lambda rng: rng.uniform(0, 100),
    'deadline': lambda rng: rng.uniform(0, 100),
    'require': lambda rng: [condition_spec(rng) for _ in range(rng.randrange(3))],
    'stop_timeout': lambda rng: rng.uniform(0.1, 9),
    'verify': lambda rng: rng.choice((
        'sensor', ['operator'], [{'by': 'service', 'service': 's', 'type': 'std_srvs/srv/Trigger',
                                  'verdict': 'success', 'reason': 'message'}],
        [{'by': 'checker', 'checker': 'c'}, {'by': 'operator', 'question': '{{ part }} there?'}])),
    'verify_when': lambda rng: rng.choice(('all', 'any')),
    'ask_again': lambda rng: rng.uniform(0, 9),
    'retry': lambda rng: {'times': rng.randrange(5), 'delay': rng.uniform(0, 2)},
    'fallback': _fallback,
    'idempotent': lambda rng: rng.random() < 0.5,
    'on_resume': lambda rng: rng.choice(('confirm', 'retry', 'ask')),
}


def flow(rng: random.Random, most: int = 5) -> dict[str, Any]:
    """Return a flow as its file has it."""
    made: dict[str, Any] = {'flow': rng.choice(('pick', 'f', 'place-2'))}
    made['parameters'] = {
        'force': {'default': rng.choice((8.0, 8, 0.5)), 'min': 0.0, 'max': 50.0},
        'part': {'default': rng.choice(('part_a', 'b', '')), 'type': 'text'},
        'slots': {'default': [0.1, 0.2], 'type': 'list'},
        'firm': {'default': 35.0, 'unit': 'N'}, 'on': {'default': True},
        'table': {'default': value(rng, 2) or {'a': 1}}}
    if rng.random() < 0.3:
        made['defaults'] = {name: maker(rng) for name, maker in _FIELDS.items()
                            if rng.random() < 0.1}
    if rng.random() < 0.1:
        made['schedule'] = schedule(rng)
    if rng.random() < 0.1:
        made['dialogue'] = {'asking': '{{ name }}: {{ dialogue }}', 'ended': text(rng)}
    if rng.random() < 0.2:
        made |= {'max_motions': rng.randrange(1, 9), 'steering': True, 'deadline': 99.0}
    names: list[str] = []
    made['actions'] = actions = {}
    for _ in range(rng.randrange(1, most + 1)):
        name = rng.choice(('pick', 'place', 'look', 'go', 'wipe', 'check')) + str(len(names))
        actions[name] = action(rng, names)
        names.append(name)
    return made


class Flows(Case):
    """Flow files and the values that their parameters are given."""

    refused = (DocumentError,)

    def prepare(self) -> None:
        self.written = written()
        loaded = [yaml.safe_load(source) for source in self.written]
        self.data = [data for data in loaded if isinstance(data, dict)]
        self.kinds = {name: _KINDS[kind] for name, kind in NAMES.items()}
        try:
            from action_lifecycle.cli.running.motions import motion_faults
            from action_lifecycle.nodes.action.check_request import check_request
            self.motion_faults: Any = motion_faults
            self.check_request: Any = check_request
        except ImportError:  # no ROS
            self.motion_faults = self.check_request = None

    def make(self, rng: random.Random) -> Any:
        kind = rng.random()
        if kind < 0.1:
            source = rng.choice(self.written)
        elif kind < 0.105:
            source = bombs(rng)
        else:
            data = rng.choice(self.data) if kind < 0.2 else flow(rng)
            times = how_many(rng) if rng.random() < 0.6 else 0
            source = Writer(rng).write(mutated(rng, data, times))
        for _ in range(rng.choice((0, 0, 0, 0, 0, 1, 2))):
            source = damaged(rng, source)
        given = {name: value(rng, 1) if rng.random() < 0.2 else PARAMETERS[name]
                 for name in some(rng, [*PARAMETERS], 2) if kind >= 0.2 and rng.random() < 0.3}
        return source, given

    def check(self, given: Any) -> bool:
        source, parameters = given
        made = parse_flow(source, 'fuzzed.yaml', parameters)
        made.text_now()
        with contextlib.suppress(DocumentError):
            check_names(made, self.kinds)
        seen = {'facts': dict.fromkeys(NAMES, 0.5), 'results': {
            name: {'outcome': 'succeeded', 'attempts': 1, 'facts': {}} for name in made.actions}}
        for name in made.actions:
            with contextlib.suppress(DocumentError):
                made.render(name, {'force': 3.0}, {'timeout': 3.0}, seen)
        if self.motion_faults is not None:
            list(self.motion_faults(made, {'gripper': {'command.position': (0.0, 0.1)}}))
            for name, spec in made.actions.items():
                self.check_request(made, name, spec, lambda topic: f'/{topic}')
        return True


CASE = Flows()
