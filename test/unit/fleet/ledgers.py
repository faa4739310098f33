# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Helpers for tests of the ledger: a coroutine with a ledger, claims, routes of operations."""

from __future__ import annotations

import asyncio
import time

from action_lifecycle.fleet import open_ledger
from action_lifecycle.fleet.claim_watch import ClaimWatch
from action_lifecycle.fleet.loop_thread import end
from action_lifecycle.fleet.operation_states import OperationState as State
from action_lifecycle.fleet.operation_states import predecessors


def with_ledger(backend, work, **options):
    """Return the result of a coroutine that uses a ledger."""
    async def run():
        ledger = open_ledger(backend.url, **options)
        try:
            return await work(ledger)
        finally:
            await ledger.close()
    return asyncio.run(run())


async def held_claims(ledger, journal):
    """Return the claims of sessions that a robot sees, once there are any."""
    watch = ClaimWatch(ledger, lambda: journal, tuple)
    running = asyncio.ensure_future(watch.run())
    deadline = time.monotonic() + 10
    while not watch.held:
        assert time.monotonic() < deadline and not running.done()
        await asyncio.sleep(0.01)
    await end(running)
    return watch.held


def route(target):
    """Return states that lead from RECEIVED to a state."""
    routes = {State.RECEIVED: []}
    while target not in routes:
        for state, sources in predecessors().items():
            for source in sources & routes.keys():
                routes.setdefault(state, [*routes[source], state])
    return routes[target]
