# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Files that people write or copy: graphs, recipes, tools, stop files."""

from __future__ import annotations

import contextlib
import copy
import json
from pathlib import Path
import random
from typing import Any

from action_lifecycle.documents.errors import DocumentError, LifecycleError

from .case import Case
from .edits import plain_flow
from .expressions import NAMES
from .flows import action
from .rig import file_in_memory
from .values import how_many, mutated, number, spoilt, text, value
from .yaml_text import damaged, Writer

ROOT = Path(__file__).resolve().parents[2]
WORDS = ('start', 'work', 'check', 'done', 'failed', 'wait')


def graph(rng: random.Random) -> dict[str, Any]:
    """Return a graph file as data."""
    names = list(WORDS[:rng.randrange(2, len(WORDS) + 1)])
    states: dict[str, Any] = {}
    for place, name in enumerate(names):
        states[name] = {'description': 'd'} if rng.random() < 0.5 else {}
        if place == len(names) - 1:
            states[name]['final'] = True
        elif rng.random() < 0.3:
            states[name]['transition'] = {'next': rng.sample(names, rng.randrange(1, 3))}
        if rng.random() < 0.1:
            states[name] |= rng.choice((
                {'type': 'agent', 'instruction': 'x'}, {'type': 'user', 'instruction': '{{ a }}'},
                {'type': 'tool', 'tool': 't'}, {'type': 'decision'}, {'type': 'terminal'},
                {'enter': 'hook'}, {'exit': ['a', 'b']}))
    transitions = [{'event': f'to_{after}', 'from': before, 'to': after}
                   for before, after in zip(names, names[1:])]
    for _ in range(rng.randrange(3)):
        transitions.append({
            'event': rng.choice(('retry', 'fail', 'go')), 'from': rng.choice((
                rng.choice(names[:-1]), rng.sample(names[:-1], 1))), 'to': rng.choice(names),
            **rng.choice(({}, {'cond': 'physical'}, {'unless': ['a', 'b']}, {'priority': 3},
                          {'default': True}, {'before': 'x', 'validators': 'y'}))})
    made: dict[str, Any] = {'initial': names[0], 'states': states, 'transitions': transitions}
    if rng.random() < 0.2:
        made['invariants'] = {names[-1]: {'must_pass': rng.choice(names)}}
    if rng.random() < 0.2:
        return {**states, 'transitions': transitions}
    return made


def recipe(rng: random.Random) -> dict[str, Any]:
    """Return a recipe file as data."""
    flow = plain_flow(rng)
    return {
        'recipe': 'r', 'made': '2026-01-01T00:00:00+00:00', 'flow_id': 'f', 'runs': 1,
        'flow': {'name': 'f', 'sha256': '0' * 64, 'text': text(rng), 'parameters': {'force': 1.0},
                 'parameters_sha256': '0' * 64, 'file': rng.choice(('', '/nowhere/f.yaml'))},
        'world': {name: rng.choice(({'numbers': [0.1], 'unit': 'm'}, {'value': 'a'},
                                    {'numbers': [1.0, number(rng)]}))
                  for name in rng.sample(list(NAMES), 2)},
        'actions': [
            {'action': name, 'attempts': 1, 'duration': [0.5, 1.0],
             'fields': {**_in_full(rng, fields), 'parameters': {'force': 1.0}},
             'evidence': {'gap': rng.choice(({'numbers': [[0.0, 1.0]]}, value(rng, 2)))}}
            for name, fields in flow['actions'].items()]}


def _in_full(rng: random.Random, fields: dict[str, Any]) -> dict[str, Any]:
    made = {**fields, 'confirm': [{'condition': 'z > 0'}]}
    if rng.random() < 0.3:
        made['require'] = [{'condition': rng.choice(('gap > 0', 'mode == mode', text(rng)))}]
    if rng.random() < 0.2:
        made['fallback'] = [{'strategy': 'retry', 'parameters': {'force': 2.0}}]
    return made


def tools(rng: random.Random) -> dict[str, Any]:
    """Return a file of tools as data."""
    made: dict[str, Any] = {}
    if rng.random() < 0.6:
        made['services'] = {'lamp': {
            'service': rng.choice(('lamp/set', '/lamp')),
            'type': rng.choice(('std_srvs/srv/SetBool', 'std_srvs/srv/Trigger', 'a/srv/B'))}}
    if rng.random() < 0.5:
        made['actions'] = {'grip': {
            'server': 'gripper', 'type': 'control_msgs/action/GripperCommand',
            'action': action(rng, [])}}
        made['actions']['grip']['action'].pop('motion', None)
    if rng.random() < 0.3:
        made['mcp'] = {'files': {'command': 'mcp-files', 'args': ['x'], 'env': {'A': 'b'}}}
    if rng.random() < 0.5:
        made['python'] = {'now': {'call': rng.choice((
            'math:sqrt', 'os.path:join', 'no_such_module:f', 'math:nothing', 'json:dumps',
            'operator:add', 'math:pi', 'a..b:c', '.a:b'))}}
    if rng.random() < 0.2:
        made['user'] = text(rng)
    return made


class Node:
    """Stands in for a node that makes clients."""

    def add_client(self, kind: Any, name: str) -> Any:
        return self

    def keep(self, key: Any, make: Any) -> Any:
        return self


class Files(Case):
    """Files as `action_lifecycle validate` and the nodes read them."""

    def prepare(self) -> None:
        from action_lifecycle.cli import checking
        from action_lifecycle.documents.yaml_document import parse_document
        from action_lifecycle.engine import load_graph, Machine
        from action_lifecycle.flow import parse_flow
        from action_lifecycle.flow.recipes import recipe as recipes
        from action_lifecycle.graphs import drawing as draw
        from action_lifecycle.nodes.shared.tools_file import load_tools
        from action_lifecycle.tools import McpServer
        from action_lifecycle.world.safety.stop_file import StopFile
        self.files, self.draw, self.load_graph, self.machine = checking, draw, load_graph, Machine
        self.parse_flow, self.recipes, self.load_tools = parse_flow, recipes, load_tools
        self.stop_file = StopFile
        with contextlib.suppress(LifecycleError):  # without the library there are no such tools
            McpServer('warm', 'mcp-files', [])  # imports the library once, not in an input
        self.graphs = [parse_document(path.read_bytes(), path.name).data
                       for path in sorted((ROOT / 'config' / 'graphs').glob('*.yaml'))]

    def make(self, rng: random.Random) -> Any:
        kind = rng.choice(('graph', 'graph', 'graph', 'recipe', 'recipe', 'tools', 'stop'))
        if kind == 'graph':
            data = graph(rng) if rng.random() < 0.8 else copy.deepcopy(rng.choice(self.graphs))
        elif kind == 'stop':
            data = {'code': 'ESTOP', 'reason': text(rng), 'topic': 'estop', 'time': 'x'}
        else:
            data = recipe(rng) if kind == 'recipe' else tools(rng)
        data = mutated(rng, data, how_many(rng) // 2 if kind == 'graph' else how_many(rng))
        try:
            made = json.dumps(data) if kind in ('recipe', 'stop') else Writer(rng).write(data)
        except ValueError:
            made = '{}'
        if rng.random() < 0.15:
            made = damaged(rng, made) if kind != 'stop' else spoilt(rng, made)
        raw = made.encode('utf-8', 'surrogatepass')
        if rng.random() < 0.03:
            place = rng.randrange(len(raw) + 1)
            raw = raw[:place] + bytes((rng.randrange(256),)) + raw[place:]
        return kind, raw

    def check(self, given: Any) -> bool:
        kind, raw = given
        with file_in_memory('files', '.json' if kind == 'recipe' else '.yaml') as path:
            path.write_bytes(raw)
            if kind == 'stop':
                status = self.stop_file(path).read()
                assert status is not None, 'a stop is forgotten'
                return 'can not be read' not in status.reason
            if kind == 'tools':
                self.load_tools(path, Node(), 'action_lifecycle')
                return True
            self.files._check(str(path), None, None)
            if kind == 'graph':
                return self._walk(self.load_graph(path))
            return self._recipe(path)

    def _walk(self, made: Any) -> bool:
        for form in ('mermaid', 'dot', 'table'):
            self.draw.render_graph(made, form)
        machine = self.machine(made, name='m')
        for _ in range(3):
            events = list(machine.possible_events())
            if not events:
                break
            try:
                machine.fire(events[0])
            except self.refused:
                break
        return True

    def _recipe(self, path: Path) -> bool:
        found = self.recipes.Recipe(self.recipes.read_recipe(path))
        found.questions()
        found.parameters()
        found.differences(None, {'force': 2.0, 'x': 1}, [])
        found.differences('flow: f', {}, [])
        for entry in found.spec.actions:
            found.fragment(entry.action)
        found.merged(found)
        try:
            self.parse_flow(found.text(), 'r.json')
        except DocumentError:
            return False
        return True


CASE = Files()
