# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Forwards the Python log records of the ROS-free folders to a node's logger."""

from __future__ import annotations

import logging

from ...ros.node.lifecycle_node import ManagedNode


class _RosHandler(logging.Handler):
    """Forwards records to a node's logger."""

    def __init__(self, node: ManagedNode) -> None:
        super().__init__()
        self._node = node

    def emit(self, record: logging.LogRecord) -> None:
        log = self._node.get_logger()
        if record.levelno >= logging.ERROR:
            log.error(self.format(record))
        elif record.levelno >= logging.WARNING:
            log.warning(self.format(record))
        else:
            log.info(self.format(record))


PACKAGE = 'action_lifecycle'


def log_to(node: ManagedNode, folder: str = '') -> None:
    """
    Forward all records of the package to this node only, or those of a `folder` until its cleanup.

    In a process with several nodes, those of a folder go to the node that is about it.
    """
    logger = logging.getLogger(f'{PACKAGE}.{folder}' if folder else PACKAGE)
    handler = _RosHandler(node)
    logger.handlers = [handler]
    logger.propagate = False

    def give_back() -> None:
        if logger.handlers == [handler]:
            logger.handlers = []
            logger.propagate = True
    if folder:
        node.defer(give_back)
