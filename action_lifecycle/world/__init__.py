# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The world model: facts from sensor topics, conditions on them, evidence; without ROS."""

from .condition import compile_condition, WatchOutcome, WatchResult
from .evidence import Evidence, FactValue, TruthValue, Validity
from .expressions.functions import register_function
from .expressions.reducers import register_reducer
from .expressions.value_types import Kind
from .facts.facts import FactSet
from .facts.facts_file import FactsFile
from .facts.loader import load_facts, parse_facts
from .model import WorldModel
from .safety.safety import Safety, SafetyMonitor, SafetyStatus
from .safety.stop_file import StopFile
from ..lifecycle.ports import Condition

__all__ = [
    'Condition', 'Evidence', 'FactSet', 'FactValue', 'FactsFile', 'Kind', 'Safety',
    'SafetyMonitor', 'SafetyStatus', 'StopFile', 'TruthValue', 'Validity', 'WatchOutcome',
    'WatchResult', 'WorldModel', 'compile_condition', 'load_facts', 'parse_facts',
    'register_function', 'register_reducer',
]
