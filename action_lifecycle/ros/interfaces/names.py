# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Checks names of nodes, topics, services and actions from outside."""

from __future__ import annotations

from rclpy.exceptions import InvalidNamespaceException, InvalidTopicNameException
from rclpy.validate_namespace import validate_namespace
from rclpy.validate_topic_name import validate_topic_name

MAX_NAME = 200  #: characters; with a namespace and a suffix it still fits into DDS's 256


def name_fault(name: str) -> str:
    """Return the fault of an absolute or relative name; '' if it is valid."""
    if not name or len(name) > MAX_NAME:
        return f'a name of {len(name)} characters: expected 1 to {MAX_NAME}'
    if '{' in name or '~' in name:
        return f"'{name}': expected a name without substitutions"
    try:
        validate_topic_name(name)
    except InvalidTopicNameException as error:
        return ' '.join(str(error).split()).rstrip(' ^')
    return ''


def namespace_fault(name: str) -> str:
    """Return the fault of an absolute or relative namespace; '' if it is valid."""
    if len(name) > MAX_NAME:
        return f'a name of {len(name)} characters: expected at most {MAX_NAME}'
    try:
        validate_namespace(f"/{name.strip('/')}")
    except InvalidNamespaceException as error:
        return ' '.join(str(error).split()).rstrip(' ^')
    return ''
