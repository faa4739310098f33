# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
What of a flow is shown: its actions, nested flows inside theirs, and large flows in groups.

A level with more items than fit is folded: items with equal neighbours become one (`parallel`),
items in a row become one (`chain`), and what is left is cut by layers (`part`). No path leaves a
group and comes back, so the groups form a graph without cycles again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil

from ..record.shown import Node

LIMIT = 400
"""Maximum number of items that are shown without being asked for"""
MAX_ROUNDS = 12
ACTION, CHAIN, PARALLEL, PART = 'action', 'chain', 'parallel', 'part'


@dataclass(eq=False)
class Item:
    """An action, or a group of items of one level; `after`: items of the same level, by key."""

    key: str  #: path of the action; of a group KIND:COUNT:(key of its first item)
    kind: str
    inner: list[Item] = field(default_factory=list)
    after: dict[str, str] = field(default_factory=dict)
    open: bool = False  # noqa: A003

    def actions(self) -> Iterator[str]:
        """Yield the paths of all actions within, its own included."""
        waiting = deque([self])
        while waiting:
            item = waiting.popleft()
            if item.kind == ACTION:
                yield item.key
            waiting.extend(item.inner)


def grouped(
    nodes: Mapping[str, Node], opened: Mapping[str, bool] | None = None, limit: int = LIMIT,
) -> list[Item]:
    """
    Return the items of the outermost level.

    `opened`: which of those with inner items people have opened or closed, by key; others are
    open if all of the same depth can be, with at most `limit` (from 4) items shown.
    """
    items = {path: Item(path, ACTION) for path in nodes}
    outermost: list[Item] = []
    for path, node in nodes.items():
        (items[node.group].inner if node.group in items else outermost).append(items[path])
    for path, node in nodes.items():
        for other, label in node.after.items():
            if other in nodes and nodes[other].group == node.group:
                items[path].after[other] = label
    for item in items.values():
        item.inner = _folded(item.inner, limit)
    outermost = _folded(outermost, limit)
    _open(outermost, opened or {}, limit)
    return outermost


def _open(outermost: Sequence[Item], opened: Mapping[str, bool], limit: int) -> None:
    shown = len(outermost)
    level = [item for item in outermost if item.inner]
    while level:
        fits = shown + sum(len(item.inner) for item in level) <= limit
        inner: list[Item] = []
        for item in level:
            item.open = opened.get(item.key, fits)
            if item.open:
                shown += len(item.inner)
                inner.extend(each for each in item.inner if each.inner)
        level = inner


def _folded(items: list[Item], limit: int) -> list[Item]:
    """Return at most `limit` items, if need be with groups of groups."""
    for number in range(MAX_ROUNDS):
        if len(items) <= limit:
            break
        fewer = _merge(items, *(_in_parallel if number % 2 == 0 else _in_a_row)(items))
        if len(fewer) == 1 or len(fewer) == len(items) and number:
            break
        items = fewer
    if len(items) > limit:
        items = _merge(items, PART, _by_layers(items, limit))
    for item in items:
        if item.kind != ACTION:
            item.inner = _folded(item.inner, limit)
    return items


def _followers(items: Sequence[Item]) -> dict[str, dict[str, str]]:
    followers: dict[str, dict[str, str]] = {item.key: {} for item in items}
    for item in items:
        for other, label in item.after.items():
            followers[other][item.key] = label
    return followers


def _in_parallel(items: Sequence[Item]) -> tuple[str, list[list[Item]]]:
    """Return those that wait for the same ones, and are waited for by the same ones."""
    followers = _followers(items)
    alike: dict[object, list[Item]] = {}
    for item in items:
        alike.setdefault((frozenset(item.after.items()),
                          frozenset(followers[item.key].items())), []).append(item)
    return PARALLEL, list(alike.values())


def _in_a_row(items: Sequence[Item]) -> tuple[str, list[list[Item]]]:
    """Return those of which each waits for the one before it only, which no other waits for."""
    followers = _followers(items)
    by_key = {item.key: item for item in items}

    def before(item: Item) -> Item | None:
        if len(item.after) == 1:
            only = next(iter(item.after))
            if len(followers[only]) == 1:
                return by_key[only]
        return None

    rows = []
    for item in items:
        if before(item) is None:
            row = [item]
            while len(followers[row[-1].key]) == 1:
                following = by_key[next(iter(followers[row[-1].key]))]
                if before(following) is not row[-1]:
                    break
                row.append(following)
            rows.append(row)
    return CHAIN, rows


def _by_layers(items: Sequence[Item], limit: int) -> list[list[Item]]:
    """Return pieces of layers, or if there are too many layers, several whole ones together."""
    layers: list[list[Item]] = []
    level: dict[str, int] = {}
    for item in _sorted(items):
        level[item.key] = max((level[other] + 1 for other in item.after), default=0)
        if level[item.key] == len(layers):
            layers.append([])
        layers[level[item.key]].append(item)
    most = limit // 2
    if len(layers) > most:
        count = ceil(len(layers) / most)
        return [[item for layer in layers[at:at + count] for item in layer]
                for at in range(0, len(layers), count)]
    size = ceil(len(items) / most)
    return [layer[at:at + size] for layer in layers for at in range(0, len(layer), size)]


def _sorted(items: Sequence[Item]) -> list[Item]:
    """Return the items in an order that `after` allows; the record has them so, groups may not."""
    followers = _followers(items)
    by_key = {item.key: item for item in items}
    missing = {item.key: len(item.after) for item in items}
    free = deque(item for item in items if not item.after)
    found = []
    while free:
        item = free.popleft()
        found.append(item)
        for key in followers[item.key]:
            missing[key] -= 1
            if not missing[key]:
                free.append(by_key[key])
    return found


def _merge(items: Sequence[Item], kind: str, parts: Sequence[Sequence[Item]]) -> list[Item]:
    """Return an item for each part; parts of one stay."""
    merged = {}
    into: dict[str, Item] = {}
    for part in parts:
        group = part[0] if len(part) == 1 else Item(
            f'{kind}:{len(part)}:{part[0].key}', kind, list(part))
        merged[group.key] = group
        for item in part:
            into[item.key] = group
    outside: dict[str, dict[str, str]] = {key: {} for key in merged}
    for item in items:
        group = into[item.key]
        for other, label in item.after.items():
            source = into[other]
            if source is not group:
                labels = outside[group.key]
                known = labels.get(source.key, label)
                labels[source.key] = label if known == label else ''
        if group is not item:
            item.after = {other: label for other, label in item.after.items()
                          if into[other] is group}
    for key, group in merged.items():
        group.after = outside[key]
    return list(merged.values())
