# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""The world model: facts from sensor topics, conditions over them, evidence; free of ROS."""

from .conditions import Condition, Outcome, Result, compile_condition
from .evidence import Evidence, FactValue, Validity, Verdict
from .facts import FactSet, load_facts, parse_facts
from .facts_file import FactsFile
from .model import WorldModel
from .safety import Safety, SafetyMonitor, SafetyStatus

__all__ = [
    'Condition', 'Evidence', 'FactSet', 'FactValue', 'FactsFile', 'Outcome', 'Result', 'Safety',
    'SafetyMonitor', 'SafetyStatus', 'Validity', 'Verdict', 'WorldModel', 'compile_condition',
    'load_facts', 'parse_facts',
]
