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
from ..flow.files.flow import LoadedFlow
from ..flow.files.journaled import CACHED, JournaledText

MAX_FLOWS = 128
"""Maximum number of flows that are kept parsed."""
_TEMPLATED = re.compile(r'\b(server|service|topic)\b[^\n]*\{[{%]')


class Server(NamedTuple):
    """What a step of an attempt used: the kind of work, and its server, service, topic, …."""

    kind: str
    name: str


UNKNOWN = Server('', '')
"""The journal does not have the flow, or has the action from an edit only."""


class ServerFinder:
    """Finds the servers of attempts."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, dict[str, tuple[Server, ...]]] = OrderedDict()

    def servers(
        self, flow: JournaledText, action_id: str, parameters: Mapping[str, Any],
        fields: Mapping[str, Any],
    ) -> tuple[Server, ...]:
        """
        Return the servers of an attempt, each once.

        `parameters`, `fields`: what fallbacks before the attempt have changed.
        """
        known = self._known.setdefault(flow.key, {})
        self._known.move_to_end(flow.key)
        if len(self._known) > CACHED:
            self._known.popitem(last=False)
        changed = json.dumps([action_id, parameters, fields], sort_keys=True)
        if changed not in known:
            known[changed] = _servers(_parsed(flow), action_id, parameters, fields)
        return known[changed]


def _parsed(text: JournaledText) -> LoadedFlow | None:
    try:
        return text.cached() if text.is_complete else None
    except (LifecycleError, LookupError, TypeError, ValueError):  # rows may have any content
        return None


def _servers(
    flow: LoadedFlow | None, action_id: str, parameters: Mapping[str, Any],
    fields: Mapping[str, Any],
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
