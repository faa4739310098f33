# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the pages say of flows and actions besides their states."""

from __future__ import annotations

from .record.shown import FlowShown
from ..lifecycle.states import BLOCKED_REASONS


def wait_text(waits_for: str) -> str:
    """Return what an action waits for without the kind of the reason, which its look shows."""
    kind, colon, text = waits_for.partition(': ')
    return text if colon and kind in BLOCKED_REASONS else waits_for


def flow_text(flow: FlowShown) -> str:
    """Return what there is to say of a flow."""
    return ' · '.join(filter(None, (
        flow.stage.replace('_', ' ') if flow.state == 'START' else '',
        f'paused by {flow.paused_by}' if flow.paused and flow.paused_by else '',
        f'canceled by {flow.canceled_by}' if flow.canceled_by else '',
        f'planning: {flow.planning}' if flow.planning else '',
        f"breakpoints: {', '.join(flow.breakpoints)}" if flow.breakpoints else '',
        ' '.join(filter(None, (flow.error_code, flow.error_msg))))))
