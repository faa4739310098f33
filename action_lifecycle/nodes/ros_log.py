# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Forwards the Python log records of the ROS-free folders to a node's logger."""

from __future__ import annotations

import logging

from ..ros.lifecycle_node import ManagedNode


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


def log_to(node: ManagedNode) -> None:
    """Forward all records of the package to this node only."""
    logger = logging.getLogger('action_lifecycle')
    logger.handlers = [_RosHandler(node)]
    logger.propagate = False
