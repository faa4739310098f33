# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Public names of agents/llm/."""

from .agents.llm import (
    LanguageModel,
    ModelChooser,
    ModelError,
    ModelPlanner,
    ModelSettings,
    PlanAnswer,
    PlanRequest,
)

__all__ = [
    'LanguageModel', 'ModelChooser', 'ModelError', 'ModelPlanner', 'ModelSettings', 'PlanAnswer',
    'PlanRequest',
]
