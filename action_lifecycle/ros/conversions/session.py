# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Converts sessions and their dialogues."""

from __future__ import annotations

from action_lifecycle_msgs import msg

from .basic import to_time
from ...agents.sessions.host import SessionStatus
from ...dialogue.dialogue import DialogueEntry

MAX_TEXT = 65_536
"""Maximum length of a string in a message, in characters."""


def session_to(status: SessionStatus) -> msg.Session:
    """Return the message of a status."""
    return msg.Session(
        stamp=to_time(status.stamp), id=status.id, graph=status.graph, state=status.state,
        status=status.status, step=status.step, tasks=status.tasks, tasks_done=status.tasks_done,
        progress=status.progress, next_events=list(status.next_events),
        output=message_text(status.output), error_code=status.error_code,
        error_msg=message_text(status.error_msg))


def dialogue_entry_to(flow_id: str, entry: DialogueEntry) -> msg.DialogueEntry:
    """Return the message of an entry; `flow_id`: the flow or session."""
    return msg.DialogueEntry(
        stamp=to_time(entry.stamp), flow_id=flow_id, state=entry.state, actor=entry.actor,
        persistence=entry.persistence.value, text=entry.text)


def message_text(text: str) -> str:
    """Return a string that fits into a message: cut, without what can't be encoded."""
    return text[:MAX_TEXT].replace('\0', '').encode('utf-8', 'replace').decode()
