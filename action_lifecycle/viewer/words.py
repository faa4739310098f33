# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the pages say of flows and actions besides their states."""

from __future__ import annotations

from collections.abc import Sequence

from .record.shown import FlowShown, StateEntered
from ..report.wording import duration


def flow_text(flow: FlowShown) -> str:
    """Return what there is to say of a flow."""
    return ' · '.join(filter(None, (
        flow.stage.replace('_', ' ') if flow.state == 'START' else '',
        f'paused by {flow.paused_by}' if flow.paused and flow.paused_by else '',
        f'canceled by {flow.canceled_by}' if flow.canceled_by else '',
        f'planning: {flow.planning}' if flow.planning else '',
        f"breakpoints: {', '.join(flow.breakpoints)}" if flow.breakpoints else '',
        flow.error_msg or flow.error_code)))


def state_times(entered: Sequence[StateEntered]) -> list[str]:
    """Return each state that a flow has entered, with the time it took, if it was left."""
    ends = [one.time for one in entered[1:]]
    return [f'{one.state} {duration(max(0.0, end - one.time))}'
            for one, end in zip(entered, ends)] + [one.state for one in entered[-1:]]
