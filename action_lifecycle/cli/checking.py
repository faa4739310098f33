# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The verbs validate, graph and schema: check files, draw them, print their JSON Schema."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
import json
import sys

from .exits import BAD_INPUT, DONE
from .running.motions import motion_faults, unjudged_stops
from ..documents.errors import DocumentError, Fault
from ..documents.input_file import read_text
from ..documents.models import field_names, json_schema, SCHEMA_DIALECT
from ..documents.suggestions import nearest
from ..documents.yaml_document import Document, read_document
from ..flow.edits.edit_validation import check_edit
from ..flow.files.drawing import render_flow
from ..flow.files.edit import FlowEdit, parse_edit
from ..flow.files.flow import LoadedFlow
from ..flow.files.json_schema import edit_schema, flow_schema
from ..flow.files.loader import load_flow
from ..flow.files.uses import check_names
from ..flow.recipes.recipe_file import read_recipe, RecipeSpec
from ..graphs.drawing import render_graph
from ..graphs.graph_file import graph_schema
from ..graphs.loader import load_graph
from ..graphs.state_types import REGISTRY
from ..lifecycle.spec import ActionSpec
from ..lifecycle.work import WORK
from ..testing.cases import Cases
from ..testing.script import CasesSpec
from ..vda5050.mapping import MappingSpec, read_mapping
from ..world.facts.facts import FactSet
from ..world.facts.facts_checks import FieldKind
from ..world.facts.facts_file import FactsFile
from ..world.facts.loader import any_field, load_facts


def validate(options: argparse.Namespace) -> int:
    """Check each file by its kind; prints all faults, or `FILE: ok (kind)`."""
    code = DONE
    facts = load_facts(options.facts, _field_kind()) if options.facts else None
    flow = load_flow(options.flow) if options.flow else None
    _load_states(options)
    for file in options.files:
        try:
            print(f'{file}: ok ({_check(file, facts, flow)})')
        except DocumentError as error:
            print(error, file=sys.stderr)
            code = BAD_INPUT
    return code


def _load_states(options: argparse.Namespace) -> None:
    for folder in options.states:
        REGISTRY.load_folder(folder)


def _check(file: str, facts: FactSet | None, of: LoadedFlow | None) -> str:
    """Check a file; returns its kind, followed by a note on what was not checked."""
    document = read_document(file)
    kind = _kind(document)
    if kind == 'flow':
        flow = load_flow(file)
        _check_names(flow, facts)
        return kind + _unchecked(facts)
    if kind == 'edit':
        return kind + _check_edit(file, facts, of)
    if kind == 'facts':
        load_facts(file, _field_kind())
    elif kind == 'recipe':
        read_recipe(file)
    elif kind == 'cases':
        Cases(file)
    elif kind == 'vda5050':
        mapped = read_mapping(file)
        if facts is not None and (faults := dict.fromkeys(mapped.fact_faults(facts))):
            raise DocumentError(faults)
        return kind + _unchecked(facts)
    else:
        _warn(load_graph(file).warnings)
    return kind


def _warn(warnings: Iterable[Fault]) -> None:
    for warning in warnings:
        print(f'{warning} (warning)', file=sys.stderr)


def _check_names(flow: LoadedFlow, facts: FactSet | None) -> None:
    """Check the facts that conditions name, the action types and fields of goals, and stops."""
    if facts is not None:
        check_names(flow, facts.kinds, facts.fixed)
    if faults := dict.fromkeys(motion_faults(
            flow, *((facts.limits, facts.kinds) if facts else ({},)))):
        raise DocumentError(faults)
    if facts is not None:
        _warn(unjudged_stops(flow, facts))


def _unchecked(facts: FactSet | None) -> str:
    return '' if facts is not None else '; names of facts unchecked, --facts FILE checks them'


def _check_edit(file: str, facts: FactSet | None, of: LoadedFlow | None) -> str:
    """Check an edit, against its flow if given; returns a note on what was not checked."""
    edit = parse_edit(read_text(file), file)
    if of is None:
        if faults := list(_unknown_fields(edit)):
            raise DocumentError(faults)
        return '; form only, --flow FILE checks it with its flow'
    _check_names(check_edit(of, edit).flow, facts)
    return _unchecked(facts)


def _unknown_fields(edit: FlowEdit) -> Iterator[Fault]:
    known = [*field_names(ActionSpec), *WORK.names()]
    for step in edit.steps:
        for name, fields in step.value.items() if step.verb in ('add', 'update', 'build') else ():
            for field in fields:
                if field not in known:
                    yield edit.document.fault(
                        (step.number, step.verb, name, field), f"action '{name}': unknown field "
                        f"'{field}'" + nearest(field, known) + f" (known: {', '.join(known)})")


def _field_kind() -> FieldKind:
    """Return the look-up of message fields; without ROS, one that accepts any field."""
    try:
        from ..ros.interfaces.field_kinds import field_kind
    except ImportError:
        return any_field
    return field_kind


def _kind(document: Document) -> str:
    if isinstance(document.data, list):
        return 'edit'
    if isinstance(document.data, dict):
        for kind in ('vda5050', 'recipe', 'cases', 'flow', 'facts'):
            if kind in document.data:
                return kind
    return 'graph'


def draw(options: argparse.Namespace) -> None:
    """Print a graph or a flow as a mermaid or dot diagram or as a table."""
    document = read_document(options.file)
    kind = _kind(document)
    _load_states(options)
    if kind == 'flow':
        print(render_flow(load_flow(options.file), options.format), end='')
    elif kind == 'graph':
        print(render_graph(load_graph(options.file), options.format), end='')
    else:
        where = (kind,) if kind != 'edit' else ()
        raise DocumentError([document.fault(
            where, f'this is {"an" if kind == "edit" else "a"} {kind} file; graphs and flows are '
            'drawn')])


def print_schema(options: argparse.Namespace) -> None:
    """Print a JSON Schema, with which editors complete and check files."""
    schema = {'graph': graph_schema, 'flow': flow_schema, 'edit': edit_schema,
              'facts': lambda: json_schema(FactsFile),
              'recipe': lambda: json_schema(RecipeSpec),
              'cases': lambda: json_schema(CasesSpec),
              'vda5050': lambda: json_schema(MappingSpec)}[options.kind]()
    print(json.dumps({'$schema': SCHEMA_DIALECT, **schema}, indent=2))
