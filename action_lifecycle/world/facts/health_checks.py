# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Checks what a facts file says of the health of facts, and compiles its conditions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
import math
from typing import Any

from .equal_samples import equal_probability, likely_run
from .facts_file import AgreeSpec, FactsFile, FactSpec, FrozenSpec, HealthSpec, RateSpec
from ..expressions.expression import compile_expression, Expression
from ..expressions.value_types import Kind, NUMERIC
from ...documents.errors import DocumentError, Fault
from ...documents.suggestions import nearest
from ...documents.yaml_document import Document

LONGEST_RUN = 10_000  #: equal samples that may be likely; with more, no failure would be found
_NUMBERS = NUMERIC - {Kind.TRUTH, Kind.TRUTHS} | {Kind.ANY}


@dataclass
class Health:
    """
    The health of a fact.

    `spec` is None if only another fact declares to agree with it. `agree`: the facts with which it
    must agree, with the condition on which they are compared. `related`: the facts on which its
    health depends.
    """

    spec: HealthSpec | None
    agree: tuple[tuple[AgreeSpec, Expression | None], ...] = ()
    related: tuple[str, ...] = ()


def add_health(
    document: Document, file: FactsFile, kinds: Mapping[str, Kind], found: dict[str, Health]
) -> Iterator[Fault]:
    """Add the health of the facts; yields the faults."""
    for name, spec in file.facts.items():
        if spec.health is not None:
            yield from _Checked(document, file, kinds, name, spec, spec.health).add(found)


class _Checked:
    """The health of one fact."""

    def __init__(self, document: Document, file: FactsFile, kinds: Mapping[str, Kind], name: str,
                 spec: FactSpec, health: HealthSpec) -> None:
        self._document = document
        self._file = file
        self._kinds = kinds
        self._name = name
        self._spec = spec
        self._health = health

    def add(self, found: dict[str, Health]) -> Iterator[Fault]:
        """Add it and the other sides of its agreements; yields its faults."""
        health, name = self._health, self._name
        yield from self._sample_faults()
        yield from self._range_faults()
        yield from self._need_faults()
        agreed, related = [], list(health.needs)
        given = health.agree or []
        several = isinstance(given, list)
        for index, agree in enumerate(given if isinstance(given, list) else [given]):
            where = ('agree', index) if several else ('agree',)
            when: list[Expression] = []
            yield from self._agree_faults(where, agree, when)
            agreed.append((agree, when[0] if when else None))
            names = [read for entry in when for read in entry.names if read in self._file.facts]
            related += [agree.with_, *names]
            other = self._file.facts.get(agree.with_)
            if other is not None and other.constant is None:
                entry = found.setdefault(agree.with_, Health(None))
                entry.related += (name, *names)
        entry = found.setdefault(name, Health(None))
        entry.spec, entry.agree = health, tuple(agreed)
        entry.related += tuple(related)

    def _fault(self, where: tuple[str | int, ...], message: str) -> Fault:
        return self._document.fault(
            ('facts', self._name, 'health', *where), f"fact '{self._name}': {message}")

    def _sample_faults(self) -> Iterator[Fault]:
        spec, health = self._spec, self._health
        if spec.constant is not None:
            yield self._fault((), 'a constant has no health')
        for key in ('frozen', 'rate'):
            if getattr(health, key) is not None and spec.expression is not None:
                yield self._fault((key,), f"'{key}' is a check of samples, and an expression has "
                                  'none; expected it at a fact that the expression reads')
        frozen, rate = health.frozen, health.rate
        if isinstance(frozen, (int, float)) and not 0 < frozen <= 3600:
            yield self._fault(('frozen',), f'{frozen:g}: expected more than 0 and at most 3600 s')
        if isinstance(frozen, FrozenSpec):
            if not (frozen.noise or frozen.for_):
                yield self._fault(('frozen',), "expected 'noise', 'for' or both")
            if frozen.resolution and not frozen.noise:
                yield self._fault(('frozen', 'resolution'), "'resolution' needs 'noise'")
            if frozen.noise and self._kinds[self._name] is Kind.NUMBER:
                likely = likely_run(equal_probability(frozen.noise, frozen.resolution), 1)
                if likely > LONGEST_RUN:
                    yield self._fault(('frozen',), f'of a noise of {frozen.noise:g} with a '
                                      f'resolution of {frozen.resolution:g}, {likely:.3g} equal '
                                      "samples are likely; expected more noise, or only 'for'")
            if frozen.noise and self._kinds[self._name] not in _NUMBERS:
                yield self._fault(('frozen', 'noise'), 'expected no noise, as the fact is '
                                  + self._kinds[self._name].value)
            if frozen.clip is not None and not frozen.clip[0] < frozen.clip[1]:
                yield self._fault(('frozen', 'clip'), f'{list(frozen.clip)}: expected [least, '
                                  'greatest]')
        if rate is not None:
            low, high = (rate.min, rate.max) if isinstance(rate, RateSpec) else rate
            if not 0 <= low < (math.inf if high is None else high) or (low, high) == (0, None):
                given = '' if high is None else f'[{low:g}, {high:g}]: '
                yield self._fault(('rate',), f'{given}expected [min, max] in Hz')
            over = rate.over if isinstance(rate, RateSpec) else 1.0
            if any(0 < bound * over < 1 for bound in (low, high) if bound is not None):
                yield self._fault(('rate',), f'less than one sample in {over:g} s; expected a '
                                  "longer 'over'")
            if spec.max_rate:
                yield self._fault(('rate',), "'rate' with max_rate would only count the samples "
                                  'that are read, not all that come')

    def _range_faults(self) -> Iterator[Fault]:
        given = self._health.range
        if given is None:
            return
        pairs: Any = given if isinstance(given, list) else [given]
        if not pairs or not all(low <= high for low, high in pairs):
            yield self._fault(('range',), 'expected [least, greatest], or one such pair for each '
                              'element')
        kind = self._kinds[self._name]
        if kind not in _NUMBERS:
            yield self._fault(('range',), f'expected numbers, and the fact is {kind.value}')
        elif kind is Kind.NUMBER and len(pairs) > 1:
            yield self._fault(('range',), f'{len(pairs)} pairs for {kind.value}; expected one')

    def _need_faults(self) -> Iterator[Fault]:
        for index, need in enumerate(self._health.needs):
            yield from self._name_faults(('needs', index), need)

    def _name_faults(self, where: tuple[str | int, ...], name: str) -> Iterator[Fault]:
        if name not in self._file.facts:
            yield self._fault(where, f"there is no fact '{name}'"
                              + nearest(name, self._file.facts))
        elif name == self._name:
            yield self._fault(where, 'expected another fact, got itself')

    def _agree_faults(
        self, where: tuple[str | int, ...], agree: AgreeSpec, when: list[Expression]
    ) -> Iterator[Fault]:
        faults = list(self._name_faults((*where, 'with'), agree.with_))
        yield from faults
        kind = self._kinds[self._name]
        other = kind if faults else self._kinds[agree.with_]
        for one in (kind, other):
            if one not in NUMERIC | {Kind.ANY}:
                yield self._fault(where, f'expected numbers or booleans, got {one.value}')
                break
        else:
            if {kind, other} == {Kind.NUMBER, Kind.VECTOR}:
                yield self._fault(where, f"'{self._name}' is {kind.value}, '{agree.with_}' is "
                                  f'{other.value}: they never agree')
        if agree.when is not None:
            try:
                when.append(compile_expression(
                    agree.when, self._kinds, condition=True, kinds=self._kinds))
            except DocumentError as error:
                for fault in error.faults:
                    yield self._fault((*where, 'when'), f'column {fault.column}: {fault.message}')


def cycle_faults(
    document: Document, file: FactsFile, health: Mapping[str, Health],
    reads: Mapping[str, tuple[str, ...]],
) -> Iterator[Fault]:
    """
    Yield the facts whose health depends on itself.

    `reads`: the facts that an expression reads, by its name. The two facts of an agreement, and
    those that they read, may depend on each other: they are compared whether healthy or not.
    """
    needed: dict[str, set[str]] = {name: set(names) for name, names in reads.items()}
    for name, entry in health.items():
        spec = entry.spec
        needed.setdefault(name, set()).update(spec.needs if spec is not None else ())
        for agree, when in entry.agree:
            names = {*(when.names if when is not None else ())} & set(file.facts)
            needed[name] |= names
            needed.setdefault(agree.with_, set()).update(names)
    for name, entry in health.items():
        seen: set[str] = set()
        todo = list(needed[name])
        while todo:
            other = todo.pop()
            if other not in seen:
                seen.add(other)
                todo.extend(needed.get(other, ()))
        if name in seen and entry.spec is not None:
            via = ', '.join(sorted(other for other in needed[name]
                                   if other == name or other in seen))
            yield document.fault(('facts', name, 'health'),
                                 f"fact '{name}': its health needs itself by way of {via}")
