# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The service with which a viewer on another machine reads evidence traces."""

from __future__ import annotations

from array import array
import hashlib
from pathlib import Path
from typing import Any

from action_lifecycle_msgs.srv import GetTrace

from ..shared.background_worker import Apart
from ...lifecycle.states import ErrorCode
from ...ros.node.lifecycle_node import ManagedNode
from ...ros.node.timers import Timeout
from ...traces.contents import TraceError, TraceKey
from ...traces.image import MAX_BYTES, trace_image

PAGE = 256 * 1024
"""Maximum number of bytes of a response."""
KEPT = 10.0
"""Time (s) after the last response until which the rest of a trace is kept for the next page."""


class TraceQueries:
    """
    Offers `~/get_trace` for the file at `path`, None: traces are not recorded; for `configure`.

    It reads in a separate thread, so that neither motions nor confirmations wait for the disk.
    """

    def __init__(self, node: ManagedNode, path: Path | None) -> None:
        self._node = node
        self._path = path
        self._kept: dict[tuple[TraceKey, int], bytes] = {}  # by version; used in the thread only
        self._forget: Timeout | None = None
        self._apart = Apart(node)
        node.defer(self._close)
        node.add_service(GetTrace, '~/get_trace', self.get_trace)

    async def get_trace(self, request: Any, response: Any) -> Any:
        """Fill the response with a page of a trace."""
        if self._path is None:
            response.error_code = int(ErrorCode.NOT_FOUND)
            response.error_msg = 'not recorded: parameter trace_file of the bridge is empty'
            return response
        try:
            await self._apart.answer(lambda: self._read(request, response))
        except TraceError as error:
            response.error_code, response.error_msg = int(ErrorCode.NOT_ALLOWED), str(error)
        self._forget_later()
        return response

    def _read(self, request: Any, response: Any) -> None:
        """Fill the response; in the thread."""
        assert self._path is not None
        key = TraceKey(request.flow_id, request.action_id, request.attempt)
        image = self._kept.pop((key, request.version), None) if request.offset else None
        if image is None:
            image = trace_image(self._path, key)
        if image is None:
            return
        version = _version(image)
        response.version, response.size = version, len(image)
        if (request.version == version) != (request.offset > 0):
            return  # unchanged, or another trace than that whose page is asked for
        end = request.offset + PAGE
        response.data = array('B', image[request.offset:end])
        if end < len(image):
            self._keep(key, version, image)

    def _keep(self, key: TraceKey, version: int, image: bytes) -> None:
        """Keep an image for the next page, and others only if there is room."""
        self._kept[key, version] = image
        while sum(map(len, self._kept.values())) > MAX_BYTES and len(self._kept) > 1:
            del self._kept[next(iter(self._kept))]

    def _forget_later(self) -> None:
        if self._forget is not None:
            self._forget.cancel()
        self._forget = Timeout(self._node, KEPT, lambda: self._apart(
            self._kept.clear, lambda _, error: None))

    def _close(self) -> None:
        if self._forget is not None:
            self._forget.cancel()
        self._apart.close()


def _version(image: bytes) -> int:
    """Return a number above 0 that differs for different images."""
    return int.from_bytes(hashlib.sha256(image).digest()[:8], 'big') or 1
