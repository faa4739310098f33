# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A viewer as a process of its own, with a journal and a robot whose orders are printed.

usage: python viewer_process.py JOURNAL HOST PORT [NAME …]; the token is in the environment. Its
page /order has a button for a pause that asks no question, and one for a cancel that does.
"""

from __future__ import annotations

from collections.abc import Sequence
import json
import logging
import sys
from typing import Any

from action_lifecycle.viewer.access import Access
from action_lifecycle.viewer.app import build
from action_lifecycle.viewer.record import LocalRows, RobotRecord
from action_lifecycle.viewer.robots import Answer, NodeSeen, Now, QuestionNow, Robot, SafetyNow
from action_lifecycle.viewer.server import Server


class PrintedOrders:
    """Orders that are printed, one line of JSON each; a flow 'refused' is refused."""

    async def control(self, verb: str, flow_id: str, path: str = '', **given: Any) -> Answer:
        return self._print(verb, flow_id, path, given)

    async def cancel(self, flow_id: str, path: str = '', **given: Any) -> Answer:
        return self._print('cancel', flow_id, path, given)

    async def respond(self, question: QuestionNow, answer: str, **given: Any) -> Answer:
        return self._print('respond', question.id, answer, given)

    async def clear_stop(self, resources: Sequence[str], seen: SafetyNow, **given: Any) -> Answer:
        return self._print('clear_stop', '', ' '.join(resources), given)

    def _print(self, verb: str, flow_id: str, path: str, given: dict[str, Any]) -> Answer:
        print('ORDER ' + json.dumps([verb, flow_id, path, given['actor']]), flush=True)
        return Answer(flow_id != 'refused', '<b>done</b>')


def main(journal: str, host: str, port: str, *names: str) -> None:
    """Serve until a signal."""
    from action_lifecycle.viewer.pages.orders import set_page_orders
    from nicegui import ui

    logging.basicConfig(level=logging.INFO)
    now = Now(live=True, nodes={'action_lifecycle': NodeSeen('active', 0.0)})
    robot = Robot('cell', RobotRecord(LocalRows(journal)), orders=PrintedOrders(), now=now)
    access = Access(host, int(port), names=names)
    app = build([robot], access)

    @ui.page('/order')
    def order_page() -> None:
        orders = set_page_orders(access)

        async def pause() -> None:
            await orders.send(robot, 'pause pick', lambda robots, actor: robots.control(
                'pause', 'pick', actor=actor))

        async def cancel() -> None:
            await orders.send(robot, 'cancel refused', lambda robots, actor: robots.cancel(
                'refused', actor=actor), confirm='Cancel <i>refused</i>?')

        ui.button('Pause', on_click=pause)
        ui.button('Cancel', on_click=cancel)
        ui.label(f'allowed: {orders.allowed}')

    server = Server(app, host, int(port))
    print(f'http://127.0.0.1:{server.port}/', flush=True)
    server.run()


if __name__ == '__main__':
    main(*sys.argv[1:])
