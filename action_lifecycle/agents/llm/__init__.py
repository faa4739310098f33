# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Language models that choose and plan, at any endpoint with the OpenAI protocol."""

from .chooser import ModelChooser
from .model import LanguageModel, ModelError, ModelSettings
from .planner import ModelPlanner, PlanAnswer, PlanRequest

__all__ = [
    'LanguageModel', 'ModelChooser', 'ModelError', 'ModelPlanner', 'ModelSettings', 'PlanAnswer',
    'PlanRequest',
]
