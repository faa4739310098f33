# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The picture of the page Fleet: four robots on a redis-server take requests, and one is lost.

The nodes of the robots, their journals, the server and the viewer are real. What a double stands
for are the grippers and their sensor.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import os
from pathlib import Path
import sys
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / 'test')]

from browser.browser_rig import Pages, Viewer  # noqa: E402
from browser.double_rig import TOKEN  # noqa: E402
from chromium import start_browser  # noqa: E402
from node.fleet_rig import Fleet, FLOW, IDLE, Robot  # noqa: E402
from node.test_fleet_view import robots  # noqa: E402

SIZE = 1200, 900
"""Size of the window in pixels; the picture ends below the content."""
PLACE = FLOW.replace('flow: shared', 'flow: place_part').replace(
    '    verify: [{by: operator, timeout: 120.0}]\n', '')
SLIPPERY = 'gap < 0.01'.join(PLACE.replace('place_part', 'place_slippery_part').rsplit(
    'gap < 1.0', 1))  # the sensor refutes that the part was gripped
ASKS = SLIPPERY.replace('place_slippery_part', 'place_another_part') + '    fallback: [ask]\n'


class Line(Fleet):
    """Four robots; each request is given when the one before it has come as far as it is to."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.robots += [Robot(self, name) for name in ('r3', 'r4')]

    def work(self) -> None:
        """Bring the fleet to where the picture is taken."""
        for robot in self.robots:
            robot.start()
        self.until(lambda: [one.report is not None and one.report.ready
                            for one in robots(self.redis.url).values()] == [True] * 4, 60.0,
                   'all robots can take work')
        self.ask('order-1', flow=PLACE)
        self.until(lambda: self.state('order-1') == 'COMPLETED', 60.0, 'order-1 is done')
        self.ask('order-2', flow=SLIPPERY)
        self.until(lambda: self.state('order-2') == 'ERRORED', 60.0, 'order-2 has failed')
        self.ask('order-3', flow=ASKS)
        self.until_one(lambda robot: 'action_lifecycle' in robot.asked
                       and robot.asked['action_lifecycle'].requests, 60.0, 'a person is asked')
        for robot in self.robots:
            robot.hold, robot.goals = True, 0
        lost = self._moves('order-4')
        self._moves('order-5')
        lost.kill()  # its power is cut while it moves
        self.until(lambda: any(robot.question('ledger', 'takeover') for robot in self.robots),
                   IDLE + 60.0, 'its claim has lapsed, and a person is asked')
        self._moves('order-6')
        self.ask('order-7', flow=PLACE)  # all are busy

    def _moves(self, trace: str) -> Robot:
        """Ask for a flow; returns the robot that moves for it."""
        before = [robot for robot in self.robots if robot.goals]
        self.ask(trace, flow=PLACE)
        one: Robot = self.until(
            lambda: next((robot for robot in self.robots
                          if robot.goals and robot not in before), None), 60.0, f'{trace} moves')
        return one


@contextmanager
def _viewer(line: Line, folder: Path) -> Iterator[Viewer]:
    viewer = Viewer(
        ['action_lifecycle', 'view', line.robots[0].journal_path, '--port', '0', '--ledger',
         line.redis.url], folder, {**os.environ, 'ACTION_LIFECYCLE_WEB_TOKEN': TOKEN})
    try:
        yield viewer
    finally:
        viewer.end()


def _height(page: Any) -> int:
    """Return where the content ends, with a margin, in pixels."""
    return int(page.evaluate(
        "() => document.querySelector('.fleet').getBoundingClientRect().bottom")) + 16


def take_fleet_picture(path: Path) -> None:
    """Run the fleet, and write the picture of the page."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        line = Line(folder)
        try:
            line.work()
            with _viewer(line, folder) as viewer, start_browser() as browser:
                page = Pages(browser, folder).open_as(
                    'anna', TOKEN, f'{viewer.address}/fleet', size=SIZE)
                page.get_by_text('order-7').wait_for()
                page.get_by_text('order-2').first.wait_for()
                page.set_viewport_size({'width': SIZE[0], 'height': _height(page)})
                page.screenshot(path=path)
        finally:
            line.close()
