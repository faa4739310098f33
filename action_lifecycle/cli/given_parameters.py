# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Reads the values of parameters on the command line."""

from __future__ import annotations

from typing import Any

from ..documents.errors import DocumentError, LifecycleError
from ..documents.yaml_document import parse_document


def given_parameter(text: str) -> tuple[str, Any]:
    """Return name and value of NAME=VALUE, where the value is YAML; raises LifecycleError."""
    name, equals, value = text.partition('=')
    if not equals:
        raise LifecycleError(f'--param {text}: expected NAME=VALUE')
    if not value:
        return name, ''
    try:
        return name, parse_document(value, name).data
    except DocumentError as error:
        raise LifecycleError(
            f'--param {text}: the value is not YAML: {error.faults[0].message}') from error
