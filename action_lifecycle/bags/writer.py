# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Writes bags: MCAP files that rosbag2, Foxglove and PlotJuggler open."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from .errors import BagError, library
from .mcap_file import OUR_LIBRARY
from ..documents.durable_file import replacing
from ..documents.stamps import to_ns

CHUNK = 1 << 20  #: bytes that are compressed together
_QOS = """- history: 1
  depth: {depth}
  reliability: 1
  durability: {durability}
  deadline: {{sec: 9223372036, nsec: 854775807}}
  lifespan: {{sec: 9223372036, nsec: 854775807}}
  liveliness: 1
  liveliness_lease_duration: {{sec: 9223372036, nsec: 854775807}}
  avoid_ros_namespace_conventions: false
"""


class BagWriter:
    """
    Writes an MCAP file; it appears under its name when it is complete.

        with BagWriter('grasp.mcap') as bag:
            bag.add_topic('/joint_states', 'sensor_msgs/msg/JointState', definition)
            bag.write('/joint_states', cdr, arrival, age)

    `chunk`: number of bytes that are compressed together. If the code inside fails, nothing is
    left behind. Raises BagError.
    """

    def __init__(
        self, path: str | Path, *, compression: str = 'zstd', chunk: int = CHUNK
    ) -> None:
        self._path = Path(path)
        self._compression = compression
        self._chunk = chunk
        self._stack = ExitStack()
        self._channels: dict[str, int] = {}
        self._schemas: dict[tuple[str, str], int] = {}
        self._writer: Any = None
        self.count = 0  #: messages written

    def __enter__(self) -> BagWriter:
        module = library('mcap.writer')
        try:
            kind = module.CompressionType[self._compression.upper() or 'NONE']
        except KeyError:
            raise BagError(f"compression '{self._compression}': expected zstd, lz4 or none"
                           ) from None
        try:
            with ExitStack() as stack:
                part = stack.enter_context(replacing(self._path))
                output = stack.enter_context(part.open('wb'))
                self._stack = stack.pop_all()
        except OSError as error:
            raise BagError(f'{self._path}: {error.strerror or error}') from error
        self._writer = module.Writer(output, chunk_size=self._chunk, compression=kind)
        self._writer.start(profile='ros2', library=OUR_LIBRARY)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self._writer.finish()
            self._stack.__exit__(kind, error, trace)
        except OSError as failure:
            raise BagError(f'{self._path}: {failure.strerror or failure}') from failure

    def add_topic(
        self, topic: str, type_name: str, definition: str, *, latched: bool = False,
        depth: int = 10,
    ) -> None:
        """
        Add a topic before its first message; a second time, it is ignored.

        `definition`: text of the message definition (ros2msg) with those of all types in it.
        """
        if topic in self._channels:
            return
        key = (type_name, definition)
        if key not in self._schemas:
            self._schemas[key] = self._writer.register_schema(
                name=type_name, encoding='ros2msg' if definition else '',
                data=definition.encode())
        self._channels[topic] = self._writer.register_channel(
            topic=topic, message_encoding='cdr', schema_id=self._schemas[key],
            metadata={'offered_qos_profiles': _QOS.format(
                depth=depth, durability=1 if latched else 2)})

    def write(self, topic: str, data: bytes, arrival: float, age: float = 0.0) -> None:
        """
        Write a serialized message (CDR) that arrived at `arrival` (ROS time, s).

        `age`: time (s) since a latched message was published.
        """
        time = to_ns(arrival)
        self._writer.add_message(
            channel_id=self._channels[topic], log_time=time, data=data,
            publish_time=max(0, time - to_ns(age)), sequence=self.count)
        self.count += 1

    def attach(self, name: str, media_type: str, data: bytes, time: float) -> None:
        """Add a file that belongs to the recording, such as the facts file."""
        self._writer.add_attachment(
            create_time=to_ns(time), log_time=to_ns(time), name=name, media_type=media_type,
            data=data)

    def describe(self, name: str, texts: dict[str, str]) -> None:
        """Add metadata, such as why the bag was written."""
        self._writer.add_metadata(name, texts)
