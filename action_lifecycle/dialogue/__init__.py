# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Dialogues between the robot and people: questions, answers, conversations."""

from .conversation import Conversation, InvokedWork, Reply
from .desk import AnswerRefused, OpenRequest, OperatorDesk
from .dialogue import Dialogue, DialogueEntry, DialogueError, Persistence
from .flow_dialogue import FlowDialogue, FlowDialogues
from .hooks import register_hooks

__all__ = [
    'AnswerRefused', 'Conversation', 'Dialogue', 'DialogueEntry', 'DialogueError', 'FlowDialogue',
    'FlowDialogues', 'InvokedWork', 'OpenRequest', 'OperatorDesk', 'Persistence', 'Reply',
    'register_hooks',
]
