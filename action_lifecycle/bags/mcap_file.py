# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Reads MCAP files, also without an index, damaged, or cut off at the end by a crash.

The records are found by their headers, not by the index at the end of the file, so that all files
are read in the same way. Only the chunks that have messages of the wanted channels are unpacked.
What has no check sum (headers, times of chunks, definitions) is compared with the summary at the
end of the file, which repeats it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
import heapq
import io
from pathlib import Path
import struct
from typing import Any, BinaryIO
import zlib

from .errors import BagError, library
from .storage import (
    Channel,
    Definition,
    Gap,
    is_latched,
    MESSAGE_LIMIT,
    RawMessage,
    RESET,
    StorageFile,
)
from ..documents.input_file import open_input

MAGIC = b'\x89MCAP0\r\n'
OUR_LIBRARY = 'action_lifecycle'  #: the bags of this library have exact publish times
_RECORD = struct.Struct('<BQ')  # opcode, length
_MESSAGE = struct.Struct('<HIQQ')  # channel, sequence, log time, publish time
_CHUNK = struct.Struct('<QQQII')  # first and last log time, size, CRC, length of the compression
_HEADER, _FOOTER, _SCHEMA, _CHANNEL, _MESSAGE_RECORD, _CHUNK_RECORD, _INDEX = range(1, 8)
_CHUNK_INDEX, _STATISTICS, _DATA_END = 8, 11, 15
_DEFINITION_LIMIT = 4 << 20
_WAITING_LIMIT = 200 << 20  # bytes of messages that wait for earlier ones of other chunks
_LAST = 2 ** 63 - 1


@dataclass
class _Block:
    """A chunk, or a message outside of chunks; `channels`: None if they are not known."""

    start: int
    end: int
    offset: int  #: of the record's content
    length: int
    chunk: bool
    channels: set[int] | None = field(default=None)
    damaged: bool = False


class McapFile(StorageFile):
    """One MCAP file."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._records = library('mcap.records')
        self._stream_of = library('mcap.data_stream').ReadDataStream
        self._schemas: dict[int, Any] = {}
        self._ours = False
        self._blocks: list[_Block] = []
        # first and latest log time (ns) of each channel: by the offset of the chunks that have
        # been read; 0: of all messages outside of chunks
        self._times: dict[int, dict[int, tuple[int, int]]] = {}
        self._went_back = False
        self._waiting: list[Any] = []  # channels whose schema has not been found
        self._declared: dict[int, Any] = {}  # channels, as first declared
        self._summary: list[Any] | None = None  # records of the summary; None before it begins
        try:
            self._file: BinaryIO = open_input(path)
            self._size = path.stat().st_size
            if self._file.read(len(MAGIC)) != MAGIC:
                raise BagError(f'{path}: not an MCAP file (its first 8 bytes are others)')
            self._scan()
            self._compare_with_summary()
            self._look_into_chunks()
            self._define_what_is_repeated()
        except OSError as error:
            raise BagError(f'{path}: {error.strerror or error}') from error
        for channel in self._waiting:
            self._add_channel(channel, None)
        lost = [(block.start, block.end) for block in self._blocks
                if block.channels and not block.channels <= self.channels.keys()]
        if lost:
            self._doubt('it has messages of channels that it does not declare', *_span(lost))

    def close(self) -> None:
        self._file.close()

    def span(self) -> tuple[int, int] | None:
        full = [(block.start, block.end) for block in self._blocks
                if block.end > 0 and block.channels]
        return _span(full) if full else None

    def messages(self, channels: Collection[int]) -> Iterator[RawMessage]:
        """Yield the messages of these channels in order of log time."""
        wanted = set(channels)
        blocks = sorted((block for block in self._blocks
                         if block.channels is None or block.channels & wanted),
                        key=lambda block: block.start)
        waiting: list[tuple[int, int, RawMessage]] = []
        number = held = 0
        for block in blocks:
            while waiting and waiting[0][0] < block.start:
                message = heapq.heappop(waiting)[2]
                held -= len(message.data)
                yield message
            self._times.pop(block.offset, None)  # of an earlier reading
            for message in self._messages_in(block):
                if block.chunk:
                    self._note_time(block.offset, message.channel, message.log_time)
                if message.channel in wanted:
                    heapq.heappush(waiting, (message.log_time, number, message))
                    number += 1
                    held += len(message.data)
                    if held > _WAITING_LIMIT:
                        raise BagError(
                            f'{self._path}: chunks that overlap in time hold more than '
                            f'{_WAITING_LIMIT} bytes; sort the bag by log time')
        while waiting:
            yield heapq.heappop(waiting)[2]

    def time_went_back(self) -> bool:
        latest: dict[int, int] = {}
        for _, times in sorted(self._times.items()):
            for channel, (first, last) in times.items():
                before = latest.get(channel, first)
                self._went_back |= first < before - RESET
                latest[channel] = max(before, last)
        return self._went_back

    # -- records

    def _note_time(self, offset: int, channel: int, log_time: int) -> None:
        times = self._times.setdefault(offset, {})
        first, latest = times.get(channel, (log_time, log_time))
        self._went_back |= log_time < latest - RESET
        times[channel] = first, max(latest, log_time)

    def _scan(self) -> None:
        """Find all records by their headers."""
        offset, ended = len(MAGIC), False
        while not ended:
            self._file.seek(offset)
            header = self._file.read(_RECORD.size)
            if len(header) < _RECORD.size:
                self._cut(offset, 'it has no end')
                return
            opcode, length = _RECORD.unpack(header)
            offset += _RECORD.size
            if opcode == 0:
                self._cut(offset - _RECORD.size, 'no record begins there')
                return
            fits = offset + length <= self._size
            try:
                if fits or opcode == _CHUNK_RECORD:  # whose first messages may be there
                    self._found(opcode, offset, min(length, self._size - offset))
            except (struct.error, ValueError, self._end_of_file()) as error:
                self._cut(offset, f"a record can't be read ({error or 'it is too short'})")
                return
            if not fits:
                self._cut(offset, 'a record is longer than the file')
                return
            offset += length
            ended = opcode == _FOOTER
        self._file.seek(offset)
        if self._file.read(len(MAGIC)) != MAGIC:
            self._cut(offset, 'it has no end')

    @staticmethod
    def _end_of_file() -> Any:
        return library('mcap.exceptions').EndOfFile

    def _found(self, opcode: int, offset: int, length: int) -> None:
        """Process a record of the file whose content begins at `offset`."""
        if opcode == _MESSAGE_RECORD and self._summary is None:
            channel, _, log_time, _ = _MESSAGE.unpack(self._file.read(_MESSAGE.size))
            self._blocks.append(_Block(log_time, log_time, offset, length, False, {channel}))
            self._note_time(0, channel, log_time)
        elif opcode == _CHUNK_RECORD:
            start, end, *_ = _CHUNK.unpack(self._file.read(_CHUNK.size))
            self._blocks.append(_Block(start, end, offset, length, True))
        elif opcode == _INDEX and self._blocks and self._blocks[-1].chunk:
            block = self._blocks[-1]
            block.channels = (block.channels or set()) | {
                struct.unpack('<H', self._file.read(2))[0]}
        elif opcode == _DATA_END:
            self._summary = []
        elif opcode in (_HEADER, _SCHEMA, _CHANNEL) or (
                self._summary is not None and opcode in (_CHUNK_INDEX, _STATISTICS)):
            if length > _DEFINITION_LIMIT:
                raise ValueError(f'{length} bytes, at most {_DEFINITION_LIMIT} are expected')
            record = self._parsed(opcode, self._file.read(length))
            if self._summary is None:
                self._define(record)
            else:
                self._summary.append(record)

    def _parsed(self, opcode: int, data: bytes) -> Any:
        records = self._records
        kinds = {_HEADER: records.Header, _SCHEMA: records.Schema, _CHANNEL: records.Channel,
                 _CHUNK_INDEX: records.ChunkIndex, _STATISTICS: records.Statistics}
        return kinds[opcode].read(self._stream_of(io.BytesIO(data)))

    def _define(self, record: Any) -> None:
        """Process a header, a schema or a channel; of several definitions, the first counts."""
        if isinstance(record, self._records.Header):
            self._ours = record.library.startswith(OUR_LIBRARY)
        elif isinstance(record, self._records.Schema):
            if self._schemas.setdefault(record.id, record) != record:
                self._doubt(f'it has two definitions of schema {record.id}')
            waiting, self._waiting = self._waiting, []
            for channel in waiting:
                self._add(channel)
        elif isinstance(record, self._records.Channel):
            if self._declared.setdefault(record.id, record) != record:
                self._doubt(f'it has two definitions of channel {record.id}')
            else:
                self._add(record)

    def _add(self, channel: Any) -> None:
        schema = self._schemas.get(channel.schema_id)
        if schema is None and channel.schema_id:
            self._waiting.append(channel)
        elif channel.id not in self.channels:
            self._add_channel(channel, schema)

    def _add_channel(self, channel: Any, schema: Any) -> None:
        self.channels[channel.id] = Channel(
            channel.id, channel.topic, schema.name if schema else '',
            Definition(schema.encoding, schema.data.decode('utf-8', 'replace')) if schema
            else Definition(), channel.message_encoding,
            is_latched(channel.metadata.get('offered_qos_profiles', '')), self._ours)

    def _compare_with_summary(self) -> None:
        """Note chunks and messages that are not where the summary has them."""
        summary, chunks = self._summary or (), {
            block.offset: block for block in self._blocks if block.chunk}
        indexes = [entry for entry in summary if isinstance(entry, self._records.ChunkIndex)]
        odd: list[tuple[int, int]] = []  # times of chunks that are in one of both only
        for index in indexes:
            block = chunks.pop(index.chunk_start_offset + _RECORD.size, None)
            times = index.message_start_time, index.message_end_time
            if block is None:
                odd.append(times)
                continue
            if times != (block.start, block.end):
                block.start, block.end = min(block.start, times[0]), max(block.end, times[1])
                self._damaged(block, 'its times are not those in the summary')
            if block.channels is not None:
                block.channels |= index.message_index_offsets.keys()
        odd += [(block.start, block.end) for block in chunks.values() if indexes]
        if odd:
            self._doubt('it has other chunks than its summary', *_span(odd))
        for entry in summary:
            if isinstance(entry, self._records.Statistics) and not indexes:
                what, found, expected = ('chunks', len(chunks), entry.chunk_count) \
                    if entry.chunk_count else ('messages', len(self._blocks), entry.message_count)
                if found != expected:
                    self._doubt(f'it has {found} {what}, and {expected} by its summary')

    def _look_into_chunks(self) -> None:
        """Unpack the chunks whose channels are not all known."""
        for block in list(self._blocks):
            if block.chunk and (block.channels is None or not block.channels <= {*self.channels}):
                block.channels = set()
                for opcode, data in self._records_in(block):
                    if opcode == _MESSAGE_RECORD and len(data) >= _MESSAGE.size:
                        block.channels.add(_MESSAGE.unpack_from(data)[0])

    def _define_what_is_repeated(self) -> None:
        """Define what only the summary has whole."""
        for entry in self._summary or ():
            self._define(entry)

    # -- chunks

    def _messages_in(self, block: _Block) -> Iterator[RawMessage]:
        if block.chunk:
            first: int | None = None
            last = 0
            for opcode, data in self._records_in(block):
                if opcode == _MESSAGE_RECORD and len(data) >= _MESSAGE.size:
                    message = _message(data)
                    first = message.log_time if first is None else min(first, message.log_time)
                    last = max(last, message.log_time)
                    yield message
            if (first or 0, last) != (block.start, block.end) and not block.damaged:
                self._damaged(
                    block, 'its messages have other times than it says', first or 0, last)
        elif block.length >= _MESSAGE.size:
            self._file.seek(block.offset)
            yield _message(self._file.read(block.length))

    def _records_in(self, block: _Block) -> Iterator[tuple[int, memoryview]]:
        """Yield opcode and content of the whole records of a chunk; notes what is damaged."""
        try:
            data, whole = self._unpacked(block)
        except (struct.error, ValueError, RuntimeError, MemoryError) as error:
            self._damaged(block, str(error) or "it can't be unpacked")
            return
        offset = 0
        while offset + _RECORD.size <= len(data):
            opcode, length = _RECORD.unpack_from(data, offset)
            offset += _RECORD.size
            if opcode == 0 or offset + length > len(data):
                whole = False
                break
            content = data[offset:offset + length]
            offset += length
            if opcode in (_SCHEMA, _CHANNEL):
                try:
                    self._define(self._parsed(opcode, bytes(content)))
                except (struct.error, ValueError, self._end_of_file()):
                    whole = False
            else:
                yield opcode, content
        if not whole:
            self._damaged(block, 'it is not whole')

    def _unpacked(self, block: _Block) -> tuple[memoryview, bool]:
        """Return the content of a chunk, and whether it is whole."""
        self._file.seek(block.offset)
        content = memoryview(self._file.read(min(block.length, MESSAGE_LIMIT)))
        _, _, size, crc, name_length = _CHUNK.unpack_from(content)
        at = _CHUNK.size + name_length
        compression = bytes(content[_CHUNK.size:at]).decode()
        packed_size, = struct.unpack_from('<Q', content, at)
        packed = content[at + 8:at + 8 + packed_size]
        if size > MESSAGE_LIMIT:
            raise ValueError(f'{size} bytes unpacked, at most {MESSAGE_LIMIT} are expected')
        data = memoryview(unpack(compression, packed, size))
        whole = len(data) == size and len(packed) == packed_size
        if whole and crc and zlib.crc32(data) != crc:
            raise ValueError('its check sum is wrong')
        return data, whole

    def _damaged(self, block: _Block, why: str, *times: int) -> None:
        """Note a damaged chunk; `times`: of messages in it, if its header has others."""
        block.damaged = True
        self._note(f'the chunk at byte {block.offset} is damaged: {why}',
                   min([block.start, *times]), max([block.start, block.end, *times]))

    def _doubt(self, why: str, start: int = 0, end: int = _LAST) -> None:
        self._note(f'damaged: {why}', start, end)

    def _note(self, what: str, start: int, end: int) -> None:
        note = f'{self._path}: {what}'
        if note not in self.notes:
            self.notes.append(note)
            self.gaps.append(Gap(start, end))

    def _cut(self, offset: int, why: str) -> None:
        self.notes.append(f'{self._path}: cut off or damaged at byte {offset} of {self._size}: '
                          f'{why}; only what is before it is read')
        self.gaps.append(Gap(max((block.end for block in self._blocks), default=0), _LAST))


def _span(times: Sequence[tuple[int, int]]) -> tuple[int, int]:
    return min(start for start, _ in times), max(end for _, end in times)


def _message(data: bytes | memoryview) -> RawMessage:
    channel, _, log_time, publish_time = _MESSAGE.unpack_from(data)
    return RawMessage(channel, log_time, publish_time, bytes(data[_MESSAGE.size:]))


def unpack(compression: str, packed: memoryview, size: int) -> bytes | memoryview:
    """Return unpacked data: at most `size` bytes, fewer if `packed` is cut off."""
    if compression == '':
        return packed[:size]
    if compression == 'zstd':
        zstandard = library('zstandard')
        try:
            return bytes(zstandard.ZstdDecompressor().stream_reader(
                packed, read_across_frames=True).read(size))
        except zstandard.ZstdError as error:
            raise ValueError(str(error)) from None
    if compression == 'lz4':
        return bytes(library('lz4.frame').LZ4FrameDecompressor().decompress(packed, size))
    raise ValueError(f"compression '{compression}' is not known: expected zstd or lz4")
