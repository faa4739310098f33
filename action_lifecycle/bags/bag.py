# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Reads bags: MCAP files, SQLite files of rosbag2, and folders of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
import heapq
from pathlib import Path
from typing import Any, NamedTuple

from .errors import BagError
from .folder import folder_files, is_packed, unpacked_file
from .mcap_file import McapFile
from .message_types import BagType
from .sqlite_file import SqliteFile
from .storage import Channel, Definition, Gap, RawMessage, StorageFile, unpacked
from ..documents.stamps import from_ns

CDR = 'cdr'  #: how messages of ROS 2 are serialized; recorders may add others


class BagMessage(NamedTuple):
    """A message of a bag; times in s of ROS time."""

    topic: str
    type: str  # noqa: A003
    log_time: float  #: when it arrived at the recorder
    publish_time: float  #: when it was sent; the log time where the recorder does not write it
    message: Any
    age: float  #: time (s) between both of a latched message, else 0


@dataclass(frozen=True)
class BagTopic:
    """A topic of a bag."""

    name: str
    type: str  # noqa: A003
    definition: Definition
    latched: bool
    encoding: str = CDR


class Bag:
    """
    An open bag; `read_bag` opens it.

    `notes` says what is damaged, `gaps` (ns) when messages are missing therefore; both grow while
    messages are read.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._stack = ExitStack()
        self._types: dict[tuple[str, Definition], BagType] = {}
        self._own_notes: list[str] = []
        self._own_gaps: list[Gap] = []
        self._malformed: dict[str, int] = {}
        try:
            self._files = self._open()
        except BaseException:
            self._stack.close()
            raise

    def __enter__(self) -> Bag:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files."""
        self._stack.close()

    @property
    def notes(self) -> list[str]:
        """Return what could not be read, and why."""
        return [*self._own_notes, *(note for file in self._files for note in file.notes), *(
            f'{self.path}: topic {topic}: {count} messages that do not fit their type are left out'
            for topic, count in self._malformed.items())]

    @property
    def gaps(self) -> list[Gap]:
        """Return the times (ns) in which messages may be missing."""
        return [*self._own_gaps, *(gap for file in self._files for gap in file.gaps)]

    def span(self) -> tuple[float, float] | None:
        """Return the first and the last log time (s) of all messages; None without any."""
        spans = list(filter(None, (file.span() for file in self._files)))
        return (from_ns(min(first for first, _ in spans)),
                from_ns(max(last for _, last in spans))) if spans else None

    def time_went_back(self) -> bool:
        """Whether log times were reset in the bag; known when its messages have been read."""
        return any(file.time_went_back() for file in self._files)

    @property
    def topics(self) -> dict[str, BagTopic]:
        """
        Return the topics by name; one that has several types has that of its first recorder.

        If some of its messages are of ROS 2 and others are not, only those of ROS 2 count.
        """
        found: dict[str, BagTopic] = {}
        for file in self._files:
            for channel in file.channels.values():
                this = BagTopic(channel.topic, channel.type, channel.definition, channel.latched,
                                channel.encoding)
                known = found.setdefault(channel.topic, this)
                if this.encoding != known.encoding:
                    better = this.encoding == CDR
                else:
                    better = not known.definition.text and known.type == this.type
                if better:
                    found[channel.topic] = this
        return found

    def type_of(self, topic: str) -> BagType:
        """Return the type of a topic; raises BagError if its definition is not known."""
        found = self.topics.get(topic)
        if found is None:
            raise BagError(f"{self.path}: there is no topic '{topic}'")
        return self._type(Channel(0, topic, found.type, found.definition, found.encoding))

    def messages(self, topics: Collection[str] | None = None) -> Iterator[BagMessage]:
        """
        Yield the messages of these topics (None: all) in order of log time.

        Other topics are not deserialized. A message that does not fit its type is left out, with a
        note and a gap. Raises BagError if the definition of a type is not known.
        """
        streams, known = [], self.topics
        for index, file in enumerate(self._files):
            wanted = {number: channel for number, channel in file.channels.items()
                      if (topics is None or channel.topic in topics)
                      and channel.encoding == known[channel.topic].encoding}
            types = {number: self._type(channel) for number, channel in wanted.items()}
            if wanted:
                streams.append(_numbered(file.messages(wanted), index, wanted, types))
        for _, _, channel, kind, raw in heapq.merge(*streams, key=lambda entry: entry[:2]):
            try:
                message = kind.read(unpacked(raw.data))
            except ValueError:
                self._malformed[channel.topic] = self._malformed.get(channel.topic, 0) + 1
                self._own_gaps.append(Gap(raw.log_time, raw.log_time))
                continue
            yield _bag_message(channel, raw, message)

    def _open(self) -> list[StorageFile]:
        if self.path.is_dir():
            paths = folder_files(self.path, self._own_notes, self._stack)
        elif self.path.exists():
            paths = [unpacked_file(self.path, self._own_notes, self._stack)
                     if is_packed(self.path) else self.path]
        else:
            raise BagError(f'{self.path}: no such file or folder')
        files: list[StorageFile] = []
        for path in paths:
            file = _open_file(path)
            self._stack.callback(file.close)
            files.append(file)
        return files

    def _type(self, channel: Channel) -> BagType:
        if channel.encoding != CDR:
            raise BagError(f"{self.path}: topic '{channel.topic}' is serialized as "
                           f"'{channel.encoding}'; expected cdr")
        definition = channel.definition
        if not definition.text:
            definition = next((other.definition for file in self._files
                               for other in file.channels.values()
                               if other.type == channel.type and other.definition.text
                               and other.encoding == CDR),
                              definition)
        key = (channel.type, definition)
        if key not in self._types:
            try:
                self._types[key] = BagType(channel.type, definition)
            except BagError as error:
                raise BagError(f"{self.path}: topic '{channel.topic}': {error}") from error
        return self._types[key]


def read_bag(path: str | Path) -> Bag:
    """
    Open a bag: an MCAP file, a .db3 file, or the folder of a recording; a context manager.

    A file may be compressed as a whole (.mcap.zstd, .db3.zstd).

    Raises BagError with the file and the reason if there is nothing that can be read.
    """
    return Bag(path)


def _open_file(path: Path) -> StorageFile:
    if path.suffix == '.mcap':
        return McapFile(path)
    if path.suffix == '.db3':
        return SqliteFile(path)
    raise BagError(f'{path}: not a bag: expected .mcap, .db3 (also with .zstd after it), or a '
                   'folder of them')


def _numbered(
    messages: Iterator[RawMessage], index: int, channels: dict[int, Channel],
    types: dict[int, BagType],
) -> Iterator[tuple[int, int, Channel, BagType, RawMessage]]:
    for raw in messages:
        yield raw.log_time, index, channels[raw.channel], types[raw.channel], raw


def _bag_message(channel: Channel, raw: RawMessage, message: Any) -> BagMessage:
    publish = raw.publish_time if 0 < raw.publish_time <= raw.log_time else raw.log_time
    known = channel.latched or channel.exact  # else the difference is the way to the recorder
    age = (raw.log_time - publish) / 10 ** 9 if known else 0.0
    return BagMessage(channel.topic, channel.type, from_ns(raw.log_time), from_ns(publish),
                      message, age)
