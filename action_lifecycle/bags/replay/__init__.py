# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Judges what was recorded again from a bag, with the same conditions or with others."""

from .comparison import Comparison, Status
from .journaled import JournaledRuns
from .judge import replay
from .recorded import Recorded, recorded_in_bag, recorded_in_traces
from .topic_names import TopicNames

__all__ = ['Comparison', 'JournaledRuns', 'Recorded', 'Status', 'TopicNames', 'recorded_in_bag',
           'recorded_in_traces', 'replay']
