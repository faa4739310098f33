# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is said between the robot and the people around it."""

from .conversation import Conversation, Reply, Work
from .desk import AnswerRefused, OperatorDesk, Request
from .dialogue import Dialogue, DialogueError, Entry, Persistence

__all__ = [
    'AnswerRefused', 'Conversation', 'Dialogue', 'DialogueError', 'Entry', 'OperatorDesk',
    'Persistence', 'Reply', 'Request', 'Work',
]
