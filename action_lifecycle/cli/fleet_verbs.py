# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The verbs of what robots share: the fleet of a ledger, its work and its dead letters."""

from __future__ import annotations

import argparse
from typing import Any

from .options import add_actor, add_json, add_verb


def add_fleet_verbs(commands: Any) -> None:
    """Add the verb `fleet`, with verbs of its own."""
    fleet = add_verb(
        commands, 'fleet', 'verbs.fleet.show_fleet',
        help='show the robots of a fleet, their work, and requests that failed for good',
        description='Show the robots of a ledger: when each has reported, how far its ledger is '
        'behind, what it does, its claims. With --work: the requests that wait or run. No node is '
        'needed. User and password come from the environment, as for the ledger node.',
        example='fleet --url redis://localhost:6379/0\n'
        'fleet --url redis://localhost:6379/0 --work\n'
        'fleet letters flows --url redis://localhost:6379/0')
    _add_url(fleet, default='')
    fleet.add_argument('--work', action='store_true', help='show the requests instead')
    fleet.add_argument('--stream', action='append', default=[], metavar='STREAM', help='with '
                       '--work: this stream; may be given several times (default: those from '
                       'which robots take requests)')
    fleet.add_argument('--group', default='robots', metavar='GROUP', help='with --stream: the '
                       'group of the robots, as parameter work_group (default: robots)')
    fleet.add_argument('--watch', action='store_true',
                       help='update the tables each second until Ctrl-C')
    add_json(fleet)
    below = fleet.add_subparsers(
        metavar='COMMAND', help='instead of the tables: dead letters')
    letters = add_verb(
        below, 'letters', 'verbs.fleet.list_letters',
        help='list the dead letters of a stream, the newest first',
        description='List the dead letters of a stream: requests that failed for good, with the '
        'reason. The newest is first.',
        example='fleet letters flows --url redis://localhost:6379/0')
    letters.add_argument('--limit', type=int, default=50, metavar='N',
                         help='maximum number of letters (default: 50)')
    letters.add_argument('--json', action='store_true', default=argparse.SUPPRESS,
                         help='print JSON instead of a table')
    resend = add_verb(
        below, 'resend', 'verbs.fleet.resend', help='send the request of a dead letter again',
        description='Put the request of a dead letter into its stream again, as a new request '
        'with a new trace id, and remove the letter. It is sent once, also if several people do '
        'this. A robot runs the whole flow from its start: look at the robot first.',
        example='fleet resend flows 1764238000123-0 --url redis://localhost:6379/0')
    for parser in (letters, resend):
        parser.add_argument('stream', metavar='STREAM', help='the stream of the requests')
        _add_url(parser, default=argparse.SUPPRESS)  # keeps the one before the verb
    resend.add_argument('letter', metavar='ID', help='id of the letter, as `fleet letters` has it')
    add_actor(resend, reason='')


def _add_url(parser: argparse.ArgumentParser, default: str) -> None:
    parser.add_argument('--url', default=default, metavar='URL', help='the ledger, as parameter '
                        'ledger_url of the ledger node')
