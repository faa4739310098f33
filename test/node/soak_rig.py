# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The processes of one robot in a soak, what kills and hurts them, and what is checked at rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
import json
from pathlib import Path
import random
import shutil
import signal
import tempfile
import time
from typing import Any

from action_lifecycle.fleet import RedisReader
from action_lifecycle.journal import JournalError, JournalReader, verify_journal
from action_lifecycle.ros.interfaces.qos import state_qos
from action_lifecycle_msgs.msg import LedgerSync, SafetyState
from unit.fleet.redis_server import SERVER

from .forked import Forked
from .judge import judge
from .judged import Case, read_journal
from .process_rig import ProcessRig
from .robot_double import FACTS, RobotDouble
from .robot_process import FAULTS, PARTS
from .soak_people import People

NODES = ('world_model_bridge', 'ledger', 'action_lifecycle_node')
COMPOSED = ('composed',)
HURTS = ('pause', 'readonly', 'memory', 'script', 'restart')
REST = 150.0  #: s until all has ended, once everything is released and answered
CALM = 8.0  #: s, at most, from one kill to the next, but for some
QUIET = 0.5  #: s without a row
LOOK = 0.2  #: s between two looks whether all is at rest
ENDS = 30.0  #: s until a process has ended in order, on a busy machine
SHOWN = 5  #: violations in the message of a failure


class Soak(ProcessRig):
    """Three nodes or a composed one, Redis if it is there, the double, and people."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, redis=shutil.which(SERVER) is not None)
        self.path = folder / 'journal'
        self.facts.write_text(FACTS, encoding='utf-8')
        self.robot = RobotDouble(folder, self.environment)
        self.people = People(self.node, self.robot)
        self.processes: dict[str, Forked] = {}
        self.paused: set[str] = set()
        self.figures: Counter[str] = Counter()
        self.names: tuple[str, ...] = NODES
        self.sync = LedgerSync()
        self.checked = 0
        self._calm_until = 0.0
        self._later: list[tuple[float, Callable[[], None]]] = []
        self.node.create_subscription(LedgerSync, 'ledger/sync',
                                      lambda message: setattr(self, 'sync', message), state_qos())

    def begin(self) -> None:
        """Start the nodes."""
        self.start_missing()
        self.reader = self.until(self._open, 40.0, 'the journal')
        self.until(self.people.client.server_is_ready, 30.0, 'the action node')

    def _open(self) -> JournalReader | None:
        try:
            return JournalReader(self.path)
        except JournalError:  # it is not there yet
            return None

    # Processes

    def start_missing(self) -> None:
        for name in self.names:
            if name not in self.processes:
                self._start(name)

    def _start(self, name: str) -> None:
        given: dict[str, Any] = {'autostart': True}
        if name in ('world_model_bridge', 'composed'):
            given.update(facts_file=self.facts, stop_file=self.folder / 'stop')
        if name != 'world_model_bridge':
            given['journal_path'] = self.path
        if name in ('action_lifecycle_node', 'composed'):
            given['second_goal'] = 'attach'
        if name in ('ledger', 'composed') and self.redis is not None:
            given['ledger_url'] = self.redis.url
        self.processes[name] = self.spawn(name, given, log=name)
        self.figures['starts'] += 1

    def kill(self, *names: str) -> None:
        """Kill processes at once."""
        victims = [self.processes.pop(name) for name in names]
        for process in victims:
            process.kill()
        for process in victims:
            process.wait(10.0)
        self._gone(names, 'SIGKILL')

    def end_orderly(self, *names: str) -> None:
        """End processes by SIGINT; one that does not hear it is a failure."""
        victims = [self.processes.pop(name) for name in names]
        for process in victims:
            process.send_signal(signal.SIGINT)
        self.until(lambda: all(process.poll() is not None for process in victims), ENDS,
                   f"{', '.join(names)} end after SIGINT")
        self._gone(names, 'SIGINT')

    def _gone(self, names: tuple[str, ...], how: str) -> None:
        self.paused.difference_update(names)
        for name in names:
            self.figures[f'{how} {name}'] += 1
            if name in ('action_lifecycle_node', 'composed'):
                self.people.lost()

    def pause(self, name: str, seconds: float) -> None:
        """Let a process stand still."""
        process = self.processes[name]
        process.send_signal(signal.SIGSTOP)
        self.paused.add(name)
        self.figures[f'SIGSTOP {name}'] += 1

        def resume() -> None:
            self.paused.discard(name)
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)

        self.after(seconds, resume)

    def swap(self) -> None:
        """Use one process in place of three, or three in place of one."""
        self.names = COMPOSED if self.names == NODES else NODES

    # Time

    def after(self, seconds: float, call: Callable[[], None]) -> None:
        """Call when so much time has passed, while callbacks are served."""
        self._later.append((time.monotonic() + seconds, call))

    def spin(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.executor.spin_once(timeout_sec=0.02)
            self._do_due()

    def _do_due(self) -> None:
        now = time.monotonic()
        for one in [one for one in self._later if one[0] <= now]:
            self._later.remove(one)
            one[1]()

    # Chance

    def stir(self, rng: random.Random) -> None:
        """Do something of what people, the world and crashes may do."""
        rng.choices((self.people.order, self._order_and_kill, self._fault, self._kill, self._pause,
                     self._end, self._world, self._hurt_redis),
                    (44, 16, 16, 4, 5, 2, 4, 5))[0](rng)
        self.people.keep_busy(rng)

    def _order_and_kill(self, rng: random.Random) -> None:
        """Kill who is to carry an order out: before, while or after that is done."""
        if not self.robot.running() or not self._may_kill(rng):
            return
        if rng.random() < 0.5:  # what is stopped goes on until the node is back, at times
            self.robot.tell('fault', fault='slow_stop', seconds=rng.uniform(2.0, 8.0), now=True)
        elif 'world_model_bridge' in set(self.processes) - self.paused:
            self.pause('world_model_bridge', rng.uniform(0.5, 3.0))
        self.people.order_aloud(rng)
        self.spin(rng.choice((0.0, 0.005, 0.02, 0.1, 0.5)) * rng.random())
        # The node that carries orders out, by itself more often than not, or with others.
        who = sorted(set(self.processes) & {'action_lifecycle_node', 'composed'})
        self._down(rng, who if who and rng.random() < 0.6 else sorted(self.processes))

    def _may_kill(self, rng: random.Random) -> bool:
        """Whether the nodes had time to begin something; now and then they get none."""
        return bool(self.processes) and (
            time.monotonic() > self._calm_until or rng.random() < 0.1)

    def _fault(self, rng: random.Random) -> None:
        fault = rng.choice(sorted(FAULTS))
        self.figures[f'fault {fault}'] += 1
        self.robot.tell('fault', part=rng.choice(list(PARTS)), fault=fault,
                        seconds=round(rng.uniform(0.2, 3.5), 2))
        self.after(rng.uniform(2.0, 8.0), lambda: self.robot.tell('release'))

    def _world(self, rng: random.Random) -> None:
        what, state, normal, longest = rng.choice((
            ('estop', 'pressed', 'clear', 1.0), ('estop', 'silent', 'clear', 5.0),
            ('facts', 'silent', 'publish', 4.0)))
        self.figures[f'{what} {state}'] += 1
        self.robot.tell(what, state=state)
        self.after(rng.uniform(0.2, longest), lambda: self.robot.tell(what, state=normal))

    def _kill(self, rng: random.Random) -> None:
        if self._may_kill(rng):
            self._down(rng, sorted(self.processes))

    def _down(self, rng: random.Random, there: Sequence[str]) -> None:
        """Kill some of these, all of them at times, and have them started again."""
        self.kill(*rng.sample(there, min(rng.choice((1, 1, 1, 2, 3)), len(there))))
        if not self.processes and rng.random() < 0.5:
            self.swap()
        self.after(rng.uniform(0.0, 1.5), self.start_missing)
        self._calm_until = time.monotonic() + rng.uniform(2.0, CALM)

    def _end(self, rng: random.Random) -> None:
        there = sorted(set(self.processes) - self.paused)
        if there and self._may_kill(rng):
            self.end_orderly(*(there if rng.random() < 0.5 else [rng.choice(there)]))
            if not self.processes and rng.random() < 0.7:
                self.swap()
            self.after(rng.uniform(0.0, 0.5), self.start_missing)
            self._calm_until = time.monotonic() + rng.uniform(2.0, CALM)

    def _pause(self, rng: random.Random) -> None:
        there = sorted(set(self.processes) - self.paused)
        if there:
            self.pause(rng.choice(there), rng.uniform(0.1, 3.0))

    def _hurt_redis(self, rng: random.Random) -> None:
        if self.redis is None:
            return
        how = rng.choice(HURTS)
        self.redis.mend()  # one that is paused still would not answer
        self.figures[f'Redis {how}'] += 1
        {'pause': self.redis.pause, 'restart': self.redis.restart,
         'readonly': lambda: self.redis.client.replicaof('127.0.0.1', 1),
         'memory': lambda: self.redis.client.config_set('maxmemory', 1),
         'script': self.redis.client.script_flush}[how]()
        if how in ('pause', 'readonly', 'memory'):
            self.after(rng.uniform(0.2, 1.0), self.redis.mend)

    # Rest

    def rest(self, rng: random.Random) -> None:
        """Undo what was done, answer what is open, and wait until nothing happens any more."""
        self.until(lambda: self._do_due() or not self._later, 20.0, 'what was begun is undone')
        self.robot.tell('release')
        self.robot.tell('estop', state='clear')
        self.robot.tell('facts', state='publish')
        if self.redis is not None:
            self.redis.mend()
        self.start_missing()
        seq, since, next_look = -1, time.monotonic(), 0.0

        def at_rest() -> bool:
            nonlocal seq, since, next_look
            # Each look reads files, and one callback is served in between: with many looks, the
            # people would answer questions of a minute ago.
            if time.monotonic() < next_look:
                return False
            next_look = time.monotonic() + LOOK
            self.people.settle(rng)
            if self.reader.last_seq() != seq:
                seq, since = self.reader.last_seq(), time.monotonic()
            return time.monotonic() - since > QUIET and self.people.nothing_asked() \
                and not self.robot.running() and not self.reader.open_flows() \
                and self.people.safety.state == SafetyState.READY \
                and not self.people.safety.locked_resources

        try:
            self.until(at_rest, REST, 'all is at rest')
        except AssertionError as error:
            raise AssertionError(f'{self._not_at_rest()}\n{error}') from None
        self.people.asked.clear()

    def _not_at_rest(self) -> str:
        flows = [row.flow_id for row in self.reader.open_flows()]
        rows = [row for row in read_journal(self.path) if row.flow_id in flows]
        return '\n'.join([
            f'open flows: {flows}', f'moving: {self.robot.running()}',
            f'asked: {self.people.asked}', f'questions: {self.people.requests.requests}',
            f'safety: {self.people.safety}', *map(str, rows[-40:])])

    def check(self) -> None:
        """Judge what the journal, the double, the node and Redis say."""
        self.spin(0.1)
        case = Case(read_journal(self.path), self.robot.log(), self.people.orders,
                    self.people.changes)
        violations = judge(case)
        assert not violations, '\n'.join([
            f'{len(violations)} violations', *map(str, violations[:SHOWN])])
        # The topic may lag behind, that of a node that has just been started again above all.
        self.until(lambda: not list(self._differences(case)), 15.0,
                   'the memory of the node agrees with the journal')
        if self.redis is not None:
            self.until(lambda: self.sync.ledger_seq == self.reader.last_seq(), 60.0,
                       'all is synced')
            rows = list(self.reader.rows(after=self.checked))
            ledger = RedisReader(self.redis.url)
            assert list(ledger.rows(after=self.checked)) == rows
            ledger.close()
        assert verify_journal(self.path) == []
        self.checked = len(case.rows)
        self.figures['rows'] = len(case.rows)
        self.figures['motions'] = self.robot.count()

    def _differences(self, case: Case) -> Iterator[str]:
        """Yield flows that the node has in memory otherwise than the journal says."""
        last = {(row.flow_id, row.action_id): (row.to_state, row.data.get('outcome', ''))
                for row in case.rows if row.kind == 'transition'}
        for told in (action for flow in self.people.flows.flows for action in flow.actions):
            if last.get((told.flow_id, told.action_id)) != (told.state.value, told.state.outcome):
                yield f'{told.flow_id}/{told.action_id}'

    def keep(self) -> Path:
        """Copy all that shows what has happened to where nobody clears it away."""
        (self.folder / 'orders.jsonl').write_text(''.join(
            json.dumps(asdict(one)) + '\n' for one in [*self.people.orders, *self.people.changes]))
        kept = Path(tempfile.mkdtemp(prefix='action_lifecycle_soak_'))
        shutil.copytree(self.folder, kept, dirs_exist_ok=True)
        return kept

    def close(self) -> None:
        for process in self.processes.values():
            process.send_signal(signal.SIGCONT)
        self.people.client.destroy()
        self.end(self.processes.values())
        self.robot.close()
