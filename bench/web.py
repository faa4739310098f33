# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The viewer in Chromium: how soon a change is on the page, large flows, and what it costs a robot.

page_ms: median time from a row of the journal, which is written right before its change is
    published, until the graph of the flow shows the change, painted. page_p95_ms: the 95th
    percentile. 40 actions with a motion of 1 s each, four at a time, on the composed nodes.
layout_2000_s: from the click that opens all groups of a flow of 2,000 actions until all are drawn.
open_2000_s, open_10000_s: from the address until the flow is there, in groups.
mutations_per_end: changes of the page's elements for each action that ends, in a flow of 2,000
    drawn in full; longest_frame_ms: the longest time between two frames meanwhile, at 20 ends a
    second.
idle_points: CPU of the web node, in percent of one core, while a page is open and no flow runs;
    idle_browser_points: that of the browser.
publish_with_viewer: publish_latency of ros.py (from firing a transition to a subscriber ÷ a bare
    publish) with the web node and a page that shows the changes, divided by the same without them.
    Blocks alternate; the web node and the browser stand still (SIGSTOP) in those without.
    bare_publish_with_viewer: how much longer the bare publish takes, since the browser uses the
    same cores.

Needs NiceGUI, Playwright and Chromium.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
import os
from pathlib import Path
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

from _nodes import cpu_s, FACTS, LEVEL, MANY, Pair, PROCESSES
from _process import Process, ros_environment
from _publish_latency import PublishLatency
from _report import parser, report
from action_lifecycle.journal import JournalReader

ROOT = Path(__file__).resolve().parent.parent
sys.path += [str(ROOT / 'tools'), str(ROOT / 'test')]
from browser.made_flow import MadeFlow  # noqa: E402
from chromium import start_browser  # noqa: E402

ADDRESS = re.compile(r'https?://[\w.:]+')
START = 60.0  # s until a viewer says its address
ACTIONS = 40
AT_A_TIME = 4
BLOCKS = 6  # with and without the viewer, each
IDLE_SECONDS = 20.0
SETTLED = 3.0  # s, until nothing is left to be done after a page was opened
ENDS = 40  # actions that end while the page is watched
LOOKS = {'execute': 'executing-motion', 'motion_done': 'sensor-confirm', 'terminate': 'succeeded'}
"""The class with which the graph shows an action after these events"""

WATCH = """() => {
    window.seen = [];
    new MutationObserver(all => requestAnimationFrame(() => {
        const now = performance.timeOrigin + performance.now();
        for (const { target } of all) if (target.matches('g.box'))
            window.seen.push([target.dataset.path, target.getAttribute('class'), now]);
    })).observe(document.querySelector('.flow-graph').shadowRoot,
                {subtree: true, attributes: true, attributeFilter: ['class']}); }"""
COUNT = """() => {
    window.changes = 0; window.longest = 0;
    new MutationObserver(all => window.changes += all.length).observe(
        document.querySelector('.flow-graph').shadowRoot,
        {subtree: true, childList: true, attributes: true, characterData: true});
    let before = performance.now();
    const frame = now => { window.longest = Math.max(window.longest, now - before); before = now;
        requestAnimationFrame(frame); };
    requestAnimationFrame(frame); }"""
OPEN_ALL = """() => new Promise(done => {
    const began = performance.now();
    const root = document.querySelector('.flow-graph').shadowRoot;
    const old = root.querySelector('svg');
    document.querySelector('[aria-label="Open all groups"]').click();
    const look = () => root.querySelector('svg') !== old ? requestAnimationFrame(() => setTimeout(
        () => done((performance.now() - began) / 1000))) : setTimeout(look, 2);
    look(); })"""


class Server:
    """A viewer as a process group; `address` when it serves."""

    def __init__(self, command: Sequence[str], environment: dict[str, str], folder: str) -> None:
        log = Path(folder) / f'viewer_{time.monotonic_ns()}.log'
        with open(log, 'wb') as file:
            self.process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL,
                                            stdout=file, stderr=subprocess.STDOUT)
        end = time.monotonic() + START
        while not (found := ADDRESS.search(log.read_text(errors='replace'))):
            if self.process.poll() is not None or time.monotonic() > end:
                raise SystemExit(f'no viewer: {log.read_text(errors="replace")}')
            time.sleep(0.05)
        self.address = found[0]

    def end(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()


@contextmanager
def web_node(
    environment: dict[str, str], folder: str, journal: str, pair: Pair
) -> Iterator[Server]:
    """Run the web node; `journal`: name of the robot's file in `folder`."""
    program = Path(pair.commands['ours'][0]).with_name('web')
    server = Server([str(program), '--ros-args', '-p', 'autostart:=true', '-p', 'port:=0', '-p',
                     f'journal_path:={folder}/{journal}'], environment, folder)
    try:
        yield server
    finally:
        server.end()


def page_ms(
    browser: Any, environment: dict[str, str], folder: str, pair: Pair
) -> dict[str, float]:
    """Return how long (ms) it takes until changes of a running flow are on the page."""
    Path(folder, 'facts.yaml').write_text(FACTS + LEVEL)
    robot, sensors = (Process(PROCESSES, environment, name) for name in ('robot', 'sensors'))
    robot.line()
    sensors.line()
    nodes = pair.start('ours')
    flow = Path(folder) / 'shown.yaml'
    flow.write_text(MANY.format(count=AT_A_TIME) + ''.join(
        f'  action_{number}: {{}}\n' for number in range(ACTIONS)))
    try:
        with web_node(environment, folder, 'ready.journal', pair) as server:
            page = browser.new_page()
            page.goto(f'{server.address}/?flow=shown')
            run = subprocess.Popen(
                [str(Path(pair.commands['ours'][0]).with_name('action_lifecycle')), 'run',
                 str(flow), '--plain', '--wait', '30', '--flow-id', 'shown'],
                env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            page.locator('g.box').first.wait_for(timeout=START * 1000)
            page.evaluate(WATCH)
            text, _ = run.communicate(timeout=120)
            if run.returncode:
                raise SystemExit(text)
            page.locator('g.box.look-succeeded').nth(ACTIONS - 1).wait_for(state='attached')
            seen = page.evaluate('window.seen')
            page.close()
    finally:
        for process in (nodes, robot, sensors):
            process.kill() if isinstance(process, subprocess.Popen) else process.end()
    shown: dict[tuple[str, str], float] = {}
    for path, css, at in seen:
        shown.setdefault((path, css.rpartition('look-')[2].split()[0]), at)
    with JournalReader(f'{folder}/ready.journal') as journal:
        took = [shown[key] - 1000 * row.ros_time
                for row in journal.rows(flow_id='shown', kind='transition')
                if (key := (row.action_id, LOOKS.get(row.event, ''))) in shown]
    if len(took) < 2.5 * ACTIONS:
        raise SystemExit(f'{len(took)} changes of {3 * ACTIONS} were seen on the page')
    return {'page_ms': statistics.median(took),
            'page_p95_ms': statistics.quantiles(took, n=20)[-1], 'page_changes': len(took)}


def large(path: Path, count: int) -> MadeFlow:
    """Write the journal of a flow in which actions wait for one or two of the sixty before."""
    chance = random.Random(1)
    return MadeFlow(path, {f'n{index}': {
        f'n{chance.randrange(max(0, index - 60), index)}': '' for _ in range(2)} if index else {}
        for index in range(count)})


def large_flows(
    browser: Any, environment: dict[str, str], folder: str, pair: Pair
) -> dict[str, float]:
    """Return how long (s) large flows take to be shown, and what is changed to follow one."""
    found = {}
    for count in (2_000, 10_000):
        made = large(Path(folder) / f'{count}.journal', count)
        server = Server([str(Path(pair.commands['ours'][0]).with_name('action_lifecycle')), 'view',
                         str(Path(folder) / f'{count}.journal'), '--port', '0'],
                        environment, folder)
        try:
            page = browser.new_page()
            began = time.monotonic()
            page.goto(server.address)
            page.locator('g.box').first.wait_for(timeout=START * 1000)
            found[f'open_{count}_s'] = time.monotonic() - began
            if count == 2_000:
                time.sleep(SETTLED)
                found['layout_2000_s'] = page.evaluate(OPEN_ALL)
                assert page.locator('g.box').count() == count
                page.evaluate(COUNT)
                for index in range(ENDS):
                    made.ends(f'n{index}')
                    time.sleep(0.05)
                page.locator('g.box.look-succeeded').nth(ENDS - 1).wait_for(state='attached')
                found['mutations_per_end'] = page.evaluate('window.changes') / ENDS
                found['longest_frame_ms'] = page.evaluate('window.longest')
            page.close()
        finally:
            server.end()
            made.journal.close()
    return found


def browser_processes() -> list[int]:
    """Return the processes of the browser that this one has started."""
    children: dict[int, list[int]] = {}
    for stat in Path('/proc').glob('[0-9]*/stat'):
        try:
            parent = int(stat.read_text().rpartition(')')[2].split()[1])
        except OSError:  # it has ended
            continue
        children.setdefault(parent, []).append(int(stat.parent.name))
    found = [os.getpid()]
    for each in found:  # grows meanwhile
        found += children.get(each, [])
    return [pid for pid in found if b'chrom' in Path(f'/proc/{pid}/cmdline').read_bytes()]


def idle(browser: Any, environment: dict[str, str], folder: str, pair: Pair) -> dict[str, float]:
    """Return the CPU in points of one core of the viewer of a robot that does nothing."""
    Path(folder, 'facts.yaml').write_text(FACTS + LEVEL)
    sensors = Process(PROCESSES, environment, 'sensors')
    sensors.line()
    nodes = pair.start('ours')
    try:
        with web_node(environment, folder, 'ready.journal', pair) as server:
            page = browser.new_page()
            page.goto(server.address)
            page.locator('g.box').first.wait_for(timeout=START * 1000)
            time.sleep(5 * SETTLED)
            shown = browser_processes()
            before = cpu_s(server.process.pid), sum(map(cpu_s, shown))
            began = time.monotonic()
            time.sleep(IDLE_SECONDS)
            took = time.monotonic() - began
            after = cpu_s(server.process.pid), sum(map(cpu_s, shown))
            page.close()
    finally:
        nodes.kill()
        nodes.wait()
        sensors.end()
    node, chromium = (100 * (end - begin) / took for begin, end in zip(before, after))
    return {'idle_points': node, 'idle_browser_points': chromium}


def publish_with_viewer(
    browser: Any, environment: dict[str, str], folder: str, pair: Pair
) -> dict[str, float]:
    """Return the ratio of `publish_latency` with the viewer to that without, see above."""
    latency = PublishLatency(environment, folder)
    found: dict[bool, list[tuple[float, float]]] = {True: [], False: []}  # s, ours and bare
    try:
        with web_node(environment, folder, 'changing.journal', pair) as server:
            page = browser.new_page()
            page.goto(f'{server.address}/?flow=bench')
            page.locator('g.box').first.wait_for(timeout=START * 1000)
            for number in range(2 * BLOCKS):
                shown = number % 2 == 0
                for pid in (server.process.pid, *browser_processes()):
                    os.kill(pid, signal.SIGCONT if shown else signal.SIGSTOP)
                time.sleep(1.0)
                ours, bare = latency.block()
                found[shown].append((statistics.median(ours), statistics.median(bare)))
            for pid in (server.process.pid, *browser_processes()):
                os.kill(pid, signal.SIGCONT)
            page.close()
    finally:
        latency.end()
    (there, bare_there), (gone, bare_gone) = (
        map(statistics.median, zip(*found[shown])) for shown in (True, False))
    return {'publish_with_viewer': (there / bare_there) / (gone / bare_gone),
            'bare_publish_with_viewer': bare_there / bare_gone,
            'publish_with_viewer_us': 1e6 * there, 'publish_without_viewer_us': 1e6 * gone}


def main() -> None:
    """Measure everything."""
    arguments = parser(__doc__).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= ros_environment(folder)
        environment = dict(os.environ)
        pair = Pair(environment, folder)
        with start_browser() as browser:
            found = large_flows(browser, environment, folder, pair)
            found |= page_ms(browser, environment, folder, pair)
            found |= idle(browser, environment, folder, pair)
            found |= publish_with_viewer(browser, environment, folder, pair)
    report(found, arguments.json)


if __name__ == '__main__':
    main()
