# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Who may see the pages of the viewer, and who may give orders."""

from __future__ import annotations

from pathlib import Path
import time
from typing import Any

from action_lifecycle.viewer.access import (
    Access,
    ALL_FAILURES,
    ENVIRONMENT,
    FAILURES,
    LIFETIME,
    MAX_ACTOR,
    MINUTE,
    ORDERS,
    SignInRefused,
)
from action_lifecycle.viewer.rate_limit import RateLimit
from action_lifecycle.viewer.token_file import TokenError
from hypothesis import given
from hypothesis import strategies as st
import pytest

pytest.importorskip('itsdangerous')

TOKEN = 'correct-horse-battery'


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def made(token: str = TOKEN, **given: Any) -> Access:
    return Access(environment={ENVIRONMENT: token} if token else {}, **given)


def with_file(path: Path, token: str = TOKEN, mode: int = 0o600) -> Path:
    path.write_text(token + '\n')
    path.chmod(mode)
    return path


def test_without_a_token_a_loopback_address_is_served_read_only() -> None:
    access = made('')
    assert not access.public and not access.has_token
    with pytest.raises(SignInRefused, match='no token'):
        access.sign_in('', 'anna', '127.0.0.1')
    assert access.session('') is None


@pytest.mark.parametrize(('host', 'names'), [
    ('0.0.0.0', ()), ('::', ()), ('192.168.1.5', ()), ('robot', ()), ('', ()),
    ('127.0.0.1', ('robot.example',))])
def test_what_others_can_reach_needs_a_token(host: str, names: tuple[str, ...]) -> None:
    with pytest.raises(TokenError, match='a token is needed: expected'):
        made('', host=host, names=names)
    assert made(host=host, names=names).public


@pytest.mark.parametrize('mode', [0o644, 0o640, 0o604, 0o660])
def test_a_token_file_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    path = with_file(tmp_path / 'token', mode=mode)
    with pytest.raises(TokenError, match=rf'{path}: other users .*mode {mode:o}.*chmod 600'):
        Access(token_file=str(path), environment={})


@pytest.mark.parametrize('token', ['', 'short', 'with a space in the middle', 'x' * 2000,
                                   'control\x07characters-here'])
def test_a_token_that_is_none_is_refused(tmp_path: Path, token: str) -> None:
    with pytest.raises(TokenError, match='expected a token of 16'):
        Access(token_file=str(with_file(tmp_path / 'token', token)), environment={})
    if token:
        with pytest.raises(TokenError, match=f'{ENVIRONMENT}: expected'):
            made(token)


def test_a_token_file_that_is_missing_or_a_folder_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / 'none', tmp_path):
        with pytest.raises(TokenError, match=f'token file {path}'):
            Access(token_file=str(path), environment={})


def test_the_file_is_taken_before_the_environment(tmp_path: Path) -> None:
    access = Access(token_file=str(with_file(tmp_path / 'token')),
                    environment={ENVIRONMENT: 'another-token-entirely'})
    assert access.sign_in(TOKEN, 'anna', '127.0.0.1')


def test_a_session_has_the_name_and_survives_a_restart() -> None:
    cookie = made().sign_in(f' {TOKEN}\n', ' Anna Łoś ', '127.0.0.1')
    session = made().session(cookie)
    assert session and session.actor == 'Anna Łoś'
    assert made('another-token-entirely').session(cookie) is None
    assert made('').session(cookie) is None


@pytest.mark.parametrize('actor', ['', '  ', 'x' * (MAX_ACTOR + 1), 'a\nb', 'a\x1b[0m', 'a‮b'])
def test_the_name_has_to_be_one(actor: str) -> None:
    with pytest.raises(SignInRefused, match='your name'):
        made().sign_in(TOKEN, actor, '127.0.0.1')


def test_a_session_ends_with_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    access = made()
    cookie = access.sign_in(TOKEN, 'anna', '127.0.0.1')
    start = time.time()
    monkeypatch.setattr(time, 'time', lambda: start + LIFETIME - 10.0)
    assert access.session(cookie)
    monkeypatch.setattr(time, 'time', lambda: start + LIFETIME + 10.0)
    assert access.session(cookie) is None


def test_a_session_ends_when_its_person_signs_out() -> None:
    access = made()
    cookie, other = (access.sign_in(TOKEN, 'anna', '127.0.0.1') for _ in range(2))
    access.sign_out(cookie)
    assert access.session(cookie) is None
    assert access.session(other)


def test_a_session_ends_when_the_token_changes(tmp_path: Path) -> None:
    path = with_file(tmp_path / 'token')
    access = Access(token_file=str(path), environment={})
    cookie = access.sign_in(TOKEN, 'anna', '127.0.0.1')
    with_file(path, 'another-token-entirely')
    assert access.session(cookie) is None
    with pytest.raises(SignInRefused, match='wrong'):
        access.sign_in(TOKEN, 'anna', '127.0.0.1')
    with_file(path)
    assert access.session(cookie)
    path.chmod(0o644)
    assert access.session(cookie) is None
    path.unlink()
    assert access.session(cookie) is None
    with pytest.raises(SignInRefused, match='no token'):
        access.sign_in(TOKEN, 'anna', '127.0.0.1')


COOKIE = made().sign_in(TOKEN, 'anna', '127.0.0.1')


@given(st.integers(0, len(COOKIE) - 1), st.characters())
def test_a_changed_cookie_is_none(place: int, character: str) -> None:
    changed = COOKIE[:place] + character + COOKIE[place + 1:]
    found = made().session(changed)
    # the last character of a signature has bits that mean nothing
    assert found is None or found.actor == 'anna' and (
        changed == COOKIE or place == len(COOKIE) - 1)


@given(st.text(max_size=3000))
def test_an_invented_cookie_is_none(text: str) -> None:
    assert made().session(text) is None


def test_guessing_is_slowed_down_for_each_address_and_in_all() -> None:
    clock = Clock()
    access = made(clock=clock)

    def attempt(address: str, token: str = 'wrong-wrong-wrong') -> str:
        try:
            access.sign_in(token, 'anna', address)
        except SignInRefused as refused:
            return str(refused)
        return ''

    for _ in range(FAILURES):
        assert attempt('10.0.0.1') == 'The token is wrong.'
    assert 'Too many' in attempt('10.0.0.1')
    assert 'Too many' in attempt('10.0.0.1', TOKEN)  # nobody learns that it was the right one
    assert attempt('10.0.0.2', TOKEN) == ''
    clock.now += MINUTE / FAILURES
    assert attempt('10.0.0.1', TOKEN) == ''
    clock.now += MINUTE
    for number in range(ALL_FAILURES):
        assert attempt(f'10.1.0.{number}') == 'The token is wrong.'
    assert 'Too many' in attempt('10.0.0.9', TOKEN)


def test_addresses_of_one_network_of_ipv6_count_as_one() -> None:
    access = made(clock=Clock())
    for number in range(FAILURES):
        with pytest.raises(SignInRefused, match='wrong'):
            access.sign_in('wrong', 'anna', f'2001:db8::{number}')
    with pytest.raises(SignInRefused, match='Too many'):
        access.sign_in(TOKEN, 'anna', '2001:db8::ffff:1')
    assert access.sign_in(TOKEN, 'anna', '2001:db8:0:1::1')


def test_orders_are_limited_for_each_session() -> None:
    access = made(clock=Clock())
    first, second = (access.session(access.sign_in(TOKEN, 'anna', '127.0.0.1')) for _ in '12')
    assert first and second
    refused = [bool(access.refusal(first)) for _ in range(ORDERS + 2)]
    assert refused == [False] * ORDERS + [True] * 2
    assert access.refusal(second) == ''


@pytest.mark.parametrize(('host', 'name', 'served'), [
    ('127.0.0.1', 'localhost:8080', True), ('127.0.0.1', '127.0.0.1', True),
    ('127.0.0.1', '[::1]:8080', True), ('127.0.0.1', 'LOCALHOST.:1', True),
    ('127.0.0.1', 'evil.example', False), ('127.0.0.1', '10.0.0.1', False),
    ('127.0.0.1', '', False), ('127.0.0.1', 'localhost.evil.example', False),
    ('0.0.0.0', '10.0.0.1:8080', True), ('0.0.0.0', '[2001:db8::1]:80', True),
    ('0.0.0.0', 'evil.example', False), ('0.0.0.0', '10.0.0.1.evil.example', False),
    ('0.0.0.0', 'robot.example:1', True), ('0.0.0.0', '?', False)])
def test_a_name_that_dns_could_rebind_is_not_served(host: str, name: str, served: bool) -> None:
    assert made(host=host, names=['robot.example'] if host == '0.0.0.0' else ()).serves(
        name) is served


@given(st.lists(st.floats(0.0, 3.0), max_size=60), st.integers(1, 5))
def test_no_window_has_more_than_the_limit(steps: list[float], burst: int) -> None:
    clock = Clock()
    limit = RateLimit(burst, 4.0, clock=clock)
    taken: list[float] = []
    for step in steps:
        clock.now += step
        wait = limit.wait('one')
        assert limit.wait('another') == 0.0
        if wait == 0.0:
            limit.take('one')
            taken.append(clock.now)
        else:
            assert 0.0 < wait <= 4.0 / burst + 1e-6
    for first in taken:
        for width in (0.0, 1.0, 4.0):
            within = sum(first <= at <= first + width for at in taken)
            assert within <= burst + width * burst / 4.0 + 1e-6
