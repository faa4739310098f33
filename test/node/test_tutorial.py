# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The tutorial, page after page, as a reader types it: files, open terminals, commands."""

from __future__ import annotations

from collections.abc import Iterator
import os
from pathlib import Path
import re
import signal
import subprocess
import time

from isolation import domain_id
import pytest
from unit.docs.pages import blocks, examples, ROOT, TUTORIAL

from .shown import commands, pattern

SESSIONS = [['1-cell'], ['2-facts', '3-flow', '4-wrong'], ['5-robot'], ['6-gripper-or-camera']]
"""Pages whose terminals stay open together."""
SMALLER = {  # fewer runs, which take less time; the output differs in its numbers only
    'tools/sample_data sample': 'tools/sample_data sample --runs 12', '--fewest 10': '--fewest 2'}
ELSEWHERE = {'make demo'}  #: what the demo's own test runs, and CI
BINARIES = ROOT / 'install/action_lifecycle/lib/action_lifecycle'


class Reader:
    """Types what the pages show, in a folder like the checkout."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ('config', 'tools'):
            (folder / name).symlink_to(ROOT / name)
        self.environment = {
            **os.environ, 'ROS_DOMAIN_ID': str(domain_id()), 'ROS_LOG_DIR': str(folder),
            'COLUMNS': '140',
            'PATH': f'{BINARIES}:{os.environ["PATH"]}', 'PWD': str(folder)}
        self.terminals: list[tuple[str, subprocess.Popen[bytes]]] = []

    def write(self, text: str) -> None:
        """Write a file whose first line has its name."""
        named = re.match(r'# (\S+\.yaml)\n', text)
        assert named, f'no name in the first line of:\n{text}'
        (self.folder / named[1]).write_text(text, encoding='utf-8')

    def open_terminal(self, command: str) -> None:
        """Start a command that goes on until Ctrl-C."""
        with (self.folder / f'terminal{len(self.terminals)}.log').open('wb') as log:
            self.terminals.append((command, subprocess.Popen(
                ['bash', '-c', 'exec ' + command], cwd=self.folder, env=self.environment,
                stdout=log, stderr=log, start_new_session=True)))

    def type(self, command: str, expected: str) -> None:  # noqa: A003
        """Run a command, again while its stop is too recent; it prints what the page shows."""
        deadline = time.monotonic() + 30.0
        while True:
            done = subprocess.run(
                ['bash', '-c', command], cwd=self.folder, env=self.environment, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=150)
            if 'has said stop within the last' not in done.stdout or time.monotonic() > deadline:
                break
        told = f'{command}\n{done.stdout}\nexpected:\n{expected}\n{self.logs()}'
        assert done.returncode == 0, told
        assert pattern(expected).search(done.stdout), told

    def logs(self) -> str:
        """Return what the terminals show."""
        return '\n'.join(path.read_text(errors='replace')[-6000:]
                         for path in sorted(self.folder.glob('terminal*.log')))

    def close(self) -> None:
        """Type Ctrl-C in all terminals, and end the daemon that `ros2` has started."""
        for _, process in reversed(self.terminals):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGINT)
                try:
                    process.wait(40.0)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
        subprocess.run(['ros2', 'daemon', 'stop'], env=self.environment, check=False,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    reader = Reader(tmp_path)
    yield reader
    reader.close()


@pytest.mark.long
@pytest.mark.timeout(400)
@pytest.mark.parametrize('names', SESSIONS, ids=lambda names: names[0])
def test_the_pages_do_what_they_say(reader: Reader, names: list[str]) -> None:
    if names == ['5-robot']:  # whose reader has the flow of page 3
        for example in blocks(page('3-flow')):
            if example.language == 'yaml':
                reader.write(example.text)
    for name in names:
        for example in blocks(page(name)):
            text = example.text.replace('tools/ros-env --dev ', '').replace('tools/ros-env ', '')
            if example.language == 'yaml':
                reader.write(text)
            elif example.language == 'terminal':
                reader.open_terminal(text.strip())
            elif example.language == 'console':
                for command, expected in commands(text):
                    for shown, smaller in SMALLER.items():
                        command = command.replace(shown, smaller)
                    reader.type(command, expected)
            elif example.language == 'bash':
                assert text.strip() in ELSEWHERE
    for command, process in reader.terminals:
        if 'launch' in command:
            assert process.poll() is None, f'{command} has ended\n{reader.logs()}'


def page(name: str) -> Path:
    return next(page for page in TUTORIAL if page.stem == name)


def test_each_page_is_in_a_session_and_leads_to_the_next() -> None:
    stems = [page.stem for page in TUTORIAL]
    assert [name for names in SESSIONS for name in names] == stems
    for name, following in zip(stems, stems[1:]):
        assert f'({following}.md)' in page(name).read_text(encoding='utf-8')
    assert examples('terminal')
