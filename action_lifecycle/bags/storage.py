# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the readers of MCAP and SQLite files have in common."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
import re
from typing import NamedTuple

from .errors import library

RESET = 10 ** 9  #: ns; recorders may write messages in another order by less
MESSAGE_LIMIT = 100 << 20  #: bytes of one message, or of one chunk when unpacked
_ZSTD = b'\x28\xb5\x2f\xfd'  # how a frame of zstd begins; no serialized message does
_LATCHED = re.compile(r'durability:\s*(1|transient_local)\b')


class Definition(NamedTuple):
    """The definition of a message type; `encoding`: ros2msg, ros2idl, or '' without one."""

    encoding: str = ''
    text: str = ''


class RawMessage(NamedTuple):
    """A serialized message; times in ns."""

    channel: int
    log_time: int
    publish_time: int
    data: bytes


@dataclass(frozen=True)
class Channel:
    """A topic of one file, as written by one recorder."""

    id: int  # noqa: A003
    topic: str
    type: str  # noqa: A003
    definition: Definition = Definition()
    encoding: str = 'cdr'
    latched: bool = False  #: a publisher offered transient local durability
    exact: bool = False  #: log_time - publish_time is the age that the bridge measured


class Gap(NamedTuple):
    """A time (ns) in which messages may be missing, since the file is damaged."""

    start: int
    end: int


class StorageFile:
    """One file of a bag."""

    def __init__(self) -> None:
        self.channels: dict[int, Channel] = {}
        self.notes: list[str] = []  #: on damage
        self.gaps: list[Gap] = []

    def span(self) -> tuple[int, int] | None:
        """Return the first and the last log time (ns) of all messages; None without any."""
        raise NotImplementedError

    def messages(self, channels: Collection[int]) -> Iterator[RawMessage]:
        """Yield the messages of these channels in order of log time."""
        raise NotImplementedError

    def time_went_back(self) -> bool:
        """
        Whether log times of a topic go back by more than RESET in the order of writing.

        So it is if simulated time was reset while it was recorded. Of chunks, only those count
        that `messages` has read.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Close the file."""
        raise NotImplementedError


def is_latched(qos_profiles: object) -> bool:
    """Whether the QoS profiles that a recorder wrote (YAML) have transient local durability."""
    return bool(_LATCHED.search(str(qos_profiles)))


def unpacked(data: bytes) -> bytes:
    """Return a message, unpacked if it is compressed by itself (zstd); raises ValueError."""
    if not data.startswith(_ZSTD):
        return data
    zstandard = library('zstandard')
    try:
        size = zstandard.frame_content_size(data)
        if size > MESSAGE_LIMIT:
            raise ValueError(f'a message of {size} bytes, at most {MESSAGE_LIMIT} are expected')
        return bytes(zstandard.ZstdDecompressor().decompress(
            data, max_output_size=size if size > 0 else min(64 * len(data), MESSAGE_LIMIT)))
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from None
