# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Judges recorded confirmations again from a bag, with the same conditions or with others."""

from .comparison import Comparison, Status
from .judge import replay
from .recorded import Recorded, recorded_in_bag, recorded_in_traces
from .topic_names import TopicNames

__all__ = ['Comparison', 'Recorded', 'Status', 'TopicNames', 'recorded_in_bag',
           'recorded_in_traces', 'replay']
