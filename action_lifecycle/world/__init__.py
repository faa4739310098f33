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

"""The world model: facts from sensor topics, conditions on them, evidence; without ROS."""

from .conditions import compile_condition, WatchOutcome, WatchResult
from .evidence import Evidence, FactValue, TruthValue, Validity
from .facts import FactSet, load_facts, parse_facts
from .facts_file import FactsFile
from .functions import register_function
from .kinds import Kind
from .model import WorldModel
from .reducers import register_reducer
from .safety import Safety, SafetyMonitor, SafetyStatus
from .stop_file import StopFile
from ..lifecycle.ports import Condition

__all__ = [
    'Condition', 'Evidence', 'FactSet', 'FactValue', 'FactsFile', 'Kind', 'Safety',
    'SafetyMonitor', 'SafetyStatus', 'StopFile', 'TruthValue', 'Validity', 'WatchOutcome',
    'WatchResult', 'WorldModel', 'compile_condition', 'load_facts', 'parse_facts',
    'register_function', 'register_reducer',
]
