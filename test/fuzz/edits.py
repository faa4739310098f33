# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Edits of flows that run: judged, applied, and read back from the journal as they were."""

from __future__ import annotations

import random
from typing import Any

from action_lifecycle.flow import parse_flow
from action_lifecycle.flow.files.edit import parse_edit
from action_lifecycle.flow.restart.restore import Restored

from .case import Case
from .flows import action
from .rig import hand_over, Rig
from .values import how_many, misspelt, mutated, text, value
from .yaml_text import damaged, Writer

MOTION = {'server': 'arm', 'type': 'a/action/B', 'goal': {'force': '{{ force }}'}}
FLOWS = 6
"""Different flows of a block."""


def plain_action(rng: random.Random, earlier: list[str]) -> dict[str, Any]:
    """Return an action that the robot of the rig can carry out."""
    made: dict[str, Any] = {'confirm': rng.choice(('z > 0', {'condition': 'z > {{ force }}'}))}
    if rng.random() < 0.6:
        made['motion'] = MOTION
    if earlier and rng.random() < 0.6:
        made['after'] = rng.choice((rng.choice(earlier), {rng.choice(earlier): 'completion'}))
    if rng.random() < 0.3:
        made['resources'] = ['arm']
    if rng.random() < 0.2:
        made['verify'] = 'operator'
    return made


def plain_flow(rng: random.Random) -> dict[str, Any]:
    """Return a flow that the robot of the rig can carry out."""
    actions: dict[str, Any] = {}
    for place in range(rng.randrange(2, 7)):
        actions[f'a{place}'] = plain_action(rng, list(actions))
    return {'flow': 'f', 'parameters': {'force': {'default': 1.0}},
            'defaults': {'timeout': 100.0} if rng.random() < 0.5 else {}, 'actions': actions}


def edit(rng: random.Random, names: list[str]) -> list[Any]:
    """Return an edit of a flow with these actions."""
    new = [f'n{place}' for place in range(3)]

    def name() -> str:
        return rng.choice(names) if rng.random() < 0.9 else misspelt(rng, rng.choice(names))

    def made() -> dict[str, Any]:
        return plain_action(rng, names) if rng.random() < 0.85 else action(rng, names)

    steps: list[Any] = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        verb = rng.choice(('add', 'add', 'add', 'update', 'update', 'depend', 'remove',
                           'independ', 'clear', 'build', 'build'))
        if verb == 'add':
            steps.append({verb: {one: made() for one in rng.sample(new, rng.randrange(1, 3))}})
        elif verb == 'build':
            steps.append({verb: {one: made() for one in [*rng.sample(new, 2), *names[-2:]]}})
        elif verb == 'update':
            steps.append({verb: {name(): rng.choice((
                {'timeout': 5.0}, {'motion': [MOTION]}, {'after': []}, {'confirm': 'z > 2'},
                {'parameters': {'p': 1}}, {'resources': ['arm', 'hand']}))}})
        elif verb == 'depend':
            steps.append({verb: {name(): rng.choice((name(), [name()], {name(): 'completion'}))}})
        elif verb == 'independ':
            steps.append({verb: {name(): rng.choice((name(), [name()]))}})
        elif verb == 'remove':
            steps.append({verb: rng.choice((names[-1], [names[-1]], name(), [name(), name()]))})
        else:
            steps.append({verb: True})
    return steps


class Edits(Case):
    """Edits at random moments; what the journal makes of a flow is what the edit made of it."""

    rig: Rig | None = None

    def begin(self, rng: random.Random) -> None:
        if self.rig is not None:
            self.rig.close()
        self.rig = Rig('edits')
        self.flows = []
        for _ in range(FLOWS):
            data = plain_flow(rng)
            self.flows.append((
                parse_flow(Writer(rng).write(data), 'f.yaml'), list(data['actions'])))

    def make(self, rng: random.Random) -> Any:
        which = rng.randrange(FLOWS)
        names = self.flows[which][1]
        edits = []
        for _ in range(rng.choice((1, 1, 2, 3))):
            data: Any = edit(rng, names)
            if rng.random() < 0.25:
                data = mutated(rng, data, how_many(rng))
            made = Writer(rng).write(data if rng.random() < 0.98 else value(rng))
            if rng.random() < 0.08:
                made = damaged(rng, made)
            edits.append((rng.choice((0.0, 0.05, 0.5, 1.05, 1.5, 3.0, 9.0)), made,
                          rng.choice((0, 0, 0, 1, -1, 5, 2**63)),
                          text(rng) if rng.random() < 0.02 else 'me'))
        return which, edits, rng.randrange(2**32), rng.random() < 0.3

    def check(self, given: Any) -> bool:
        which, edits, seed, canceled = given
        rig = self.rig
        assert rig is not None
        hand_over(random.Random(seed), rig.robot)
        run = rig.submit(self.flows[which][0])
        refusal: Exception | None = None
        applied = False
        try:
            for seconds, made, base, author in edits:
                rig.clock.run(seconds)
                before = _shape(run)
                try:
                    rig.orchestrator.edit(run.flow_id, parse_edit(made), author, 'why', base)
                except self.refused as error:
                    refusal = error
                    assert _shape(run) == before, 'a refused edit has changed the flow'
                else:
                    applied = True
            if applied:
                again = Restored(rig.orchestrator, run.flow_id).run
                assert _shape(again) == _shape(run), 'read back, the flow is another'
        finally:
            if canceled:
                rig.orchestrator.cancel(run.flow_id, 'me', 'done')
            rig.rest()
            if not run.ended:
                rig.orchestrator.cancel(run.flow_id, 'me', 'done')
                rig.rest()
            assert run.ended, 'a flow that was canceled, and whose motions have ended, goes on'
            rig.clock._later.clear()
            rig.orchestrator.runs.pop(run.flow_id, None)
        if refusal is not None and not applied:
            raise refusal
        return True


def _shape(run: Any) -> Any:
    """Return what edits change: the actions, what is written of them, what they wait for."""
    return (run.flow.actions, {name: dict(run.flow.raws[name]) for name in run.flow.actions},
            run.flow.late, [(entry['author'], list(entry['names'])) for entry in run.edits])


CASE = Edits()
