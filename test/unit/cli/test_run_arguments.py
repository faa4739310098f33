# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What `run` makes of its arguments, before it asks any node."""

from __future__ import annotations

import time
from typing import Any

from action_lifecycle.cli import main
from action_lifecycle.cli.given_parameters import given_parameter
import pytest


@pytest.mark.parametrize(('arguments', 'said'), [
    ((), 'either FLOW, --reuse NAME or --request WORDS'),
    (('x', '--reuse', 'y'), 'either FLOW'), (('x', '--request', 'y'), 'either FLOW'),
    (('x', '-p', 'force'), 'expected NAME=VALUE'), (('x', '--set', 'force=[1'), 'not YAML')])
def test_arguments_that_do_not_go_together_are_bad_input(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(['run', *arguments]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(('domain', 'arguments', 'said'), [
    ('abc', (), "ROS_DOMAIN_ID 'abc': expected a number from 0 to 232"),
    ('300', (), "ROS_DOMAIN_ID '300'"), ('-1', (), "ROS_DOMAIN_ID '-1'"),
    ('0', ('--namespace', 'robot 1'), "--namespace 'robot 1': expected names of letters")])
def test_a_domain_or_namespace_that_can_not_be_is_bad_input(
    domain: str, arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip('rclpy')
    monkeypatch.setenv('ROS_DOMAIN_ID', domain)
    assert main(['list', *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_command_alone_on_its_domain_does_not_find_itself(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rclpy = pytest.importorskip('rclpy')
    from isolation import domain_id
    srvs = pytest.importorskip('std_srvs.srv')
    domain = domain_id()
    monkeypatch.setenv('ROS_DOMAIN_ID', str(domain))
    assert main(['list', '--wait', '1.5']) == 3
    said = capsys.readouterr().err
    assert "service '/ledger/list_actions' is not there after 1.5 s" in said, said
    assert f'on the ROS domain {domain}; there is no such thing in any namespace' in said

    context = rclpy.context.Context()
    rclpy.init(context=context, domain_id=domain)
    node = rclpy.create_node('other', context=context)
    try:
        node.create_client(srvs.Trigger, '/asks/ledger/list_actions')
        node.create_service(srvs.Trigger, '/offers/ledger/list_actions', lambda *asked: asked[1])
        assert main(['list', '--wait', '5']) == 3
    finally:
        node.destroy_node()
        context.try_shutdown()
    assert "there is '/offers/ledger/list_actions': --namespace offers\n" in \
        capsys.readouterr().err


@pytest.mark.parametrize(('following', 'said'), [
    (None, 'no further time by the wall clock'), (5.0, 'next at 1970-01-0')])
def test_a_job_that_never_comes_again_is_told_in_words(following: float | None, said: str) -> None:
    run = pytest.importorskip('action_lifecycle.cli.running.summary')
    from rich.console import Console
    console = Console(record=True, width=200)
    run._print_job(console, {'id': 'j', 'schedule': 'once', 'clock': 'wall', 'next': following})
    assert said in console.export_text()


def test_the_next_time_of_a_job_has_its_time_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    summary = pytest.importorskip('action_lifecycle.cli.running.summary')
    from rich.console import Console
    monkeypatch.setenv('TZ', 'UTC-02:30')  # the sign is that of POSIX
    time.tzset()
    try:
        console = Console(record=True, width=200)
        summary._print_job(console, {'id': 'j', 'schedule': 'once', 'clock': 'wall',
                                     'next': 86400.0})
    finally:
        monkeypatch.undo()
        time.tzset()
    assert 'next at 1970-01-02T02:30:00+02:30 by the wall clock' in console.export_text()


@pytest.mark.parametrize(('text', 'value'), [
    ('8', 8), ('8.0', 8.0), ('true', True), ('on', 'on'), ('1:30', '1:30'), ("'8'", '8'),
    ('[1, 2]', [1, 2]), ('a b', 'a b'), ('', ''), ('a=b', 'a=b'), ('2027-01-31', '2027-01-31')])
def test_the_type_of_a_parameter_is_that_of_yaml(text: str, value: Any) -> None:
    assert given_parameter(f'name={text}') == ('name', value)
