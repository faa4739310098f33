# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Checks of a graph as a whole.

Each check yields findings: the name of a state or the transition at fault, and a message.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Union

from .graph import GraphState, Invariant, reachable, Transition

Finding = tuple[Union[str, Transition], str]


def findings(
    initial: str | None,
    states: Mapping[str, GraphState],
    transitions: Collection[Transition],
    invariants: Iterable[Invariant],
) -> Iterator[Finding]:
    """Yield the findings of all checks; without an initial state, of those that need none."""
    yield from clashing_names(states, transitions)
    yield from ambiguous(transitions)
    yield from traps(states, transitions)
    if initial is not None:
        yield from unreachable(initial, states, transitions)
        for invariant in invariants:
            yield from evaded(initial, transitions, invariant)


def clashing_names(
    states: Iterable[str], transitions: Iterable[Transition]
) -> Iterator[Finding]:
    """Yield names for which two hooks would have the same name."""
    taken = {f'{side}_{state}' for side in ('enter', 'exit') for state in (*states, 'state')}
    taken.add('transition')
    if 'state' in states:
        yield 'state', "'state' can't name a state: on_enter_state is the hook of every state"
    for transition in transitions:
        if transition.event in taken:
            yield transition, (f"'{transition.event}' can't name an event: on_{transition.event} "
                               'is another hook already')


def ambiguous(transitions: Iterable[Transition]) -> Iterator[Finding]:
    """Yield repeated unguarded transitions of a state and event, and repeated defaults."""
    always: dict[tuple[str, str], Transition] = {}
    defaults: dict[str, Transition] = {}
    for transition in transitions:
        if not transition.guarded:
            first = always.setdefault((transition.source, transition.event), transition)
            if first is not transition:
                yield transition, (
                    f"event '{transition.event}' leaves state '{transition.source}' twice without "
                    f"a guard: to '{first.target}' and to '{transition.target}'")
        if transition.default:
            first = defaults.setdefault(transition.source, transition)
            if first is not transition:
                yield transition, (f"state '{transition.source}' has two default transitions: "
                                   f"to '{first.target}' and to '{transition.target}'")


def unreachable(
    initial: str, states: Iterable[str], transitions: Iterable[Transition]
) -> Iterator[Finding]:
    """Yield states that no sequence of events reaches."""
    found = reachable([initial], _targets(transitions))
    for state in states:
        if state not in found:
            yield state, f"state '{state}' can't be reached from the initial state '{initial}'"


def traps(
    states: Mapping[str, GraphState], transitions: Iterable[Transition]
) -> Iterator[Finding]:
    """Yield states without a path to a final state, if the graph has a final state."""
    final = [name for name, state in states.items() if state.final]
    sources: dict[str, list[str]] = {}
    for transition in transitions:
        sources.setdefault(transition.target, []).append(transition.source)
    ending = reachable(final, sources)
    for name in states if final else ():
        if name not in ending:
            yield name, f"state '{name}' is a trap: no way leads from it to a final state"


def evaded(
    initial: str, transitions: Iterable[Transition], invariant: Invariant
) -> Iterator[Finding]:
    """Yield violated invariants: the state is reachable without its must-pass state."""
    open_ways = (
        transition for transition in transitions
        if not any(guard in transition.unless for guard in invariant.given)
    )
    if invariant.state in reachable([initial], _targets(open_ways), invariant.must_pass):
        given = f" (given {', '.join(invariant.given)})" if invariant.given else ''
        yield invariant.state, (f"state '{invariant.state}' can be reached without passing "
                                f"'{invariant.must_pass}'{given}")


def _targets(transitions: Iterable[Transition]) -> dict[str, list[str]]:
    targets: dict[str, list[str]] = {}
    for transition in transitions:
        targets.setdefault(transition.source, []).append(transition.target)
    return targets
