# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The servers that the attempts of actions used, from the flows that the journal has."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
import json
import re
from typing import Any, NamedTuple

from ..documents.errors import LifecycleError
from ..flow.files.flow import Flow
from ..flow.files.journaled import journaled_flow

MAX_FLOWS = 128
"""Maximum number of flows that are kept parsed."""
_TEMPLATED = re.compile(r'\b(server|service|topic)\b[^\n]*\{[{%]')


class Server(NamedTuple):
    """What a step of an attempt used: the kind of work, and its server, service, topic, …."""

    kind: str
    name: str


UNKNOWN = Server('', '')
"""The journal does not have the flow, or has the action from an edit only."""


class FlowText:
    """The content of one flow, as its rows are read; `name` is None if they are missing."""

    def __init__(self, head: Mapping[str, Any] | None = None) -> None:
        self.head = head
        self.name: str | None = None if head is None else str(head.get('name', ''))
        self.parts = [] if head is None else [str(head.get('text', ''))]


class ServerFinder:
    """Finds the servers of attempts; each flow is parsed once."""

    def __init__(self) -> None:
        self._flows: OrderedDict[str, tuple[Flow | None, dict[str, tuple[Server, ...]]]] \
            = OrderedDict()

    def servers(
        self, flow: FlowText, action_id: str, parameters: Mapping[str, Any],
        fields: Mapping[str, Any],
    ) -> tuple[Server, ...]:
        """
        Return the servers of an attempt, each once.

        `parameters`, `fields`: what fallbacks before the attempt have changed.
        """
        if flow.head is None:
            return UNKNOWN,
        text = ''.join(flow.parts)
        key = text
        if _TEMPLATED.search(text):
            key += json.dumps(flow.head.get('parameters'), sort_keys=True)
        if key not in self._flows:
            self._flows[key] = _parsed(flow.head, text), {}
            if len(self._flows) > MAX_FLOWS:
                self._flows.popitem(last=False)
        self._flows.move_to_end(key)
        parsed, known = self._flows[key]
        changed = json.dumps([action_id, parameters, fields] if fields or (
            parameters and key is not text) else action_id, sort_keys=True)
        if changed not in known:
            known[changed] = _servers(parsed, action_id, parameters, fields)
        return known[changed]


def _parsed(head: Mapping[str, Any], text: str) -> Flow | None:
    try:
        return journaled_flow(head, text, [])
    except (LifecycleError, LookupError, TypeError, ValueError):  # rows may have any content
        return None


def _servers(
    flow: Flow | None, action_id: str, parameters: Mapping[str, Any], fields: Mapping[str, Any]
) -> tuple[Server, ...]:
    if flow is None or action_id not in flow.actions:
        return UNKNOWN,
    spec = flow.actions[action_id]
    if fields or parameters:
        try:
            spec = flow.render(action_id, parameters, fields)
        except LifecycleError:
            return UNKNOWN,
    return tuple(dict.fromkeys(Server(step.kind, step.target) for step in spec.steps))
