# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Converts between the world model's objects and the bridge's messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
import json

from action_lifecycle_msgs import msg
import numpy as np

from ..engine.json_text import read_object
from ..lifecycle.words import numbers_in_words
from ..ros.stamps import to_time
from ..world import Condition, Evidence, FactValue, Validity, Verdict
from ..world.evidence import plain
from ..world.values import Parameters


class Topics(dict[str, str]):
    """Resolved topic names by the names in the facts file; `why` explains a missing sample."""

    def __init__(self, names: Mapping[str, str], why: Callable[[str], str]) -> None:
        super().__init__(names)
        self.why = why


def condition_from(message: msg.Condition) -> Condition:
    """Return a condition of a request."""
    return Condition(message.name or 'condition', message.expression, message.hold,
                     message.within, message.max_age)


def parameters_from(text: str) -> Parameters:
    """Return the parameters of a request; raises LifecycleError if they are no JSON object."""
    return Parameters(read_object(text, 'parameters_json'))


def fact_to(value: FactValue, topics: Mapping[str, str]) -> msg.Fact:
    """Return the message of a fact; `topics`: resolved names by the names in the facts file."""
    numbers = value.numbers()
    return msg.Fact(
        name=value.name, stamp=to_time(value.stamp), topic=topics.get(value.topic, value.topic),
        validity=int(value.validity), numbers=numbers or [], unit=value.unit,
        value_json='' if numbers is not None or value.value is None
        else json.dumps(plain(value.value)))


def evidence_to(evidence: Evidence, topics: Mapping[str, str]) -> msg.Evidence:
    """Return the message of evidence."""
    return msg.Evidence(
        condition=evidence.condition, expression=evidence.expression,
        verdict=int(evidence.verdict), stamp=to_time(evidence.stamp), held=evidence.held,
        facts=[fact_to(fact, topics) for fact in evidence.facts])


_IS = {Verdict.TRUE: 'is true', Verdict.FALSE: 'is false', Verdict.UNKNOWN: 'is not known'}


def in_words(evidence: Iterable[Evidence], topics: Topics) -> str:
    """Describe the evidence of conditions in words, those that are not true first."""
    entries = sorted(evidence, key=lambda entry: entry.verdict is Verdict.TRUE)
    return '; '.join(
        f'{entry.condition}: {entry.expression} {_IS[entry.verdict]} ('
        + (', '.join(_fact_in_words(fact, entry.stamp, topics) for fact in entry.facts)
           or 'no facts') + ')' + (f': {entry.note}' if entry.note else '')
        for entry in entries)


def _fact_in_words(fact: FactValue, now: float, topics: Topics) -> str:
    words = fact.name if fact.value is None else f'{fact.name} {_value_in_words(fact)}'
    if fact.validity is Validity.VALID:
        return words
    return f'{words} {fact.validity.name.lower()}: {silence(fact, now, topics)}'


def _value_in_words(fact: FactValue) -> str:
    numbers = fact.numbers()
    if numbers is None:
        value = str(fact.value)
    elif isinstance(fact.value, np.ndarray):
        value = numbers_in_words(numbers)
    else:
        value = f'{numbers[0] or 0.0:.4g}'  # no -0
    return f'{value} {fact.unit}' if fact.unit else value


def silence(fact: FactValue, now: float, topics: Topics) -> str:
    """Explain why a fact has no value at `now` (s): its topic, and the age of its last sample."""
    topic = topics.get(fact.topic, fact.topic)
    if fact.stamp <= 0:
        why = topics.why(fact.topic) if topic else ''
        return f'no sample on {topic} yet' + (why and f' ({why})') if topic else 'not seen yet'
    age = f'{now - fact.stamp:.3g} s'
    if fact.validity is Validity.STALE:
        return f"{topic or 'the last sample'} has been silent for {age}"
    if fact.value is None:
        return (f"the last sample{topic and f' on {topic}'} has no value: "
                + (fact.note or 'not a finite number'))
    return f"the last sample{topic and f' on {topic}'} is {age} old and does not count"
