# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Ensures that a node name is used once on this machine.

ROS permits two nodes of the same name; then both serve each request. Two bridges would both send a
motion, and one of them would report a refusal while the other one moves the robot.
"""

from __future__ import annotations

import hashlib
import socket
import struct

from rclpy.node import Node

from ...documents.errors import LifecycleError

WAITING = 100  #: number of refused claims after which messages no longer have the pid


def claim_name(node: Node) -> socket.socket:
    """
    Claim the node's full name in its ROS domain, until the returned socket is closed.

    The socket is in Linux's abstract namespace. So the claim ends with the process, also if it is
    killed, and holds for one network namespace, as DDS does. Raises LifecycleError that names the
    process with the claim.
    """
    name, domain = node.get_fully_qualified_name(), node.context.get_domain_id()
    digest = hashlib.sha256(f'{domain}{name}'.encode()).hexdigest()  # a name may be too long
    address = f'\0action_lifecycle/{digest}'
    claim = socket.socket(socket.AF_UNIX)
    try:
        claim.bind(address)
    except OSError:
        claim.close()
        raise LifecycleError(
            f'{name}: there is a node of this name on this machine, in domain {domain}: '
            f'{_holder(address)}') from None
    claim.listen(WAITING)
    return claim


def _holder(address: str) -> str:
    with socket.socket(socket.AF_UNIX) as asked:
        asked.setblocking(False)
        try:
            asked.connect(address)
        except OSError:  # too many refused claims, or the process has just ended
            return 'another process'
        credentials = asked.getsockopt(
            socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize('3i'))
    return f"pid {struct.unpack('3i', credentials)[0]}"
