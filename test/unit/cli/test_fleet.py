# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The verb `fleet`: a real Redis, robots that sync real journals, and people who press twice."""

from __future__ import annotations

import json
import os
import pty
import select
import shlex
import signal
import subprocess
import sys
import time

from action_lifecycle.cli import main
from action_lifecycle.cli.main import build_parser
from action_lifecycle.fleet import robot_status
import pytest

from unit.docs.pages import blocks, ROOT
from unit.fleet.fleet_robots import failed_letter, FleetRobot, FlowWork, STREAM
from unit.fleet.redis_server import RedisServer


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    """Make tables wide enough for whole names."""
    monkeypatch.setenv('COLUMNS', '200')


@pytest.fixture(scope='module')
def server():
    """Give a redis-server of this module."""
    server = RedisServer()
    yield server
    server.close()


@pytest.fixture
def robots(server, tmp_path):
    """Give a maker of robots, which end with the test."""
    server.client.flushall()
    made = []

    def make(name, work=None):
        made.append(FleetRobot(tmp_path, server.url, name, work))
        return made[-1]
    yield make
    for one in made:
        one.close()


def until(look, wanted):
    """Return what `look` returns as soon as it is wanted."""
    deadline = time.monotonic() + 20
    while not wanted(found := look()):
        assert time.monotonic() < deadline, found
        time.sleep(0.02)
    return found


def test_the_table_and_the_json_say_what_each_robot_does(server, robots, capsys, monkeypatch):
    first, second = robots('robot1', FlowWork()), robots('robot2')
    first.act('pick-1', 'grasp')
    second.act('place-1', 'put')

    def read():
        assert main(['fleet', '--url', server.url, '--json']) == 0
        return json.loads(capsys.readouterr().out)
    found = until(read, lambda data: len(data) == 2 and all(
        len(one['activities']) == 2 and one['report']['ledger_seq'] == 3 for one in data))
    assert [one['robot'] for one in found] == ['robot1', 'robot2']
    action, flow = found[0]['activities']
    assert (action['flow_id'], action['action_id'], action['state']) == (
        'pick-1', 'grasp', 'executing_motion')
    assert flow['kind'] == 'flow' and 0 <= action['since'] < 60
    assert found[0]['report']['streams'] == [STREAM] and not found[0]['silent']
    second.end()
    monkeypatch.setattr(robot_status, 'SILENT', 0.3)
    until(read, lambda data: data[1]['silent'])
    assert main(['fleet', '--url', server.url]) == 0
    table = capsys.readouterr().out
    line = next(line for line in table.splitlines() if 'robot1' in line)
    assert 'connected' in line and 'pick-1/grasp' in line and STREAM in line
    assert 'silent for' in next(line for line in table.splitlines() if 'robot2' in line)


def test_work_and_letters_are_listed_and_a_letter_is_sent_again_once(server, robots, capsys):
    robots('robot1', FlowWork())
    server.client.xadd(STREAM, {'flow': 'fails', 'trace_id': 'order-7'})

    def letters():
        assert main(['fleet', 'letters', STREAM, '--url', server.url, '--json']) == 0
        return json.loads(capsys.readouterr().out)
    letter, = until(letters, bool)
    assert (letter['trace_id'], letter['error']) == ('order-7', 'the gripper is cold')
    assert main(['fleet', '--url', server.url, 'letters', STREAM]) == 0
    assert 'the gripper is cold' in capsys.readouterr().out
    resend = ['fleet', 'resend', STREAM, letter['letter_id'], '--url', server.url]
    assert main([*resend, '--actor', 'ann']) == 0
    new = f"order-7-{letter['letter_id']}"
    assert capsys.readouterr().out == f'sent again: request {new}\n'
    assert main([*resend, '--actor', 'bob']) == 0
    assert capsys.readouterr().out.startswith('ann had sent it already')
    next_one, = until(letters, bool)
    assert (next_one['trace_id'], next_one['data']['resent_by']) == (new, 'ann')
    for _ in range(3):
        server.client.xadd('others', {'flow': 'waits'})
    assert main(['fleet', '--url', server.url, '--work', '--json']) == 0
    assert [(one['stream'], one['dead']) for one in json.loads(capsys.readouterr().out)] == [
        (STREAM, 1)]
    assert main(['fleet', '--url', server.url, '--work', '--stream', 'others']) == 0
    assert capsys.readouterr().out.count('waits') == 6  # the flow and the state of each


@pytest.mark.parametrize('arguments, code, said', [
    ([], 2, 'expected --url URL'),
    (['--url', 'redis://u:p@host'], 2, 'user or a password'),
    (['--url', 'http://host'], 2, 'expected one of'),
    (['--url', 'URL', '--watch', '--json'], 2, 'not with --json'),
    (['--url', 'URL', '--stream', 'x'], 2, 'only with --work'),
    (['--url', 'redis://127.0.0.1:1'], 3, 'ledger: '),
    (['letters', 'x', '--limit', '0', '--url', 'URL'], 2, 'expected 1 or more'),
    (['letters', 'x', '--url', 'URL'], 3,
     "no stream 'x': no robot takes requests from it, and it has neither requests nor dead "
     'letters (streams of robots: none)'),
    (['letters', 'x', '--json', '--url', 'URL'], 3, "no stream 'x'"),
    (['resend', 'x', '1-1', '--url', 'URL'], 3, "stream 'x' has no dead letter '1-1'"),
    (['resend', STREAM, 'LOST', '--url', 'URL'], 2, 'its content is lost'),
])
def test_errors_are_one_sentence(server, capsys, arguments, code, said):
    server.client.flushall()
    lost = server.client.xadd(f'{{{STREAM}}}:dead', {'error': 'gone', 'data': '{}'})
    given = {'URL': server.url, 'LOST': lost}
    assert main(['fleet', *(given.get(one, one) for one in arguments)]) == code
    error = capsys.readouterr().err
    assert said in error and error.count('\n') == 1


def test_the_commands_of_the_page_run_as_they_are_written(server, capsys):
    server.client.flushall()
    letter_id = failed_letter(server.client)
    lines = [line for block in blocks(ROOT / 'docs/fleet.md') if block.language == 'bash'
             for line in block.text.splitlines()]
    assert len(lines) == 7
    for line in lines:
        words = shlex.split(line.replace('redis://localhost:6379/0', server.url).replace(
            '1764238000123-0', letter_id))
        assert words[0] == 'action_lifecycle'
        if {'view', '--watch'} & set(words):  # which end with Ctrl-C
            build_parser().parse_args(words[1:])
        else:
            assert main(words[1:]) == 0, line
    assert capsys.readouterr().out.endswith(f'sent again: request t-1-{letter_id}\n')


def test_an_empty_ledger_is_said(server, capsys):
    server.client.flushall()
    assert main(['fleet', '--url', server.url]) == 0
    assert main(['fleet', '--url', server.url, '--work']) == 0
    assert capsys.readouterr().out.split('\n')[:2] == [
        'no robot has reported to this ledger',
        'no robot takes requests from a stream; --stream names one']


def test_a_stream_that_is_not_there_is_told_from_one_without_letters(server, robots, capsys):
    robots('robot1', FlowWork())
    until(lambda: main(['fleet', 'letters', STREAM, '--url', server.url]), lambda code: code == 0)
    capsys.readouterr()
    assert main(['fleet', 'letters', f'{STREAM}x', '--url', server.url]) == 3
    error = capsys.readouterr().err
    assert f"no stream '{STREAM}x': no robot takes" in error
    assert f"(streams of robots: {STREAM}); did you mean '{STREAM}'?" in error
    server.client.xadd('others', {'flow': 'waits'})
    for stream in (STREAM, 'others'):
        assert main(['fleet', 'letters', stream, '--url', server.url]) == 0
        assert capsys.readouterr().out == f"stream '{stream}' has no dead letters\n"
        assert main(['fleet', 'letters', stream, '--url', server.url, '--json']) == 0
        assert json.loads(capsys.readouterr().out) == []


REASON = 'flow rejected: ' + '; '.join(
    f"action 'pick_{number}', confirm: unknown name 'gap{number}'" for number in range(60))


def rows_of_table(text):
    """Return the number of lines of each row below the head of a table."""
    body = text.partition('┡')[2].partition('\n')[2]
    cells = [line.split('│')[1].strip() for line in body.splitlines() if line.startswith('│')]
    starts = [at for at, cell in enumerate(cells) if cell]
    return [after - at for at, after in zip(starts, [*starts[1:], len(cells)])]


@pytest.mark.parametrize('width', ['200', '100'])
def test_a_long_reason_takes_two_lines_of_a_table_and_is_whole_in_json(
    server, capsys, monkeypatch, width
):
    monkeypatch.setenv('COLUMNS', width)
    server.client.flushall()
    letters = [server.client.xadd(f'{{{STREAM}}}:dead', {
        'error': reason, 'data': '{"flow": "pick"}', 'trace_id': 'order-7', 'attempt': '3',
        'original_id': '1-1'}) for reason in (REASON, 'the gripper is cold')]
    assert main(['fleet', 'letters', STREAM, '--url', server.url]) == 0
    table = capsys.readouterr().out
    assert max(rows_of_table(table)) <= 2 and len(rows_of_table(table)) == 2, table
    assert '…' in table and 'the gripper is cold' in table
    assert all(letter in table for letter in letters)  # whole, to send them again
    assert main(['fleet', 'letters', STREAM, '--url', server.url, '--json']) == 0
    assert [one['error'] for one in json.loads(capsys.readouterr().out)] == [
        'the gripper is cold', REASON]


def test_long_reasons_of_robots_take_two_lines_each(server, robots, capsys):
    robot = robots('robot1', FlowWork())
    for number in range(2):
        robot.act(f'pick-{number}', 'grasp')
    until(lambda: server.client.zcard('al:{robot1}:open'), lambda found: found >= 4)
    for key in server.client.zrange('al:{robot1}:open', 0, -1):
        server.client.hset(key, mapping={'blocked_reason': REASON})
    assert main(['fleet', '--url', server.url]) == 0
    table = capsys.readouterr().out
    assert rows_of_table(table) == [4], table  # two actions
    assert table.count('grasp') == 2
    assert main(['fleet', '--url', server.url, '--json']) == 0
    assert {one['blocked_reason'] for one in json.loads(capsys.readouterr().out)[0][
        'activities']} == {REASON}


def test_watch_goes_on_while_the_server_is_away(server, robots):
    robots('robot1')
    until(lambda: server.client.exists('al:robots'), bool)
    ours, its = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, '-c', 'import sys; from action_lifecycle.cli import main; '
         'sys.exit(main())', 'fleet', '--url', server.url, '--watch'],
        stdout=its, stderr=its, env={**os.environ, 'TERM': 'xterm', 'COLUMNS': '200'})
    os.close(its)

    def read_until(text):
        said = ''
        deadline = time.monotonic() + 20
        while text not in said:
            assert process.poll() is None and time.monotonic() < deadline, said
            if select.select([ours], [], [], 0.1)[0]:
                said += os.read(ours, 65536).decode(errors='replace')
    try:
        read_until('robot1')
        server.kill()
        read_until('ledger: ')
        server.start()
        server.client.flushall()
        robots('robot3')
        read_until('robot3')
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait(20)
        os.close(ours)
