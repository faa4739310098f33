# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The kind `graph`: a session of a graph of typed states in the agent node."""

from __future__ import annotations

from collections.abc import Iterator
import json
from typing import Any

from pydantic import Field

from ..documents.models import seconds
from ..documents.templates.template import has_template
from ..lifecycle.work import register_work, WorkSpec


@register_work('graph')
class GraphSpec(WorkSpec):
    """A graph that the agent node runs as a session; its last output is the result."""

    graph: str = Field(
        description='Name of a graph file, or the text of the graph (with a line break).')
    input: Any = Field(  # noqa: A003
        default=None, description='What the session begins with: its context.')
    time_limit: float = seconds(0.0, 'Seconds for the session; 0: no limit.', most=864000)

    late = ('graph',)
    stops_slowly = True

    def uses(self) -> Iterator[tuple[str, str, str]]:
        yield 'graph', self.graph, 'graph'

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield a template in the name of a file, and an input that is no JSON."""
        if '\n' not in self.graph and has_template(self.graph):
            yield 'graph', 'the name of a graph file can not be a template'
        try:
            json.dumps(self.input, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            yield 'input', f'it is no JSON: {error}'
