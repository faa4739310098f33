# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Public names of agents/llm/."""

from .agents.llm.chooser import ModelChooser
from .agents.llm.model import LanguageModel, ModelError, ModelSettings
from .agents.llm.planner import ModelPlanner, PlanAnswer, PlanRequest

__all__ = [
    'LanguageModel', 'ModelChooser', 'ModelError', 'ModelPlanner', 'ModelSettings', 'PlanAnswer',
    'PlanRequest',
]
