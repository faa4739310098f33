# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Which ROS domains tests are given."""

from __future__ import annotations

from pathlib import Path
import socket

import isolation
from isolation import domain_id
import pytest


def test_a_domain_to_whose_ports_a_process_listens_is_not_given(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first, second = domain_id(), domain_id()
    monkeypatch.setattr(isolation, 'DOMAINS', tmp_path)  # so that nobody holds these two
    monkeypatch.setattr(isolation.random, 'sample', lambda *_: [first, second])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as left:
        left.bind(('127.0.0.1', 7400 + 250 * first + 10))
        assert domain_id() == second
    assert domain_id() == first


def test_the_default_of_fast_dds_is_without_the_profile_of_tests() -> None:
    given = dict.fromkeys(isolation.PROFILES, 'file') | {
        'ROS_AUTOMATIC_DISCOVERY_RANGE': 'SUBNET', 'PATH': '/bin'}
    assert isolation.as_it_comes(given) == {
        'PATH': '/bin', 'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}
