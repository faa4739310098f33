# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Verifiers, which decide whether an action is done after the sensors have confirmed it.

A kind of verifier is a subclass of `VerifySpec` with the fields that it has in flow files. It is
registered by `@register_verifier('name')`, or by another package through the entry-point group
`action_lifecycle.verifiers`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol

from pydantic import Field

from .question import Evidence, Handle, Operator
from ..documents.errors import LifecycleError
from ..documents.models import seconds, VariantModel
from ..documents.registry import Registry


@dataclass(frozen=True)
class VerifyRequest:
    """A request to a verifier."""

    flow_id: str
    action_id: str
    attempt: int
    description: str
    evidence: Sequence[Evidence]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    key: str = ''  #: identifies the request; the same after a restart


VERDICTS = ('completed', 'pending', 'error')


@dataclass(frozen=True)
class Verdict:
    """The answer of a verifier; `verdict`: one of VERDICTS."""

    verdict: str
    reason: str = ''
    evidence: Sequence[Evidence] = ()
    actor: str = ''


class Verifier(Protocol):
    """The functions that the process provides to kinds of verifiers."""

    operator: Operator
    node: Any  #: the ROS node; None without ROS

    def in_thread(
        self, name: str, check: Callable[[], Verdict], verdict: Callable[[Verdict], None]
    ) -> Handle:
        """Call a blocking function in a separate thread; `verdict` gets its result."""

    def call_service(
        self, spec: Any, request: VerifyRequest, verdict: Callable[[Verdict], None]
    ) -> Handle:
        """Call the service of a `ServiceVerify`; retried until the caller cancels."""

    def service_faults(
        self, spec: Any, parameters: Collection[str]
    ) -> Iterator[tuple[str, str]]:
        """Yield the faults of a `ServiceVerify`, as (field, message)."""


class VerifySpec(VariantModel):
    """
    A verifier in a flow; subclasses add fields and override `check` or `ask`.

    `late`: the fields whose templates are filled in when it is asked. `repeats`: it is asked again
    after an invalid verdict, until `timeout`; otherwise the action fails at once.
    """

    by: str = Field(description='The kind of the verifier.')
    timeout: float = seconds(30.0, 'Seconds for a verdict.', most=864000, more=True)

    late: ClassVar[tuple[str, ...]] = ()
    repeats: ClassVar[bool] = True

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield the faults when the flow is loaded, as (field, message); field '': all of it."""
        yield from ()

    def uses(self) -> Iterator[tuple[str, str, str]]:
        """
        Yield what it uses, of which a planner has to be told: field, name and type.

        The type is that of the service, or a word, such as checker.
        """
        yield 'by', self.by, 'verifier'

    def faults_in_node(
        self, parameters: Collection[str], verifier: Verifier
    ) -> Iterator[tuple[str, str]]:
        """Yield the faults that the node finds before anything moves, as (field, message)."""
        yield from ()

    def check(self, request: VerifyRequest) -> Verdict:
        """Return the verdict; called in a separate thread, may block until `timeout`."""
        raise NotImplementedError(f"verifier '{self.by}' has neither check() nor ask()")

    def ask(
        self, request: VerifyRequest, verifier: Verifier, verdict: Callable[[Verdict], None]
    ) -> Handle | None:
        """
        Ask for a verdict; `verdict` is called at most once, in the thread of the caller.

        Must not block. Returns a handle that cancels the request, None if there is nothing to
        cancel. The caller handles the time limit.
        """
        return verifier.in_thread(self.by, lambda: checked(
            f"verifier '{self.by}'", self.by, lambda: self.check(request)), verdict)


VERIFIERS: Registry[type[VerifySpec]] = Registry(
    'action_lifecycle.verifiers', 'there is no verifier', expected='VerifySpec',
    is_valid=lambda cls: isinstance(cls, type) and issubclass(cls, VerifySpec))
VerifySpec.variants = VERIFIERS
register_verifier = VERIFIERS.register


def late_fields(kind: object) -> Collection[str]:
    """Return the `late` fields of a kind; for an unknown kind, those of all kinds."""
    try:
        found = VERIFIERS.load(kind) if isinstance(kind, str) else None
    except LifecycleError:
        found = None  # validation of the fields reports the fault
    return found.late if found else [name for known in VERIFIERS.values() for name in known.late]


def checked(what: str, actor: str, check: Callable[[], object]) -> Verdict:
    """
    Return the verdict of a function; `what`: the function in messages.

    An exception gives the verdict `error`. An invalid result gives a `Verdict` with an empty
    `verdict`, whose reason says what was returned and what was expected.
    """
    try:
        found = check()
        fault = _fault(found)
    except Exception as error:
        return Verdict('error', f'{type(error).__name__}: {error}', actor=actor)
    if fault or not isinstance(found, Verdict):
        return Verdict('', f'{what} {fault}', actor=actor)
    return replace(found, actor=found.actor or actor)


def _fault(found: object) -> str:
    """Return the fault of a checker's result; '' if it is a valid verdict."""
    if not isinstance(found, Verdict):
        return (f'returned {found!r:.200} ({type(found).__name__}); expected a Verdict, such as '
                "Verdict('completed', 'the reason')")
    if found.verdict not in VERDICTS:
        return (f'returned the verdict {found.verdict!r:.200}; expected one of '
                + ', '.join(VERDICTS))
    if not isinstance(found.evidence, (list, tuple)) or not all(
            isinstance(item, dict) for item in found.evidence):
        return f'returned the evidence {found.evidence!r:.200}; expected a list of mappings'
    return ''
