# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Expands the short forms of a flow file; renders templates in `fallback` and `verify`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from .edit_provenance import Path
from ...documents.errors import LifecycleError
from ...documents.templates.template import render
from ...lifecycle.verifiers import late_fields
from ...lifecycle.work import STEPS, WORK

CONDITIONS = ('require', 'maintain', 'confirm', 'stopped')
"""Fields of an action that contain conditions."""


def replaceable() -> tuple[str, ...]:
    """Return the fields of an action that a fallback can replace."""
    return ('require', *sorted(WORK.fields), 'maintain', 'stopped', 'confirm')


def merged(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the fields of an action; work in a later layer replaces all earlier work."""
    fields: dict[str, Any] = {}
    for layer in layers:
        if not WORK.fields.isdisjoint(layer):
            fields = {name: value for name, value in fields.items() if name not in WORK.fields}
        fields.update(layer)
    return fields


def work_of(fields: Mapping[str, Any]) -> Iterator[tuple[str, Path, Any]]:
    """
    Yield the steps of an action's work: kind, path below the action, and fields.

    The kind is '' if an entry of `steps` is not a mapping with one kind.
    """
    for field in WORK.fields.intersection(fields):
        value = fields[field]
        for index, item in enumerate(value if isinstance(value, list) else [value]):
            if field != STEPS:
                yield field, (field, index), item
            elif isinstance(item, dict) and len(item) == 1 and str(next(iter(item))) != STEPS:
                (kind, given), = item.items()
                yield str(kind), (field, index, str(kind)), given
            else:
                yield '', (field, index), item


def in_full(raw: dict[str, Any]) -> dict[str, Any]:
    """Return an action's fields with all short forms expanded."""
    full = dict(raw)
    for field in (*CONDITIONS, 'fallback', 'verify'):
        value = full.get(field)
        if field == 'stopped':
            if isinstance(value, str):
                full[field] = {'condition': value}
        elif value is not None:
            full[field] = [
                {'condition': item} if field in CONDITIONS and isinstance(item, str)
                else strategy_in_full(item) if field == 'fallback'
                else {'by': item} if field == 'verify' and isinstance(item, str)
                else item
                for item in (value if isinstance(value, list) else [value])]
    repeat = full.get('repeat')
    if isinstance(repeat, int) and not isinstance(repeat, bool):
        full['repeat'] = {'times': repeat}
    elif isinstance(repeat, dict) and isinstance(repeat.get('until'), str):
        full['repeat'] = {**repeat, 'until': {'condition': repeat['until']}}
    if 'after' in full:
        full['after'] = after_in_full(full['after'])
    return full


def after_in_full(after: Any) -> Any:
    """Return `after` as a mapping of names to kinds; other values are returned unchanged."""
    if isinstance(after, str):
        after = [after]
    if isinstance(after, list) and all(isinstance(item, str) for item in after):
        return dict.fromkeys(after, 'success')
    return {} if after is None else after


def strategy_in_full(raw: Any) -> Any:
    """Expand the short forms of a strategy: `ask`, `{recipe: NAME}`, `{motion: …}`."""
    if isinstance(raw, str):
        return {'strategy': raw}
    if not isinstance(raw, dict):
        return raw
    full = {key: value for key, value in raw.items() if key not in replaceable()}
    fields = {key: raw[key] for key in replaceable() if key in raw}
    if fields:
        full['fields'] = {**full.get('fields', {}), **fields}
    if 'strategy' not in full and ('recipe' in full or fields):
        full['strategy'] = 'recipe' if 'recipe' in full else 'action'
    options = full.get('options')
    if isinstance(options, list) and all(isinstance(item, str) for item in options):
        options = {name: name for name in options}
    if isinstance(options, dict):
        full['options'] = {name: strategy_in_full(item) for name, item in options.items()}
    return full


def render_work(
    field: str, value: Any, names: Mapping[str, Any], path: Path, later: Collection[str]
) -> Any:
    """Render the work in a field of an action, except what its kind renders itself."""
    if isinstance(value, list):
        return [render_work(field, item, names, (*path, index), later)
                for index, item in enumerate(value)]
    if not isinstance(value, dict):
        return render(value, names, path, later)
    own = _late_fields(field)
    return {
        key: render_work(str(key), given, names, (*path, key), later) if field == STEPS
        else given if key in own else render(given, names, (*path, key), later)
        for key, given in value.items()}


def without_late(field: str, value: Any) -> Any:
    """Return the work in a field of an action without what its kind renders itself."""
    if isinstance(value, list):
        return [without_late(field, item) for item in value]
    if not isinstance(value, dict):
        return value
    own = _late_fields(field)
    return {key: without_late(str(key), given) if field == STEPS else given
            for key, given in value.items() if key not in own}


def _late_fields(kind: str) -> Collection[str]:
    try:
        model = WORK.load(kind)
    except LifecycleError:  # reported with the place where it is used
        model = None
    return () if model is None else model.late


def render_late(name: str, items: Any, names: Mapping[str, Any], path: Path) -> Any:
    """Render `fallback` or `verify`, except templates that are rendered when they are used."""
    if isinstance(items, list):
        return [render_late(name, item, names, (*path, index)) for index, item in enumerate(items)]
    if not isinstance(items, dict):
        return render(items, names, path)
    late = ('question', *replaceable(), 'fields') if name == 'fallback' \
        else late_fields(items.get('by'))
    return {
        key: value if key in late
        else {option: render_late(name, item, names, (*path, key, option))
              for option, item in value.items()} if key == 'options' and isinstance(value, dict)
        else render(value, names, (*path, key))
        for key, value in items.items()}
