# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the pages say of flows and actions besides their states."""

from __future__ import annotations

from .record.shown import FlowShown


def flow_text(flow: FlowShown) -> str:
    """Return what there is to say of a flow."""
    return ' · '.join(filter(None, (
        flow.stage.replace('_', ' ') if flow.state == 'START' else '',
        f'paused by {flow.paused_by}' if flow.paused and flow.paused_by else '',
        f'canceled by {flow.canceled_by}' if flow.canceled_by else '',
        f'planning: {flow.planning}' if flow.planning else '',
        f"breakpoints: {', '.join(flow.breakpoints)}" if flow.breakpoints else '',
        flow.error_msg or flow.error_code)))
