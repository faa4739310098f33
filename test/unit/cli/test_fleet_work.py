# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The verb `fleet --work`: requests that failed and are tried again, names that are refused."""

from __future__ import annotations

import json

from action_lifecycle.cli import main
import pytest

from .test_fleet import robots, server, STREAM, until, wide

__all__ = ['robots', 'server', 'wide']  # fixtures


def test_a_request_that_is_tried_again_is_not_running(server, robots, capsys):
    client = server.client
    robots('robot1')  # it takes no requests
    until(lambda: client.exists('al:robots'), bool)
    client.xgroup_create(STREAM, 'robots', id='0', mkstream=True)
    for number in range(2):
        client.xadd(STREAM, {'flow': 'pick', 'trace_id': f't{number}'})
        (_, ((entry, _),)), = client.xreadgroup('robots', 'robot1', {STREAM: '>'}, count=1)
    client.hset('sg:trace:t1', mapping={
        'state': 'ERRORED', 'msg_id': entry, 'attempt': 1, 'error': 'the action node is away',
        'max_tries': 3, 'min_idle': 300.0})
    shown = ['fleet', '--url', server.url, '--work', '--stream', STREAM]
    assert main(shown) == 0
    table = capsys.readouterr().out
    assert 'held by robot1, try 1' in next(line for line in table.splitlines() if 't0' in line)
    assert 'failed try 1 of 3, next try in ' in table and 'the action node is away' in table
    assert main([*shown, '--json']) == 0
    found, = json.loads(capsys.readouterr().out)
    assert (found['running'], found['failed'], found['dead']) == (1, 1, 0)
    assert found['fails'][0]['failure']['max_tries'] == 3
    assert 200 < found['fails'][0]['failure']['wait'] <= 300


@pytest.mark.parametrize('arguments', [
    ['letters', 'a}b'], ['resend', 'a}b', '1-1', '--actor', 'ann'],
    ['--work', '--stream', '{}x']])
def test_a_name_that_no_stream_can_have_in_a_cluster_is_refused(server, capsys, arguments):
    assert main(['fleet', '--url', server.url, *arguments]) == 2
    error = capsys.readouterr().err
    assert "expected a name without '}', or one with a hash tag" in error
    assert error.count('\n') == 1
