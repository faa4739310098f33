# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The recipe of a verified flow in the ledger of the fleet."""

from __future__ import annotations

import json
from pathlib import Path
import time

from action_lifecycle.fleet import RedisLedger
from action_lifecycle.fleet.loop_thread import LoopThread
from action_lifecycle.fleet.sync import Synchronizer
from action_lifecycle.journal import Entry, Journal


def test_a_recipe_stays_in_the_ledger_with_all_it_holds(redis_server, tmp_path: Path) -> None:
    recipe = {'recipe': 'fetch', 'actions': [{'action': 'pick'}]}
    with Journal(tmp_path / 'journal') as journal:
        journal.append(Entry('recipe', '', 'fetch', event='stored', data={'recipe': 'old'}))
        journal.append(Entry('recipe', '', 'fetch', event='stored', data=recipe))
        thread = LoopThread()
        thread.submit(Synchronizer(
            journal.path, RedisLedger(redis_server.url, 'arm', retention=1.0),
            lambda status: None).run())
        try:
            key = 'al:{arm}:recipe::fetch'
            end = time.monotonic() + 10.0
            while json.loads(redis_server.client.hget(key, 'data_json') or '{}') != recipe:
                assert time.monotonic() < end
                time.sleep(0.02)
            assert redis_server.client.ttl(key) == -1  # it does not expire
        finally:
            thread.stop()
