# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Machines: the order of the hooks, guards, what an exception leaves behind, the queue."""

from __future__ import annotations

from typing import Any

from action_lifecycle.engine import LifecycleError, load_graph, Machine, TransitionNotAllowed
import pytest

DOOR = load_graph("""\
initial: shut
states:
  shut: {exit: creak}
  open: {enter: greet}
  broken: {final: true}
transitions:
  - {event: push, from: shut, to: open, cond: unlocked, unless: jammed, validators: check,
     before: reach, on: turn, after: relax}
  - {event: push, from: shut, to: broken, cond: strong}
  - {event: pull, from: open, to: shut}
  - {event: kick, from: [shut, open], to: broken}
""")
PLACES = [
    'validators', 'check', 'cond', 'unless', 'unlocked', 'jammed', 'before_transition',
    'before_push', 'reach', 'on_exit_state', 'on_exit_shut', 'creak', 'on_transition', 'on_push',
    'turn', 'commit', 'publish', 'on_enter_state', 'on_enter_open', 'greet', 'after_push', 'relax',
    'after_transition',
]
AFTER_COMMIT = PLACES[PLACES.index('publish'):]


class Witness:
    """Has every hook, guard and outlet, and writes down how each is called."""

    def __init__(self, raising: str = '') -> None:
        self.raising = raising
        self.seen: list[tuple[str, str]] = []
        self.strong = False
        self.machine: Machine | None = None

    def __getattr__(self, name: str) -> Any:
        if name not in PLACES:
            raise AttributeError(name)

        def hook(state: str) -> bool:
            return self.note(name, state)
        return hook

    def note(self, name: str, state: str) -> bool:
        assert self.machine is not None and self.machine.state == state
        self.seen.append((name, state))
        if name == self.raising:
            raise ZeroDivisionError(name)
        return name not in ('unless', 'jammed')

    def commit(self, change: Any) -> None:
        assert (change.event, change.source, change.target) == ('push', 'shut', 'open')
        self.note('commit', 'shut')

    def publish(self, change: Any) -> None:
        self.note('publish', 'open')


def door(witness: Witness, **options: Any) -> Machine:
    machine = Machine(DOOR, listeners=[witness], commit=witness.commit, publish=witness.publish,
                      **options)
    witness.machine = machine
    return machine


class Lock:
    """The guards of the door, as attributes."""

    unlocked = True
    jammed = strong = False

    def check(self) -> None:
        """Pass."""

    reach = turn = relax = creak = greet = check


def test_hooks_run_in_the_order_of_the_design_each_in_its_state() -> None:
    witness = Witness()
    transition = door(witness).fire('push')
    assert (transition.source, transition.event, transition.target) == ('shut', 'push', 'open')
    assert witness.seen == [
        (name, 'open' if name in AFTER_COMMIT else 'shut') for name in PLACES]


@pytest.mark.parametrize('place', PLACES)
def test_exception_leaves_the_state_as_the_commit_does(place: str) -> None:
    witness = Witness(raising=place)
    machine = door(witness)
    with pytest.raises(ZeroDivisionError, match=place):
        machine.fire('push')
    advanced = place in AFTER_COMMIT
    assert machine.state == ('open' if advanced else 'shut')
    assert len(machine.history) == advanced
    assert [name for name, _ in witness.seen] == PLACES[:PLACES.index(place) + 1]
    witness.raising = ''
    if not advanced:
        machine.fire('push')
        assert machine.state == 'open'


@pytest.mark.parametrize('place', AFTER_COMMIT)
def test_error_after_the_commit_goes_to_on_error(place: str) -> None:
    told: list[tuple[str, str]] = []
    witness = Witness(raising=place)
    machine = door(witness, on_error=lambda change, error: told.append(
        (change.target, str(error))))
    assert machine.fire('push') is machine.history[0]
    assert told == [('open', place)]


def test_on_error_can_fire_the_event_that_follows() -> None:
    class Listener(Lock):

        def on_enter_open(self) -> None:
            raise ValueError('the hinge')

    machine = Machine(DOOR, listeners=[Listener()],
                      on_error=lambda change, error: change.machine.fire('kick'))
    machine.fire('push')
    assert [step.target for step in machine.history] == ['open', 'broken']


def test_data_reach_every_hook_that_declares_them() -> None:
    got: dict[str, Any] = {}

    class Listener(Lock):

        def before_push(self, hand: str, force: float = 1.0) -> None:
            got['before'] = hand, force

        def on_enter_open(self, event: str, source: str, target: str, state: str,
                          machine: Machine, change: Any, *rest: Any, hand: str) -> None:
            got['enter'] = event, source, target, state, machine, change.data, hand

        def after_transition(self, **everything: Any) -> None:
            got['after'] = set(everything)

        def on_push(self) -> None:
            got['on'] = None

    machine = Machine(DOOR, listeners=[Listener()])
    machine.fire('push', hand='left', why='visit')
    data = {'hand': 'left', 'why': 'visit'}
    assert got == {
        'before': ('left', 1.0), 'on': None,
        'enter': ('push', 'shut', 'open', 'open', machine, data, 'left'),
        'after': {'event', 'source', 'target', 'state', 'machine', 'change', 'hand', 'why'},
    }


def test_data_may_not_take_the_name_of_what_hooks_are_given() -> None:
    class Listener(Lock):

        def on_push(self, event: str) -> None:
            pass

    with pytest.raises(LifecycleError, match="event 'push': event, state can't name data"):
        Machine(DOOR, listeners=[Listener()]).fire('push', **{'event': 1, 'state': 2})


def test_what_before_transition_decides_hooks_may_change_until_after_transition() -> None:
    class Speaker(Lock):
        persistence = ''
        dialogue: list[str]

        def before_transition(self) -> None:
            self.persistence = 'RAW'

        def on_enter_open(self, hush: bool = False) -> None:
            if hush:
                self.persistence = 'NONE'

        def after_transition(self, event: str) -> None:
            if self.persistence != 'NONE':
                self.dialogue.append(event)

    speaker = Speaker()
    speaker.dialogue = []
    machine = Machine(DOOR, listeners=[speaker])
    machine.fire('push', hush=True)
    machine.fire('pull')
    assert speaker.dialogue == ['pull']


def test_guard_that_says_no_leaves_the_state_and_the_possible_events_are_listed() -> None:
    lock = Lock()
    lock.jammed = True
    machine = Machine(DOOR, listeners=[lock])
    with pytest.raises(TransitionNotAllowed) as caught:
        machine.fire('push')
    assert machine.state == 'shut'
    assert machine.history == ()
    assert caught.value.possible == ('kick',) == machine.possible_events()
    assert str(caught.value) == (
        "event 'push' is not allowed in state 'shut': guard 'jammed' holds, guard 'strong' does "
        'not hold; possible events: kick')
    lock.jammed = False
    assert machine.possible_events() == ('push', 'kick')


def test_first_transition_whose_guards_hold_is_taken() -> None:
    lock = Lock()
    lock.unlocked, lock.strong = False, True
    machine = Machine(DOOR, listeners=[lock])
    machine.fire('push')
    assert machine.state == 'broken'


def test_all_listeners_that_have_a_guard_must_agree() -> None:
    class Other:

        def unlocked(self) -> bool:
            return False

    machine = Machine(DOOR, listeners=[Lock()])
    machine.add_listener(Other())
    with pytest.raises(TransitionNotAllowed):
        machine.fire('push')


@pytest.mark.parametrize('missing', ['unlocked', 'check', 'greet'])
def test_name_that_no_listener_has_is_an_error_before_anything_runs(missing: str) -> None:
    listener = type('Listener', (), {
        name: (lambda self: True) for name in ('unlocked', 'jammed', 'check', 'reach', 'turn',
                                               'relax', 'creak', 'greet', 'strong')
        if name != missing})()
    machine = Machine(DOOR, listeners=[listener])
    with pytest.raises(LifecycleError, match=f"'{missing}' of <push: shut -> open> is on no"):
        machine.fire('push')
    assert machine.state == 'shut'


def test_guard_may_use_data_and_is_asked_without_them_too() -> None:
    class Listener(Lock):

        def unlocked(self, key: str = '') -> bool:  # type: ignore[override]
            return key == 'right'

    machine = Machine(DOOR, listeners=[Listener()])
    assert machine.possible_events() == ('kick',)
    assert machine.possible_events(key='right') == ('push', 'kick')
    with pytest.raises(TransitionNotAllowed):
        machine.fire('push', key='wrong')
    machine.fire('push', key='right')


def test_refusal_is_raised_even_if_the_guard_of_another_event_fails() -> None:
    class Listener(Lock):

        def unlocked(self, key: str) -> bool:  # type: ignore[override]
            return key == 'right'

    machine = Machine(DOOR, listeners=[Listener()])
    with pytest.raises(TransitionNotAllowed, match='possible events: push, kick'):
        machine.fire('fly')
    with pytest.raises(TypeError, match='key'):
        machine.possible_events()


def test_unknown_event_is_refused() -> None:
    with pytest.raises(TransitionNotAllowed, match="event 'fly' is not allowed in state 'shut'"):
        Machine(DOOR, listeners=[Lock()]).fire('fly')


def test_expect_makes_it_a_compare_and_set() -> None:
    machine = Machine(DOOR, listeners=[Lock()])
    with pytest.raises(TransitionNotAllowed, match="expected state 'open'"):
        machine.fire('kick', expect='open')
    assert machine.state == 'shut'
    machine.fire('kick', expect='shut')
    assert machine.state == 'broken'


def test_event_fired_inside_a_hook_queues_behind() -> None:
    seen: list[str] = []

    class Listener(Lock):
        machine: Machine

        def before_push(self) -> None:
            assert self.machine.fire('pull') is None
            assert self.machine.fire('kick') is None
            seen.append(f'before {self.machine.state}')

        def after_transition(self, event: str) -> None:
            seen.append(f'after {event} {self.machine.state}')

    listener = Listener()
    listener.machine = Machine(DOOR, listeners=[listener])
    assert listener.machine.fire('push').target == 'open'
    assert seen == ['before shut', 'after push open', 'after pull shut', 'after kick broken']


def test_queued_events_are_worked_off_whatever_fails_and_the_first_error_is_raised(
    caplog: pytest.LogCaptureFixture
) -> None:
    class Listener(Lock):
        machine: Machine

        def on_enter_open(self) -> None:
            for event in ('fly', 'kick', 'swim'):
                self.machine.fire(event)
            raise ValueError('first')

    listener = Listener()
    machine = listener.machine = Machine(DOOR, listeners=[listener])
    with pytest.raises(ValueError, match='first'):
        machine.fire('push')
    assert machine.state == 'broken'
    assert "event 'fly' is not allowed" in caplog.text
    assert "event 'swim' is not allowed" in caplog.text


def test_interrupt_drops_what_is_queued_and_the_machine_goes_on() -> None:
    class Listener(Lock):
        machine: Machine

        def on_enter_open(self) -> None:
            self.machine.fire('kick')
            raise KeyboardInterrupt

    listener = Listener()
    machine = listener.machine = Machine(DOOR, listeners=[listener])
    with pytest.raises(KeyboardInterrupt):
        machine.fire('push')
    assert machine.state == 'open'
    machine.fire('pull')
    assert machine.state == 'shut'


def test_machine_starts_in_a_stored_state_without_hooks() -> None:
    witness = Witness()
    machine = door(witness, state='open')
    assert (machine.state, machine.history, witness.seen) == ('open', (), [])
    with pytest.raises(LifecycleError, match="no state 'opne'; did you mean 'open'"):
        Machine(DOOR, state='opne')


def test_history_is_bounded() -> None:
    graph = load_graph('initial: a\nstates: {a: {final: true}}\n'
                       'transitions: [{event: again, from: a, to: a}]\n')
    machine = Machine(graph, history_limit=3)
    for _ in range(10):
        machine.fire('again')
    assert machine.history == graph.transitions * 3


def test_self_transition_leaves_and_enters() -> None:
    graph = load_graph('initial: a\nstates: {a: {final: true}}\n'
                       'transitions: [{event: again, from: a, to: a}]\n')
    seen = []

    class Listener:

        def on_exit_a(self) -> None:
            seen.append('exit')

        def on_enter_a(self) -> None:
            seen.append('enter')

    Machine(graph, listeners=[Listener()]).fire('again')
    assert seen == ['exit', 'enter']


def test_two_machines_on_one_graph_share_no_mutable_state() -> None:
    one, other = Machine(DOOR, listeners=[Lock()]), Machine(DOOR, listeners=[Lock()])
    one.fire('push')
    assert (one.state, other.state) == ('open', 'shut')
    assert other.history == ()
    one.add_listener(object())
    other.fire('push')
    assert len(other.history) == 1


def test_async_outlets_are_refused() -> None:
    async def commit(change: Any) -> None:
        pass

    with pytest.raises(LifecycleError, match='is async'):
        Machine(DOOR, commit=commit)


class Counted:
    """Its hooks are methods; its guard reads the object."""

    hooks_are_methods = True

    def __init__(self, open: bool) -> None:  # noqa: A002
        self.open = open
        self.pushed = 0

    def unlocked(self) -> bool:
        return self.open

    def on_push(self, by: int = 1) -> None:
        self.pushed += by


HATCH = """\
initial: shut
states: {shut: {}, open: {}}
transitions:
  - {event: push, from: shut, to: open, cond: unlocked}
  - {event: pull, from: open, to: shut}
"""


def test_noted_hooks_are_those_of_each_machine_s_own_listeners() -> None:
    graph = load_graph(HATCH)
    listeners = [Counted(open=number % 2 == 0) for number in range(6)]
    for number, listener in enumerate(listeners):
        machine = Machine(graph, listeners=(listener,))
        if listener.open:
            machine.fire('push', by=number)
            machine.fire('pull')
        else:
            with pytest.raises(TransitionNotAllowed):
                machine.fire('push', by=number)
    assert [listener.pushed for listener in listeners] == [0, 0, 2, 0, 4, 0]


def test_hooks_of_objects_are_found_although_their_class_has_none() -> None:
    graph, seen = load_graph(HATCH), list[str]()

    class Plain:
        unlocked = True

    for name in ('', 'a', ''):
        listener = Plain()
        if name:
            listener.on_push = lambda name=name: seen.append(name)  # type: ignore[attr-defined]
        Machine(graph, listeners=(listener,)).fire('push')
    assert seen == ['a']
