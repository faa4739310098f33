# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Two robots in one viewer: pages, pictures and orders are of the robot that was chosen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import time
from typing import Any

import pytest
from unit.flow.robot import Clock, MOTION, Process, Robot

from .browser_rig import Pages, Viewer
from .double_rig import Double, start_viewer

pytest.importorskip('playwright')
from playwright.sync_api import expect  # noqa: E402, I100

RUN = 'run-1'  #: id of the flow of either robot
VIEWS = ('', 'timeline', 'now', 'runs')
WORK = {'left': ('pick', 'place'), 'right': ('weld', 'grind', 'paint')}
IMAGES = Path(__file__).parents[2] / 'docs' / 'images'
PICTURES = {'left': 'cell.png', 'right': 'viewer_flow.png'}
TOPIC = '/camera'


class Side:
    """A robot with a flow whose first motion is under way."""

    def __init__(self, folder: Path, viewer: Viewer) -> None:
        names = WORK[folder.name]
        lines = [f'flow: {folder.name}_work', 'actions:',
                 f'  {names[0]}: {{{MOTION}, timeout: 10000}}',
                 *(f'  {name}: {{{MOTION}, timeout: 10000, after: [{before}]}}'
                   for before, name in zip(names, names[1:]))]
        clock = Clock()
        self.robot = Robot(clock)
        self.robot.by_hand.add('motion')
        self.process = Process(folder / 'journal', clock, self.robot)
        self.process.submit('\n'.join(lines), RUN)
        clock.run(1.0)
        self.double = Double(folder / 'journal', folder, viewer)
        self.double.now('safety', live=True, safety=['ready', '', '', '', [], time.time() - 75])
        self.double.now('images', images=[TOPIC])
        self.double.now('facts', facts=[
            [f'fact_of_{folder.name}', '1', 'm', 'valid', '', '/fact', time.time()]])


@pytest.fixture(scope='module')
def sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Side]]:
    folder = tmp_path_factory.mktemp('robots')
    for name, picture in PICTURES.items():
        (folder / name).mkdir()
        (folder / name / 'picture.png').write_bytes((IMAGES / picture).read_bytes())
    viewer = start_viewer(*((folder / name / 'journal', folder / name) for name in WORK))
    sides = {name: Side(folder / name, viewer) for name in WORK}
    yield sides
    viewer.end()
    for side in sides.values():
        side.process.journal.close()


def actions(page: Any) -> set[str]:
    """Return the names of the actions in the graph."""
    page.locator('g.box').first.wait_for()
    return set(page.locator('g.box').evaluate_all('found => found.map(box => box.dataset.path)'))


def choose(page: Any, name: str) -> None:
    """Choose a robot in the header."""
    page.get_by_label('Robot', exact=True).click()
    page.get_by_role('option', name=name).click()


def test_the_list_in_the_header_switches_the_robot(
    sides: dict[str, Side], pages: Pages
) -> None:
    page = sides['left'].double.open(pages, '')
    assert actions(page) == set(WORK['left'])  # the first one
    choose(page, 'right')
    page.wait_for_url('**/?robot=right')
    assert actions(page) == set(WORK['right'])
    expect(page.locator('.shell-chip', has_text='Running 0/3')).to_be_visible()
    page.locator('.shell-tab', has_text='Now').click()
    page.wait_for_url('**/now?robot=right*')
    expect(page.locator('[data-action=weld]')).to_be_visible()
    choose(page, 'left')
    page.wait_for_url('**/now?robot=left')
    expect(page.locator('[data-action=pick]')).to_be_visible()
    expect(page.locator('[data-action=weld]')).to_have_count(0)


@pytest.mark.long
def test_each_view_shows_its_robot_only_and_follows_it(
    sides: dict[str, Side], pages: Pages
) -> None:
    """Both flows have the same id, and are different."""
    shown = {(name, view): sides[name].double.open(pages, f'{view}?robot={name}')
             for name in WORK for view in VIEWS}
    for name, other in (('left', 'right'), ('right', 'left')):
        flow, timeline, now, runs = (shown[name, view] for view in VIEWS)
        assert actions(flow) == set(WORK[name])
        timeline.wait_for_function('document.querySelector(".timeline-chart")?.component?.drawn')
        rows = timeline.evaluate(
            'document.querySelector(".timeline-chart").component.rows.map(row => row[0])')
        assert set(rows) == set(WORK[name])
        expect(now.locator('.open-flow-name')).to_have_text(f'{name}_work')
        expect(now.locator('.facts tbody tr')).to_have_count(1)
        expect(now.locator('.facts')).to_contain_text(f'fact_of_{name}')
        expect(runs.locator('.runs-table')).to_contain_text(f'{name}_work/{WORK[name][0]}')
        expect(runs.locator('.runs-table')).not_to_contain_text(f'{other}_work')
        for page in (flow, timeline, now, runs):
            text = page.evaluate('document.body.innerText')
            assert not [word for word in WORK[other] if word in text]
    sides['right'].robot.motions[-1].end()
    sides['right'].process.clock.run(0.5)
    expect(shown['right', ''].locator('g.box.look-succeeded[data-path=weld]')).to_be_visible()
    expect(shown['right', 'now'].locator('[data-action=grind]')).to_be_visible()
    expect(shown['left', 'now'].locator('[data-action=pick]')).to_contain_text('executing')
    assert not shown['left', ''].locator('g.box.look-succeeded').count()


@pytest.mark.long
def test_the_address_keeps_the_robot_and_an_unknown_one_is_told(
    sides: dict[str, Side], pages: Pages
) -> None:
    page = sides['left'].double.open(pages, '?robot=right')
    page.locator('g.box[data-path=paint]').click()
    page.wait_for_url('**pick=paint*')
    assert 'robot=right' in page.url
    page.reload()
    expect(page.locator('.action-name')).to_have_text('paint')
    page.goto(f"{sides['left'].double.viewer.address}/?robot=nobody")
    expect(page.locator('.shell-notices')).to_contain_text('There is no robot nobody; left is')
    assert actions(page) == set(WORK['left'])


def test_a_picture_is_of_the_robot_that_was_asked_for(
    sides: dict[str, Side], pages: Pages
) -> None:
    page = sides['left'].double.open(pages, 'now?robot=right')
    image = page.locator('.camera img')
    expect(image).to_be_visible()
    size = int.from_bytes((IMAGES / PICTURES['right']).read_bytes()[16:20], 'big')
    expect(image).to_have_js_property('naturalWidth', size)
    address = sides['left'].double.viewer.address
    for name, picture in PICTURES.items():
        answer = page.request.get(f'{address}/image?robot={name}&topic={TOPIC}')
        assert answer.body() == (IMAGES / picture).read_bytes()
    for wrong in ('robot=nobody', 'robot='):
        answer = page.request.get(f'{address}/image?{wrong}&topic={TOPIC}')
        assert (answer.status, answer.body()) == (204, b'')


def test_an_order_reaches_exactly_the_robot_that_its_question_names(
    sides: dict[str, Side], pages: Pages
) -> None:
    right, left = sides['right'].double, sides['left'].double
    for number, (side, text) in enumerate(((left, 'Which tray?'), (right, 'Which lid?'))):
        side.now('questions', questions=[[
            'q1', '/action_lifecycle', 'input', RUN, '', text, [f'answer {number}'], '', '',
            time.time(), time.time() + 100, []]])
    page = right.open(pages, 'now?robot=right', actor='ann')
    action = page.locator('[data-action]').first.get_attribute('data-action')
    page.locator('[data-action] [data-order=cancel]').first.click()
    dialog = page.get_by_role('alertdialog')
    expect(dialog).to_contain_text(f'Cancel action {action} of flow {RUN}?')
    expect(dialog).to_contain_text('Robot: right')
    page.locator('[data-confirm]').click()
    assert right.orders(1)[0][:5] == ['cancel', RUN, action, 'ann', '']
    expect(page.locator('.question')).to_contain_text('Which lid?')
    page.locator('[data-answer]').click()
    assert right.orders(2)[1] == ['respond', 'q1', 'answer 1', 'ann', '']
    page.goto(f'{right.viewer.address}/?robot=right&pick=paint')
    page.locator('.shell-side [data-order=breakpoint]').click()
    assert right.orders(3)[2][:3] == ['breakpoint', RUN, 'paint']
    page.locator('.shell-orders [data-order=pause]').click()
    assert right.orders(4)[3][:3] == ['pause', RUN, '']
    left.orders(0)
    page.goto(f'{right.viewer.address}/?robot=left')
    page.locator('.shell-orders [data-order=cancel]').click()
    expect(dialog).to_contain_text(f'Cancel flow left_work ({RUN})?')
    expect(dialog).to_contain_text('Robot: left')
    page.locator('[data-confirm]').click()
    assert left.orders(1)[0][:4] == ['cancel', RUN, '', 'ann']
    right.orders(4)
