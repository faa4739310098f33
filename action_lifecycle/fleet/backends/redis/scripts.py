# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The Lua scripts of the ledger.

A script is sent by its digest, and its source only if the server does not have it. In a cluster,
the server is the node that has the keys; redis-py's `register_script` would send the source to all
nodes, also to those that are down.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
import hashlib
from pathlib import Path
from typing import Any, NamedTuple


class Script(NamedTuple):
    """A script and its digest; `keys` of one call are in one slot of a cluster."""

    text: str
    digest: str

    async def run(self, redis: Any, keys: Sequence[str], args: Iterable[Any] = ()) -> Any:
        """Run the script by a client of `redis.asyncio`; returns its result."""
        from redis.exceptions import NoScriptError
        values = [*keys, *args]
        try:
            return await redis.evalsha(self.digest, len(keys), *values)
        except NoScriptError:
            return await redis.eval(self.text, len(keys), *values)

    def run_blocking(self, redis: Any, keys: Sequence[str], args: Iterable[Any] = ()) -> Any:
        """Run the script by a blocking client; returns its result."""
        from redis.exceptions import NoScriptError
        values = [*keys, *args]
        try:
            return redis.evalsha(self.digest, len(keys), *values)
        except NoScriptError:
            return redis.eval(self.text, len(keys), *values)


@cache
def script(*names: str) -> Script:
    """Return the script that consists of lua/<name>.lua for each name."""
    text = ''.join(map(script_text, names))
    return Script(text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())


@cache
def script_text(name: str) -> str:
    """Return the content of lua/<name>.lua."""
    return (Path(__file__).parent / 'lua' / f'{name}.lua').read_text(encoding='utf-8')
