# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A flow whose action runs another flow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from action_lifecycle.flow import load_flow

from .robot import MOTION, Process

INNER = (f'flow: inner\nparameters: {{speed: {{default: 0.5, max: 1.0}}}}\nactions:\n'
         f'  grip: {{{MOTION}, parameters: {{v: "{{{{ speed }}}}"}}}}\n'
         f'  lift: {{{MOTION}, after: grip}}\n')
OUTER = f'flow: outer\nactions:\n  pick: {{flow: inner}}\n  home: {{{MOTION}, after: pick}}\n'


def submit(process: Process, flow_folder: Path, flow_id: str = 'f', **options: Any) -> Any:
    return process.orchestrator.submit(load_flow(flow_folder / 'outer.yaml'), flow_id, **options)
