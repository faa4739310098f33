# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The thread of a node beside other threads."""

from __future__ import annotations

import sys

from action_lifecycle.ros.node.node_thread import NodeThread

from .managed_rig import Rig, rig

__all__ = ['rig']  # a fixture
SLICE = 0.002  #: s; a time slice of Linux is not shorter on a busy core


def test_python_lets_the_thread_run_within_a_time_slice(rig: Rig) -> None:
    """Else the kernel may take the core from another thread before that lets this one run."""
    before = sys.getswitchinterval()
    thread = NodeThread(rig.node, 'watch')
    try:
        thread.start()
        assert sys.getswitchinterval() < SLICE / 2
    finally:
        sys.setswitchinterval(before)
        thread.close()
        thread.destroy_node()
