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

"""What is wrong with files, and what they look like: the verbs validate, graph, schema."""

from __future__ import annotations

import argparse
import json
import sys

from .exits import BAD_INPUT, DONE
from .motions import motion_faults
from ..engine import graph_schema, load_graph
from ..engine.document import Document, read_document
from ..engine.draw import render_graph
from ..engine.errors import DocumentError
from ..engine.models import json_schema, SCHEMA_DIALECT
from ..flow.checks import check_names
from ..flow.loading import load_flow
from ..flow.recipe_file import read_recipe, RecipeSpec
from ..flow.schema import edit_schema, flow_schema
from ..world import FactSet, load_facts
from ..world.facts import any_field, FieldKind
from ..world.facts_file import FactsFile


def validate(options: argparse.Namespace) -> int:
    """Check each file by what it is; prints every fault, or `FILE: ok (kind)`."""
    code = DONE
    facts = load_facts(options.facts, _field_kind()) if options.facts else None
    for file in options.files:
        try:
            print(f'{file}: ok ({_check(file, facts)})')
        except DocumentError as error:
            print(error, file=sys.stderr)
            code = BAD_INPUT
    return code


def _check(file: str, facts: FactSet | None) -> str:
    kind = _kind(read_document(file))
    if kind == 'flow':
        flow = load_flow(file)
        if facts is not None:
            check_names(flow, facts.kinds)
        if faults := dict.fromkeys(motion_faults(flow, facts.limits if facts else {})):
            raise DocumentError(faults)
    elif kind == 'facts':
        load_facts(file, _field_kind())
    elif kind == 'recipe':
        read_recipe(file)
    else:
        for warning in load_graph(file).warnings:
            print(f'{warning} (warning)', file=sys.stderr)
    return kind


def _field_kind() -> FieldKind:
    """Return what knows the fields of message types, where ROS is installed."""
    try:
        from ..ros.field_kinds import field_kind
    except ImportError:
        return any_field
    return field_kind


def _kind(document: Document) -> str:
    if isinstance(document.data, dict):
        for kind in ('recipe', 'flow', 'facts'):
            if kind in document.data:
                return kind
    return 'graph'


def draw(options: argparse.Namespace) -> int:
    """Print a graph as a mermaid or dot diagram or as a table."""
    document = read_document(options.file)
    if (kind := _kind(document)) != 'graph':
        raise DocumentError([document.fault(
            (kind,), f'this is a {kind} file; only graphs are drawn')])
    print(render_graph(load_graph(options.file), options.format))
    return DONE


def print_schema(options: argparse.Namespace) -> int:
    """Print a JSON Schema, for editors to complete and check by."""
    schema = {'graph': graph_schema, 'flow': flow_schema, 'edit': edit_schema,
              'facts': lambda: json_schema(FactsFile),
              'recipe': lambda: json_schema(RecipeSpec)}[options.kind]()
    print(json.dumps({'$schema': SCHEMA_DIALECT, **schema}, indent=2))
    return DONE
