# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Checks flows with the bridge's service `check`, before anything moves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from inspect import isawaitable
from typing import Any

from action_lifecycle_msgs.msg import CheckFault
from action_lifecycle_msgs.srv import Check

from ..check_request import check_request
from ....dialogue.hooks import find_hooks
from ....documents.errors import DocumentError, Fault, LifecycleError
from ....flow.files.alternatives import alternative_specs, no_recipes, Recipes
from ....flow.files.edit_provenance import Path
from ....flow.files.flow import LoadedFlow, with_nested
from ....lifecycle.ports import Verifier
from ....lifecycle.spec import ActionSpec
from ....lifecycle.states import ErrorCode
from ....lifecycle.work import WorkHost
from ....ros.calls.service_call import NoAnswer, RetryPolicy, ServiceCall
from ....ros.conversions.basic import to_code
from ....ros.interfaces.control_names import control_fault
from ....ros.interfaces.graph import names_seen
from ....ros.interfaces.names import name_fault
from ....ros.node.lifecycle_node import ManagedNode
from ....ros.node.timers import sleep

LONGEST = 60.0
"""Maximum time (s) that the bridge waits for servers."""
AT_ONCE = 50
"""Number of actions with a known result after which other callbacks may run."""
ANSWER = 3.0
"""Time (s) for the bridge's response, in addition to its wait for servers."""


class FlowRefused(LifecycleError):
    """A flow was refused; `code` is the error code of the result."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        self.code = code
        super().__init__(message)


@dataclass
class _Round:
    """One check: its start (steady time, s), the faults found, and the requests without fault."""

    started: float
    seen: set[tuple[tuple[int, int], str]] = field(default_factory=set)
    sound: set[str] = field(default_factory=set)
    same: int = 0


class FlowCheck:
    """
    Checks flows with the bridge's service; `wait`: time (s) for the bridge to appear.

    `own`: names of the other nodes of this package, whose services no flow may call.
    """

    def __init__(
        self, node: ManagedNode, bridge: str, wait: float, verifier: Verifier, host: WorkHost,
        own: Sequence[str] = (),
    ) -> None:
        self._node = node
        self._verifier = verifier
        self._host = host
        self._wait = wait
        self._client = node.add_client(Check, f'{bridge}/check')
        self._own = [node.get_fully_qualified_name(), *map(node.resolve_service_name, own)]
        self.recipes: Recipes = no_recipes

    async def check(
        self, flow: LoadedFlow, told: Callable[[str], None] = lambda text: None,
    ) -> None:
        """
        Raise `FlowRefused` with all faults, each with file and line.

        `told(message)` is called when the check starts to wait, with what it waits for.
        """
        await self._time(told)
        round_ = _Round(self._node.steady())
        missing, wait = self._missing(flow)
        if missing:
            told(f'waiting for up to {wait:g} s for servers that are not there: '
                 + ', '.join(missing))
        elif not self._client.service_is_ready():
            told(f'waiting for up to {self._wait:g} s for {self._client.srv_name}')
        faults: list[Fault] = []
        for one in with_nested(flow):
            faults += await self._all_faults(one, round_)
        if faults:
            raise FlowRefused(ErrorCode.FLOW_INVALID, str(DocumentError(dict.fromkeys(faults))))

    async def _all_faults(self, flow: LoadedFlow, round_: _Round) -> list[Fault]:
        """Return the faults of a flow, without those of the flows that its actions run."""
        faults: list[Fault] = list(_hooks_faults(flow))
        for action_id, action in flow.actions.items():
            found = await self._faults(flow, ('actions', action_id), action, round_)
            faults += found
            faults += [
                flow.document.fault(('actions', action_id, 'verify', index, key),
                                    f"action '{action_id}': {message}")
                for index, spec in enumerate(action.verify)
                for key, message in spec.faults_in_node(action.parameters, self._verifier)]
            faults += await self._work_faults(flow, ('actions', action_id), action)
            for path, other in self._alternatives(flow, action_id, action, found):
                where = ('actions', action_id, *path)
                faults += await self._faults(flow, where, other, round_)
                faults += await self._work_faults(flow, where, other)
        return faults

    async def _time(self, told: Callable[[str], None]) -> None:
        """Wait until ROS time is known; stamps would be zero before."""
        end = self._node.steady() + self._wait
        if not self._node.timed():
            told(f'waiting for up to {self._wait:g} s for the time on /clock (use_sim_time)')
        while not self._node.timed():
            if self._node.steady() > end:
                raise FlowRefused(ErrorCode.NOT_READY,
                                  'use_sim_time is set, but no time came on /clock')
            await sleep(self._node, 0.05)

    def _alternatives(
        self, flow: LoadedFlow, action_id: str, action: ActionSpec, found: list[Fault]
    ) -> list[tuple[Path, ActionSpec]]:
        """Return the alternatives that fallbacks make of an action; none if it has faults."""
        try:
            return [] if found else list(
                alternative_specs(flow, action_id, action, self.recipes))
        except DocumentError as error:
            raise FlowRefused(ErrorCode.FLOW_INVALID, str(error)) from error

    def _why_not(self) -> str:
        """Explain why the bridge's service is missing: no such node, or not configured."""
        if self._client.service_is_ready():
            return ''
        bridge = self._client.srv_name.removesuffix('/check')
        if any(f"{namespace.rstrip('/')}/{name}" == bridge
               for name, namespace in self._node.get_node_names_and_namespaces()):
            return f"; the node '{bridge}' is there, but not configured: its log says why"
        return f"; there is no node '{bridge}'"

    def _missing(self, flow: LoadedFlow) -> tuple[list[str], float]:
        """Return the servers that are not visible, and the time (s) to wait for them."""
        steps = {(step.kind, step.name): step.server_timeout for one in with_nested(flow)
                 for action in one.actions.values() for step in action.checked_steps}
        there = {kind: names_seen(self._node, kind) for kind in {kind for kind, _ in steps}}
        missing = [(kind, name) for kind, name in steps if not name_fault(name)
                   and self._node.resolve_topic_name(name) not in there[kind]]
        return [name for _, name in missing], max(map(steps.get, missing), default=0.0)

    async def _work_faults(
        self, flow: LoadedFlow, path: Path, action: ActionSpec
    ) -> list[Fault]:
        """Return the faults of the steps that the bridge does not check."""
        found: list[Fault] = []
        for step in action.steps:
            if step.at_bridge:
                continue
            try:
                faults = step.faults_in_node(action.parameters, self._host)
                faults = list(await faults if isawaitable(faults) else faults)
            except LifecycleError as error:
                faults = [('', str(error))]
            found += [
                flow.document.fault(
                    (*path, *step.path, *map(_key, filter(None, key.split('.')))),
                    f"action '{path[1]}', {step.kind}: {message}") for key, message in faults]
        return found

    def _name_fault(self, step: Any) -> str:
        """Return the fault of the name of an action, service or topic; '' if there is none."""
        fault = name_fault(step.name)
        if fault or step.has_id:
            return fault
        return control_fault(self._node.resolve_service_name(step.name), step.type, self._own)

    async def _faults(
        self, flow: LoadedFlow, path: Path, action: ActionSpec, round_: _Round
    ) -> list[Fault]:
        wrong = [flow.document.fault((*path, *step.path, step.name_field),
                                     f"action '{path[1]}', {step.name_field}: {fault}")
                 for step in action.checked_steps if (fault := self._name_fault(step))]
        if wrong:
            return wrong
        request, places = check_request(
            flow, str(path[1]), action, self._node.resolve_service_name)
        question = repr(request)
        if question in round_.sound:  # common in large flows
            round_.same += 1
            if round_.same % AT_ONCE == 0:
                await sleep(self._node, 0.001)
            return []
        # All actions share the wait: time spent for one action is subtracted for the next.
        declared = max((step.server_timeout for step in action.checked_steps), default=0.0)
        wait = max(0.0, min(declared, LONGEST, round_.started + declared - self._node.steady()))
        try:
            response = await self._ask(request, wait)
        except NoAnswer as error:
            raise FlowRefused(
                ErrorCode.NOT_READY,
                f'the flow can not be checked: {error}{self._why_not()}') from error
        if response.error_code:
            raise FlowRefused(to_code(response.error_code), response.error_msg)
        faults = []
        for fault in response.faults:
            if fault.kind == CheckFault.MOTION:
                where: Path = (*action.checked_steps[fault.index].path,
                               *map(_key, fault.path.split('.')))
                message = f'{fault.path}: {fault.message}' if fault.path else fault.message
            else:
                where = places[fault.index]
                message = f'{where[0]}: {fault.message}'
            position = flow.document.mark((*path, *where))
            if (position, message) not in round_.seen:  # YAML anchors may repeat a fault
                round_.seen.add((position, message))
                faults.append(
                    flow.document.fault((*path, *where), f"action '{path[1]}', {message}"))
        if not response.faults:
            round_.sound.add(question)
        return faults

    async def _ask(self, request: Check.Request, wait: float) -> Check.Response:
        """Call the service, first without a wait, so that a lost response is detected early."""
        if wait:
            try:
                response = await self._answer(request, ANSWER)
                if not response.faults:
                    return response
            except NoAnswer:
                if not self._client.service_is_ready():
                    raise
        request.wait = wait
        return await self._answer(request, wait + ANSWER)

    async def _answer(self, request: Check.Request, limit: float) -> Check.Response:
        response: Check.Response = await ServiceCall(
            self._node, self._client, lambda: request, RetryPolicy.tries(self._wait, limit)).done
        return response


def _hooks_faults(flow: LoadedFlow) -> Iterator[Fault]:
    name = flow.spec.dialogue.hooks
    if name:
        try:
            find_hooks(name)
        except LifecycleError as error:
            yield flow.document.fault(('dialogue', 'hooks'), str(error))


def _key(text: str) -> str | int:
    return int(text) if text.isdigit() else text
