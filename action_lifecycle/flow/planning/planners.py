# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Planners in Python: what they get and what they return.

A planner is registered by `@register_planner('name')`, or by another package through the
entry-point group `action_lifecycle.planners`. It runs in a separate thread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

from ...documents.errors import LifecycleError
from ...documents.registry import Registry

PREFIX = 'python:'
"""Start of the parameter `planner` for a planner in Python."""


@dataclass(frozen=True)
class PlanRequest:
    """
    A request to a planner: for a flow, or for an edit of the running flow `flow_yaml`.

    `capabilities`: the action servers, each with name, type and further information. `completed`:
    names of the actions that have just ended; `ended`: their states, outcomes, errors, evidence,
    as mappings. `status`: the flow with all its `actions`. `errors`: faults of the last answer.
    """

    request: str = ''
    facts: Mapping[str, Any] = field(default_factory=dict)
    capabilities: Sequence[str] = ()
    flow_yaml: str = ''
    completed: Sequence[str] = ()
    errors: Sequence[str] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)  #: by fact, with units
    ended: Sequence[Mapping[str, Any]] = ()
    status: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class PlanAnswer:
    """A flow, or an edit (empty: no change), and a message."""

    flow_yaml: str = ''
    edit_yaml: str = ''
    message: str = ''


PlanFunction = Callable[[PlanRequest], Union[str, PlanAnswer, None]]
"""Returns the text of a flow, or of an edit if the request has a flow; None: nothing."""

PLANNERS: Registry[Any] = Registry('action_lifecycle.planners', 'there is no planner')
register_planner = PLANNERS.register


def find_planner(name: str) -> PlanFunction:
    """
    Return the function of a registered planner; of a class, the method `plan` of a new object.

    Raises `LifecycleError` for an unknown name, and if the planner can't be made.
    """
    found = PLANNERS.find(name)
    if isinstance(found, type):
        try:
            found = found()
        except Exception as error:
            raise LifecycleError(
                f"planner '{name}': {type(error).__name__}: {error}") from error
    plan: PlanFunction | None = getattr(found, 'plan', found)
    if not callable(plan):
        raise LifecycleError(f"planner '{name}': expected a function, or a class with a method "
                             f"'plan', got {type(found).__name__}")
    return plan


def ask_planner(plan: PlanFunction, request: PlanRequest) -> PlanAnswer:
    """Return the answer of a planner; raises `LifecycleError` if it gives none that is valid."""
    try:
        said = plan(request)
    except BaseException as error:  # in its own thread, which must not end without an answer
        raise LifecycleError(f'{type(error).__name__}: {error}') from error
    if isinstance(said, PlanAnswer):
        return said
    if said is not None and not isinstance(said, str):
        raise LifecycleError('the planner returned an object of type '
                             f'{type(said).__name__}, expected str, PlanAnswer or None')
    text = said or ''
    return PlanAnswer(edit_yaml=text) if request.flow_yaml else PlanAnswer(text)
