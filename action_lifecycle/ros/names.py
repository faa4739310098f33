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

"""Checks names of nodes, topics, services and actions from outside."""

from __future__ import annotations

from rclpy.exceptions import InvalidTopicNameException
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
