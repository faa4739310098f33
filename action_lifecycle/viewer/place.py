# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the address of a page says: the view, robot, flow, moment and action; never a secret."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlencode

MAX_NAME = 1024
"""Maximum length of a name in an address."""
MAX_SEQ = 2 ** 63 - 1


class View(NamedTuple):
    """
    A page; its content is in `pages/views.py`.

    `key`: the key on the keyboard that leads there; `of_flow`: whether it shows one flow, at a
    moment and with the panel of an action, or the whole robot.
    """

    path: str
    label: str
    icon: str
    key: str
    about: str
    of_flow: bool = False


FLOW = View('/', 'Flow', 'account_tree', 'f', 'the actions of a flow as a graph',
            of_flow=True)
TIMELINE = View('/timeline', 'Timeline', 'view_timeline', 't', 'when each action did what',
                of_flow=True)
NOW = View('/now', 'Now', 'sensors', 'n', 'safety, questions, facts, cameras')
RUNS = View('/runs', 'Runs', 'insights', 'r', 'all runs, and how well they did')
VIEWS = (FLOW, TIMELINE, NOW, RUNS)
FLEET = View('/fleet', 'Fleet', 'groups', 'e', 'all robots of the ledger, and their work')
"""Only if the viewer has a ledger."""


class Place(NamedTuple):
    """What a page shows; `seq`: of its moment, None: now. '' leaves the choice."""

    robot: str = ''
    flow: str = ''
    seq: int | None = None
    pick: str = ''

    def url(self, view: View) -> str:
        """Return the address."""
        given = {'robot': self.robot, 'flow': self.flow,
                 'at': '' if self.seq is None else str(self.seq), 'pick': self.pick}
        query = urlencode({name: value for name, value in given.items() if value})
        return view.path + (f'?{query}' if query else '')


def place_of(query: Mapping[str, str]) -> Place:
    """Return the place of an address; what makes no sense is left out."""
    at = query.get('at', '')
    seq = int(at) if at.isascii() and at.isdigit() and len(at) < 20 else None
    return Place(_name(query, 'robot'), _name(query, 'flow'),
                 seq if seq is None or seq <= MAX_SEQ else None, _name(query, 'pick'))


def _name(query: Mapping[str, str], key: str) -> str:
    text = query.get(key, '')
    return text if len(text) <= MAX_NAME and text.isprintable() else ''
