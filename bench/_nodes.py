# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The processes of the nodes and of a bare node, and what they use."""

from __future__ import annotations

from pathlib import Path
import subprocess
import sys

PROCESSES = Path(__file__).with_name('_ros_processes.py')
FACTS = 'estop: {topic: estop, type: std_msgs/msg/Bool, field: data, max_age: 1.0}\n'
LEVEL = 'facts:\n  level: {topic: level, type: std_msgs/msg/Float64, field: data, max_age: 1.0}\n'
MANY = """\
flow: many
max_motions: {count}
defaults:
  motion: {{server: move, type: control_msgs/action/GripperCommand}}
  confirm: {{condition: level > 0.5, hold: 0.2}}
actions:
"""
APART = ('world_model_bridge', 'ledger', 'action_lifecycle_node')  # each in its own process
MODULES = ('import json, sys, action_lifecycle.nodes.composed; print(json.dumps([name for name in '
           "sys.modules if name.split('.')[1:] in (['msg'], ['srv'], ['action'])]))")


class Pair:
    """Starts the process of the composed nodes, or that of the bare node."""

    def __init__(self, environment: dict[str, str], folder: str) -> None:
        from ament_index_python.packages import get_package_prefix
        facts = Path(folder) / 'facts.yaml'
        facts.write_text(FACTS)
        program = Path(get_package_prefix('action_lifecycle'), 'lib', 'action_lifecycle')
        modules = subprocess.run([sys.executable, '-c', MODULES], env=environment, check=True,
                                 capture_output=True, text=True).stdout
        self.environment = environment
        arguments = ['--ros-args', '-p', 'autostart:=true', '-p',
                     f'journal_path:={folder}/ready.journal', '-p', f'facts_file:={facts}']
        self.commands = {
            'ours': [str(program / 'composed'), *arguments],
            **{name: [str(program / name), *arguments] for name in APART},
            'bare': [sys.executable, str(PROCESSES), 'bare', modules]}

    def start(self, name: str) -> subprocess.Popen[bytes]:
        """Start `ours` (three nodes in one process), `bare`, or one of APART."""
        return subprocess.Popen(self.commands[name], env=self.environment,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def cpu_s(pid: int) -> float:
    """Return the CPU time (s) of all threads of a process."""
    return sum(int(path.read_text().split()[0])
               for path in Path(f'/proc/{pid}/task').glob('*/schedstat')) * 1e-9


def rss_kb(pid: int) -> float:
    """Return the resident memory of a process in KiB."""
    lines = Path(f'/proc/{pid}/status').read_text().splitlines()
    return float(next(line for line in lines if line.startswith('VmRSS')).split()[1])
