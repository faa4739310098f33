# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Client of a planner: a server of action_lifecycle_msgs/srv/Plan, or a planner in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Any

from action_lifecycle_msgs import msg
from action_lifecycle_msgs.srv import Plan
from rclpy.action import get_action_names_and_types

from .python_planner import PythonPlanner
from ...shared.background_worker import Apart
from ...shared.operators import KnownFacts
from ....documents.errors import LifecycleError
from ....flow.files.loader import load_flow
from ....flow.files.uses import uses_of
from ....flow.planning.asker import PlanReply, Reply
from ....flow.planning.planners import PREFIX
from ....flow.planning.told import Told
from ....flow.run.flow_run import FlowRun
from ....lifecycle.ports import Handle
from ....ros.calls.service_call import RetryPolicy, ServiceCall
from ....ros.conversions.evidence import planned_fact
from ....ros.conversions.status import flow_to, status_to
from ....ros.interfaces.names import name_fault
from ....ros.interfaces.qos import state_qos
from ....ros.node.lifecycle_node import ManagedNode

APPEAR = 5.0
"""Maximum time (s) to wait for the planner to appear."""
DECLARED = 1.0
"""Maximum time (s) to wait for the bridge's list of facts, and for the first action server."""
SHOWN = 5
"""Maximum number of conditions given for a server."""
OWN = ('execute_motion', 'confirm_outcome', 'execute_flow')
"""Actions of this package's nodes, which no flow may use."""


def planner_fault(name: str) -> str:
    """Return why a value of the parameter `planner` is malformed; '' if it is not."""
    if name.startswith(PREFIX):
        return '' if name.removeprefix(PREFIX) else f"'{name}': expected {PREFIX}NAME"
    return name_fault(name) if name else ''


class PlanClient:
    """
    Calls the planner of the parameter `planner`, with at most `planner_timeout` s for a response.

    The request has all facts of the bridge, with values for those it reads now, and one line for
    each action server, `SERVER TYPE resources: …; confirm: …`. Resources and conditions are those
    with which the flows in `flow_folders` use the server. Of services, topics, tools and so on,
    only those that these flows use are listed, with a word in place of the type where there is
    none (`NAME tool`).
    """

    def __init__(self, node: ManagedNode, apart: Apart, facts: KnownFacts) -> None:
        self.node = node
        self.name = str(node.parameter('planner'))
        self.timeout = float(node.parameter('planner_timeout'))
        self._facts = facts
        self._uses: dict[tuple[str, str], str] | None = None  #: not known yet
        self._declared: msg.WorldState | None = None
        if self.name:
            if self.name.startswith(PREFIX):
                self.client: Any = PythonPlanner(node, self.name.removeprefix(PREFIX))
                node.defer(self.client.close)
            else:
                self.client = node.add_client(Plan, self.name)
            node.add_subscription(
                msg.WorldState, f"{node.parameter('bridge')}/declared_facts",
                self._heard_declared, state_qos())
            folders = list(node.parameter('flow_folders'))
            apart(lambda: _uses(folders), self._known)

    def _heard_declared(self, message: msg.WorldState) -> None:
        self._declared = message

    def _known(self, uses: dict[tuple[str, str], str] | None, error: Exception | None) -> None:
        self._uses = uses or {}

    def ask(self, request: str, errors: Sequence[str], reply: Reply) -> Handle:
        """Ask for a flow; see `flow.planning.asker.PlanService`."""
        return self._call(
            {'request': request, 'errors': list(errors)}, reply,
            lambda said, told: PlanReply(said.accepted and bool(said.flow_yaml), said.flow_yaml,
                                         said.message, told=told))

    def ask_edit(
        self, run: FlowRun, completed: Sequence[str], errors: Sequence[str], reply: Reply
    ) -> Handle:
        """Report the ended actions of a flow and ask for an edit of it."""
        now = self.node.now()
        return self._call({
            'request': str(run.origin.get('request', '')) or run.flow.description,
            'flow_yaml': run.flow.text_now(), 'completed_actions': list(completed),
            'ended': [status_to(run.runners[name].action, now=now) for name in completed],
            'status': flow_to(run, now), 'errors': list(errors)}, reply,
            lambda said, told: PlanReply(
                said.accepted, said.edit_yaml, said.message, told=told))

    def _call(
        self, fields: Mapping[str, Any], reply: Reply, read: Callable[[Any, Told], PlanReply]
    ) -> Handle:
        if not self.name:
            return self.node.call_later(0.0, lambda: reply(
                PlanReply(unreachable="the parameter 'planner' names no service")))
        began = self.node.steady()
        told = Told()

        def request() -> Plan.Request:
            nonlocal told
            filled = self._request(fields)
            told = self._told(filled)
            return filled

        return ServiceCall(
            self.node, self.client, request,
            RetryPolicy(min(APPEAR, self.timeout), self.timeout),
            ready=lambda: self._ready(self.node.steady() - began),
        ).on_done(lambda done: reply(
            PlanReply(unreachable=str(done.exception())) if done.exception()
            else read(done.result(), told)))

    def _request(self, fields: Mapping[str, Any]) -> Plan.Request:
        """Return the request with the current facts and capabilities; raises `LifecycleError`."""
        try:
            return self._filled(fields)
        except Exception as error:  # else the call would never end
            self.node.log_exception('the request to the planner')
            raise LifecycleError(f'internal error: {error!r}') from error

    def _filled(self, fields: Mapping[str, Any]) -> Plan.Request:
        facts = {fact.name: copy(fact) for fact in self._facts.state.facts}
        for declared in () if self._declared is None else self._declared.facts:
            facts[declared.name] = planned_fact(declared, facts.get(declared.name))
        return Plan.Request(
            facts=msg.WorldState(stamp=self._facts.state.stamp, facts=list(facts.values())),
            capabilities=self._capabilities(), **fields)

    def _told(self, request: Plan.Request) -> Told:
        """Return what a request tells of; lists that are not known yet are not compared."""
        return Told(
            things=[' '.join(line.split()[:2]) for line in request.capabilities] or None,
            facts=None if self._declared is None else [
                fact.name for fact in request.facts.facts],
            namespace=self.node.get_namespace())

    def _ready(self, waited: float) -> bool:
        """Whether the planner is there and the request complete, after `waited` s."""
        return self._uses is not None and bool(self.client.service_is_ready()) and (
            waited >= DECLARED or self._declared is not None and bool(self._capabilities()))

    def _capabilities(self) -> list[str]:
        own = self.node.get_namespace().rstrip('/') + '/'
        lines = {(name.removeprefix(own), types[0]): ''
                 for name, types in get_action_names_and_types(self.node)
                 if not name.endswith(OWN)}
        for (name, kind), text in (self._uses or {}).items():
            if '/action/' not in kind or (name, kind) in lines:
                lines[name, kind] = text
        return sorted(f'{name} {kind}{text}' for (name, kind), text in lines.items())


def _uses(folders: Iterable[str]) -> dict[tuple[str, str], str]:
    """Return resources and conditions of the flows, by name and type of what they use."""
    resources: dict[tuple[str, str], dict[str, None]] = {}
    conditions: dict[tuple[str, str], dict[str, None]] = {}
    for path in sorted(path for folder in folders for path in Path(folder).glob('*.yaml')):
        try:
            placed = list(uses_of(load_flow(path), lambda name, action_id: {}))
        except LifecycleError:
            continue  # it needs parameters, or is not valid
        for _, _, action, use in placed:
            used = use.name, use.type
            if use.is_thing and not any(map(str.isspace, use.name)):
                resources.setdefault(used, {}).update(dict.fromkeys(action.resources))
                conditions.setdefault(used, {}).update(
                    dict.fromkeys(item.condition for item in action.confirm))
    return {used: ' resources: ' + ', '.join(held) + '; confirm: ' + ' | '.join(
        list(conditions[used])[:SHOWN]) for used, held in resources.items()}
