# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Flows that are written in Python; docs/python.md has examples."""

from .flow import ActionRef, Flow
from .parts import (
    ask,
    call,
    checker,
    condition,
    FlowPart,
    graph,
    instead,
    job,
    motion,
    nested,
    publish,
    recipe,
    retry_with,
    tool,
    verifier,
    when,
    work,
)
from .values import contains, FactNames, facts, facts_of, fn, parameter, Value

__all__ = [
    'ActionRef', 'FactNames', 'Flow', 'FlowPart', 'Value', 'ask', 'call', 'checker', 'condition',
    'contains', 'facts', 'facts_of', 'fn', 'graph', 'instead', 'job', 'motion', 'nested',
    'parameter', 'publish', 'recipe', 'retry_with', 'tool', 'verifier', 'when', 'work',
]
