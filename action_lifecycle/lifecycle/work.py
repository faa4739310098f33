# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Work: what an action does between its start and the confirmation of its outcome.

A kind of work is a subclass of `WorkSpec` with the fields that it has in flow files. It is
registered by `@register_work('name')`, or by another package through the entry-point group
`action_lifecycle.work`. Each step of an action is work of one kind.
"""

from __future__ import annotations

from collections.abc import (
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field
import sys
from typing import Any, ClassVar, Protocol, TypeVar, Union

import pydantic

from .question import Evidence, Handle
from .states import ErrorCode
from .work_names import kind_fault
from ..documents.errors import LifecycleError
from ..documents.models import as_written, StrictModel
from ..documents.registry import Registry

Path = tuple[Union[str, int], ...]


@dataclass(frozen=True)
class WorkRequest:
    """
    One step of an attempt.

    `id` is derived from an id that was journaled before, so it is the same after a restart.
    `told(progress, text)` reports the progress, from 0 to 1, or -1 if it is not known.
    """

    flow_id: str
    action_id: str
    attempt: int
    index: int  #: of the step
    id: str  # noqa: A003
    parameters: Mapping[str, Any]
    told: Callable[[float, str], None] = lambda progress, text: None
    actor: str = ''  #: who has requested the flow
    canceled: Callable[[], bool] = lambda: False  #: whether the work is to stop; from any thread


@dataclass
class WorkResult:
    """
    The end of work.

    `outcome`: executed, failed, canceled, or not_running (begun, and it is not known how it
    ended; with an `error_code`, in this process). `controller_said`: the words of who did the
    work.
    """

    outcome: str
    ended: float  #: ROS time in s
    controller_said: str = ''
    stopped: bool = True  #: standstill is confirmed
    error_code: ErrorCode = ErrorCode.NONE
    error_msg: str = ''
    evidence: Sequence[Evidence] = ()
    result: Any = None  #: of the last step
    steps_done: int = 0
    goals: Mapping[str, Any] = field(default_factory=dict)
    #: goals with facts filled in, as sent, by index of the step
    note: str = ''  #: what else happened, as text
    results: Sequence[Any] = ()  #: of the steps that have ended
    sent: bool = True  #: False: nothing was begun, so it may begin later
    black_box: str = ''  #: name of the bag of the last seconds; '': none


Ended = Callable[[WorkResult], None]
NodeFaults = Union[Iterable[tuple[str, str]], Awaitable[Iterable[tuple[str, str]]]]
"""Faults, as (field, message); or a coroutine in the executor's thread that returns them."""


class Worker(Protocol):
    """Does the work of one kind, in the thread of the lifecycle; it never blocks."""

    def faults(self, spec: Any, parameters: Collection[str]) -> NodeFaults:
        """Return the faults that can be found before anything runs, as (field, message)."""

    def start(self, spec: Any, request: WorkRequest, ended: Ended) -> Handle:
        """Start the work; see `WorkSpec.start`."""

    def resume(self, spec: Any, request: WorkRequest, ended: Ended) -> Handle:
        """Continue the work; see `WorkSpec.resume`."""


class WorkHost(Protocol):
    """What the process provides to kinds of work."""

    node: Any  #: the ROS node; None without ROS

    def now(self) -> float:
        """Return ROS time in s."""

    def in_thread(
        self, name: str, function: Callable[[], Any],
        done: Callable[[Any, Exception | None], None],
    ) -> Handle:
        """Call a blocking function in a thread of its own; `done` gets its result or error."""

    def call_soon(self, callback: Callable[[], None]) -> None:
        """Call back in the thread of the lifecycle; may be called from any thread."""

    def worker(self, kind: str) -> Worker:
        """Return the worker of a kind; raises `LifecycleError` if there is none."""


class WorkSpec(StrictModel):
    """
    Work of one kind in a flow; subclasses add fields.

    A kind with a worker in the process needs no more; others override `start`, and `resume` if
    they can continue after a crash. `at_bridge`: the bridge does it if it is physical; then it has
    `bridge_step`. `has_id`: the bridge can find it by its id after a restart; several such steps
    in a row are one request. `stops_slowly`: a stop may take longer than `stop_timeout` of the
    action, since it waits for other actions. `late`: fields whose templates are not filled in by
    the flow, but when the work uses them. `short`: the field that is given if the step is a plain
    string.
    """

    kind: ClassVar[str] = ''
    at_bridge: ClassVar[bool] = False
    has_id: ClassVar[bool] = False
    stops_slowly: ClassVar[bool] = False
    late: ClassVar[Collection[str]] = ()
    short: ClassVar[str] = ''

    _path: Path = pydantic.PrivateAttr(default=())  # of the step in its action

    @property
    def path(self) -> Path:
        """Return the path of the step in the document, below its action."""
        return self._path

    def placed(self, path: Path) -> WorkSpec:
        """Set the path of the step in the document; returns self."""
        self._path = path
        return self

    def is_physical(self) -> bool:
        """Return whether it moves something."""
        return False

    @property
    def target(self) -> str:
        """Return what it uses, such as the name of a server, for people."""
        return self.kind

    def uses(self) -> Iterator[tuple[str, str, str]]:
        """
        Yield what it uses, of which a planner has to be told: field, name and type.

        The type is that of the server, service or topic, or a word, such as tool. A kind of work
        that names nothing of the kind is itself what is used.
        """
        yield '', self.kind, 'work'

    def needs_stopped(self) -> bool:
        """Return whether only the `stopped` condition of the action can show its stop."""
        return False

    def evidence(self, confirmed: bool) -> tuple[str, str]:
        """
        Return field and text of the condition that shows its success; ('', '') if there is none.

        `confirmed`: the action has `confirm`, which shows the outcome.
        """
        return '', ''

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield the faults when the flow is loaded, as (field, message); field '': all of it."""
        yield from ()

    def faults_in_node(
        self, parameters: Collection[str], host: WorkHost
    ) -> NodeFaults:
        """Return the faults that the node finds before anything runs, as (field, message)."""
        return host.worker(self.kind).faults(self, parameters)

    def bridge_step(self) -> Any:
        """Return the step for the bridge, a `lifecycle.ports.MotionStep`."""
        raise NotImplementedError(f"work '{self.kind}' is not done by the bridge")

    def start(self, request: WorkRequest, host: WorkHost, ended: Ended) -> Handle:
        """
        Start the work; `ended` is called exactly once, in the thread of the caller.

        Must not block. `cancel` of the handle stops the work; `ended` is still called.
        """
        return host.worker(self.kind).start(self, request, ended)

    def resume(self, request: WorkRequest, host: WorkHost, ended: Ended) -> Handle:
        """
        Continue work that an earlier process has begun; see `start`.

        Ends with `not_running` if it is unknown how it ended. It must not begin anew unless this
        does no harm.
        """
        return host.worker(self.kind).resume(self, request, ended)


class NestingSpec(WorkSpec):
    """
    Work that is a flow of its own, which the process runs as it runs other flows.

    See `flow.files.loader.nested_flow` for how the flow is made.
    """

    stops_slowly = True

    def uses(self) -> Iterator[tuple[str, str, str]]:
        """Yield nothing: the actions of the nested flow are looked at as those of any flow."""
        yield from ()

    def action_fields(self) -> dict[str, Any]:
        """Return the fields of an action that has only this work."""
        return {self.kind: [as_written(self)]}

    def faults_in_node(
        self, parameters: Collection[str], host: WorkHost
    ) -> Iterator[tuple[str, str]]:
        """Yield nothing: the actions of the nested flow are checked as those of any flow."""
        yield from ()

    def start(self, request: WorkRequest, host: WorkHost, ended: Ended) -> Handle:
        """Start the nested flow."""
        return host.worker(NESTED).start(self, request, ended)

    def resume(self, request: WorkRequest, host: WorkHost, ended: Ended) -> Handle:
        """Follow the nested flow after a restart; start it if it was not accepted before."""
        return host.worker(NESTED).resume(self, request, ended)


KindT = TypeVar('KindT', bound=type[WorkSpec])


NESTED = 'flow'
"""The kind of work that is a flow."""
STEPS = 'steps'
"""The field of an action with work of several kinds."""


class WorkKinds(Registry[type[WorkSpec]]):
    """The kinds of work by name; sets the `kind` of each."""

    _fields: frozenset[str] = frozenset()
    _path: Sequence[str] = ()  #: sys.path at which `_fields` was made

    def add(self, name: str, thing: type[WorkSpec]) -> type[WorkSpec]:
        """Register a kind; raises LifecycleError for a name that it can't have."""
        known = self.get(name)
        if known is not None and _origin(known) != _origin(thing):
            raise LifecycleError(f"kind of work '{name}' of {_origin(thing)}: it is already "
                                 f'registered by {_origin(known)}')
        if fault := kind_fault(name):
            raise LifecycleError(f'kind of work {name!r} of {_origin(thing)}: {fault}')
        thing.kind = name
        self._fields = frozenset()
        return super().add(name, thing)

    @property
    def fields(self) -> frozenset[str]:
        """Return the fields of an action that say what it does: all kinds, and `steps`."""
        if not self._fields or self._path != sys.path:
            self._fields, self._path = frozenset((*self.names(), STEPS)), list(sys.path)
        return self._fields


def _origin(kind: type[WorkSpec]) -> str:
    return f'{kind.__module__}.{kind.__qualname__}'


WORK = WorkKinds(
    'action_lifecycle.work', 'there is no kind of work', expected='WorkSpec',
    is_valid=lambda cls: isinstance(cls, type) and issubclass(cls, WorkSpec),
    modules=[f'action_lifecycle.work.{name}' for name in (
        'call', 'flow', 'graph', 'job', 'motion', 'publish', 'tool')])
register_work = WORK.register


def work_evidence(kind: str, said: str, stamp: float) -> Evidence:
    """Return the evidence of work without sensors: the words of who did it, at `stamp` (s)."""
    return {'condition': kind, 'expression': f"{kind}: {said or 'done'}", 'verdict': 'true',
            'stamp': stamp, 'held': 0.0, 'facts': []}


def as_fields(steps: Sequence[WorkSpec], changed: Mapping[int, Mapping[str, Any]]) -> Any:
    """
    Return the steps as fields of an action; `changed`: other values of fields, by step.

    Steps of one kind are a list in the field of this kind, others a list in `steps`.
    """
    if len(steps) == 1 and isinstance(steps[0], NestingSpec):
        return steps[0].action_fields()
    written = [{**as_written(step), **changed.get(index, {})} for index, step in enumerate(steps)]
    kinds = {step.kind for step in steps}
    if len(kinds) == 1:
        return {kinds.pop(): written}
    return {STEPS: [{step.kind: fields} for step, fields in zip(steps, written)]} if steps else {}
