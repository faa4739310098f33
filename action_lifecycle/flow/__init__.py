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

"""Flows: acyclic graphs of actions; loading, running, editing and scheduling them."""

from .edits import FlowEdit, parse_edit
from .flow import Flow
from .loading import load_flow, parse_flow
from .metrics import FlowMetrics
from .orchestrator import Orchestrator
from .recipes import Recipe
from .recorder import JournalRecorder
from .run import FlowRun

__all__ = [
    'Flow', 'FlowEdit', 'FlowMetrics', 'FlowRun', 'JournalRecorder', 'Orchestrator', 'Recipe',
    'load_flow', 'parse_edit', 'parse_flow',
]
