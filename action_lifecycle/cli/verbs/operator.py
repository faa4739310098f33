# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

# flake8: noqa: A005
"""The parsers of the verbs operator and respond, which answer questions to people."""

from __future__ import annotations

from typing import Any

from ..arguments import add_actor, add_filters, add_json, add_nodes, add_verb, lazily


def add_parser(commands: Any) -> None:
    """Add the verbs."""
    operator = add_verb(
        commands, 'operator', lazily('operators.terminal', 'operator'),
        help='answer the questions of all robots in a terminal', example='operator --actor anna')
    operator.add_argument('--once', action='store_true', help='end after one answer')
    operator.add_argument('--list', action='store_true', help='print the open questions as JSON')
    operator.add_argument('--answer', metavar='OPTION', help='answer the oldest matching '
                          'question and exit')
    operator.add_argument('--comment', default='', metavar='TEXT', help='recorded with --answer')

    respond = add_verb(
        commands, 'respond', lazily('operators.answering', 'respond'),
        help='answer an open question, or list the open questions',
        description='Answer the oldest matching question. Without ANSWER: list the open '
        'questions of all robots.',
        example='respond\nrespond yes --flow pick-1f2e3d4c --action grasp')
    respond.add_argument('answer', metavar='ANSWER', nargs='?',
                         help='an option of the question, by name or number, or free text')
    respond.add_argument('--comment', default='', metavar='TEXT', help='recorded with the answer')
    add_json(respond)
    for parser in (operator, respond):
        add_filters(parser)
        add_actor(parser, reason='')
        add_nodes(parser)
