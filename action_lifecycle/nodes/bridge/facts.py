# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The world model in ROS: its subscriptions, its clock and the topic ~/facts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
import functools
import json
import math
from typing import Any

from action_lifecycle_msgs import msg

from .black_box import Recorder
from ...ros.conversions.basic import to_time
from ...ros.conversions.evidence import fact_to
from ...ros.interfaces.qos import state_qos
from ...ros.node.diagnostics import ERROR, Health, OK, WARN
from ...ros.node.lifecycle_node import ManagedNode
from ...ros.node.memory import keep_memory, LARGE_TYPES
from ...ros.node.subscriptions import READ_TIME, Subscriptions, TopicNeed
from ...ros.node.timers import Alarm, Timeout
from ...world.evidence import Validity
from ...world.expressions.value_types import schema_of_kind
from ...world.facts.facts import ConstantFact, FactSet, TopicFact
from ...world.facts.facts_file import FactSpec, QosSpec, RateSpec
from ...world.model import WorldModel
from ...world.unmet_conditions import silence, Topics

LOOK_PERIOD = 0.5  #: time (s) between two looks for subscribers of ~/all_facts
NAMED = 10  #: maximum number of facts without a value in diagnostics
LATE = 0.05  #: maximum delay (s) of a due evaluation of a hold; a later one restarts the hold


def most_rate(spec: FactSpec) -> float:
    """Return the greatest rate (Hz) that a fact declares; 0: none."""
    rate = spec.health and spec.health.rate
    if isinstance(rate, RateSpec):
        return rate.max or rate.min
    return rate[1] if rate else 0.0


class Facts:
    """Passes messages to the model when they arrive, and the time when a deadline is due."""

    def __init__(self, node: ManagedNode, facts: FactSet, recorder: Recorder) -> None:
        # steps of simulated time may be longer than LATE
        simulated = node.get_parameter('use_sim_time').value
        self.model = WorldModel(facts, late=math.inf if simulated else LATE)
        self._node = node
        self._simulated = simulated
        self._recorder = recorder
        self._lost: dict[str, int] = {}  #: lost messages by topic
        self._reading = False
        if LARGE_TYPES.intersection(facts.topic_types().values()):
            keep_memory()
        self._alarm = Alarm(node, self._advance, ros_time=True)
        self.subscriptions = Subscriptions(
            node, self._needs(facts), linger=lambda: node.parameter('linger'))
        readers = self.subscriptions.readers
        self.model.look = self._look
        self.model.read_waiting = self._read_waiting
        self.names = Topics({topic: reader.name for topic, reader in readers.items()},
                            lambda topic: readers[topic].why_silent() if topic in readers else '')
        self._publisher = node.add_publisher(msg.WorldState, '~/facts', state_qos())
        self._declared = node.add_publisher(msg.WorldState, '~/declared_facts', state_qos())
        self._all = node.add_publisher(msg.WorldState, '~/all_facts', state_qos())
        self._release_all: Callable[[], None] | None = None  #: while ~/all_facts has subscribers
        node.add_timer(LOOK_PERIOD, self._look_for_subscribers)
        self._last: list[msg.Fact] = []
        self._timer: Timeout | None = None
        self.hold(facts.topics(name for name, fact in facts.items() if fact.spec.always))

    def _needs(self, facts: FactSet) -> Iterable[TopicNeed]:
        for topic, type_name in facts.topic_types().items():
            specs = [fact.spec for fact in facts.values()
                     if isinstance(fact, TopicFact) and fact.topic == topic]
            rates = [spec.max_rate for spec in specs]
            qos = next((spec.qos for spec in specs if spec.qos != QosSpec()), QosSpec())
            take = self._recorder.recording(
                topic, type_name, functools.partial(self._take, topic))
            yield TopicNeed(topic, type_name, qos, take,
                            max_rate=max(rates, default=0.0) if all(rates) else 0.0,
                            distrust=functools.partial(self._distrust, topic),
                            published=functools.partial(self._set_publishers, topic),
                            lost=functools.partial(self._lose, topic), waits=True,
                            rate=max(map(most_rate, specs), default=0.0))

    def declare(self) -> None:
        """Publish all facts of the file on ~/declared_facts, with the JSON Schema of each."""
        facts = self.model.facts
        self._declared.publish(msg.WorldState(stamp=to_time(self._node.now()), facts=[
            msg.Fact(name=name, topic=self.names.get(topic, topic), unit=fact.spec.unit,
                     value_json=json.dumps(schema_of_kind(facts.kinds[name])))
            for name, fact in facts.items()
            for topic in [fact.topic if isinstance(fact, TopicFact) else '']]))

    def changed(self) -> None:
        """Set the alarm to the next deadline; to be called after a new watch or sample."""
        self._alarm.set(self.model.next_deadline())

    def hold(self, topics: Iterable[str]) -> Callable[[], None]:
        """Subscribe to these topics until the returned function is called."""
        release = self.subscriptions.hold(topics)
        if self._timer is None:
            self._publish_regularly()
        return release

    def health(self) -> Health:
        """Return the faults of the subscribed topics for the diagnostics."""
        model, now, readers = self.model, self._node.now(), self.subscriptions.readers
        shown = {topic for topic, reader in readers.items()  # only, which makes it no fault
                 if self._release_all is not None and reader.users == 1}
        read = set(self._read()) - shown
        troubles = [reader.trouble for topic, reader in readers.items()
                    if reader.trouble and topic not in shown]
        silent = [f'{value.name}: {silence(value, now, self.names)}'
                  for value in (model.value(name, now) for name in self._facts_on(read))
                  if value.validity is not Validity.VALID]
        figures = {'topics read': len(read), 'facts without a value': len(silent),
                   **{f'messages lost of {self.names.get(topic, topic)}': count
                      for topic, count in self._lost.items()}}
        figures |= {f'trouble {number}': text
                    for number, text in enumerate([*troubles, *silent][:NAMED], 1)}
        if troubles:
            return Health(ERROR, troubles[0], figures)
        if silent:
            more = f', and {len(silent) - 1} more' if silent[1:] else ''
            return Health(WARN, silent[0] + more, figures)
        return Health(OK, f'{len(read)} topics read', figures)

    def destroy(self) -> None:
        """Unsubscribe and stop publishing."""
        self.subscriptions.destroy()
        self._alarm.destroy()
        if self._timer is not None:
            self._timer.cancel()

    def _take(self, topic: str, message: Any, age: float = 0.0) -> tuple[float, float]:
        """Process a sample; returns when it arrived (ROS time, s) and its age (s) then."""
        model, now = self.model, self._node.now()
        try:
            due = model.next_deadline()
            if self._simulated:
                age = 0.0
            if due <= now:  # it may have come before, as may others: these are read first
                arrived = math.nextafter(due, -math.inf)
                age = max(0.0, age - (now - arrived))
                now = arrived
            now = model.ingest(topic, message, now, age)
            if model.waiting:
                self.changed()
        except Exception:  # of a callback; it must not end the node
            self._node.log_exception(f'topic {topic}')
        return now, age

    def _set_publishers(self, topic: str, nodes: Sequence[str]) -> None:
        reader = self.subscriptions.readers[topic]
        self.model.set_publishers(topic, nodes, self._node.now(), reader.name, reader.sender)
        self.changed()

    def _distrust(self, topic: str, reason: str) -> None:
        name = self.subscriptions.readers[topic].name
        self.model.distrust(topic, reason and f"topic '{name}' {reason}", self._node.now())
        self.changed()

    def _look(self, topics: Iterable[str]) -> None:
        """Match the publishers before a decision: one may have come since the last poll."""
        for topic in topics:
            self.subscriptions.readers[topic].look()

    def _lose(self, topic: str, count: int) -> None:
        try:
            self._lost[topic] = self._lost.get(topic, 0) + max(1, count)
            self.model.lost(topic, count, self._node.now())
            self.changed()
        except Exception:  # of a callback; it must not end the node
            self._node.log_exception(f'topic {topic}')

    def _read_waiting(self) -> None:
        """Process the messages that wait for the executor."""
        if not self._reading:
            self._reading = True
            try:
                until = self._node.steady() + READ_TIME
                for reader in self.subscriptions.readers.values():
                    reader.read(until)
            finally:
                self._reading = False

    def _advance(self) -> None:
        self.model.advance(self._node.now())
        self.changed()

    def _look_for_subscribers(self) -> None:
        """Read all topics while somebody looks at ~/all_facts."""
        wanted = self._node.active and self._all.get_subscription_count() > 0
        if wanted and self._release_all is None:
            self._release_all = self.hold(self.subscriptions.readers)
        elif not wanted and self._release_all is not None:
            self._release_all()
            self._release_all = None

    def _publish_regularly(self) -> None:
        """Publish ~/facts periodically while a topic is subscribed."""
        read = self._read()
        self._publish(read)
        period = 1.0 / self._node.parameter('facts_rate')
        self._timer = Timeout(self._node, period, self._publish_regularly) if read else None

    def _read(self) -> set[str]:
        """Return the subscribed topics."""
        return {topic for topic, reader in self.subscriptions.readers.items() if reader.subscribed}

    def _facts_on(self, topics: set[str]) -> Iterator[str]:
        """Yield the names of the facts that need only these topics."""
        facts = self.model.facts
        if topics:
            for name, fact in facts.items():
                if not isinstance(fact, ConstantFact) and facts.topics([name]) <= topics:
                    yield name

    def _publish(self, read: set[str]) -> None:
        """Publish the facts on the subscribed topics if one of them has changed."""
        model, now = self.model, self._node.now()
        facts = [fact_to(model.value(name, now).as_dict(), self.names)
                 for name in self._facts_on(read)]
        if facts != self._last and self._node.active:
            self._last = facts
            state = msg.WorldState(stamp=to_time(now), facts=facts)
            self._publisher.publish(state)
            self._all.publish(state)
