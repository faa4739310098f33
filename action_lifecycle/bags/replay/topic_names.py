# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The names of topics in a bag by their names in a facts file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .recorded import confirmation_topics, TOPIC
from ..bag import Bag
from ..errors import BagError

BRIDGE = 'world_model_bridge'


class TopicNames:
    """
    Resolves names as the bridge did: relative to its namespace, `~` is its name, then the remaps.

    `bridge`: the resolved name of the bridge. `remaps`: texts such as `joint_states:=arm/joints`.
    """

    def __init__(self, bridge: str = f'/{BRIDGE}', remaps: Iterable[str] = ()) -> None:
        self.bridge = '/' + bridge.strip('/')
        self._namespace = self.bridge.rpartition('/')[0]
        self._remaps: Mapping[str, str] = {}
        self._remaps = dict(map(self._remap, remaps))

    def resolve(self, name: str) -> str:
        """Return the resolved name."""
        if name.startswith('~'):
            resolved = f'{self.bridge}/{name.lstrip("~/")}'
        else:
            resolved = name if name.startswith('/') else f'{self._namespace}/{name}'
        return self._remaps.get(resolved, resolved)

    @property
    def confirmations(self) -> str:
        """Return the topic of the confirmations."""
        return f'{self.bridge}/{TOPIC}'

    def _remap(self, text: str) -> tuple[str, str]:
        old, arrow, new = text.partition(':=')
        if not (arrow and old and new):
            raise BagError(f"remap '{text}': expected NAME:=NEW_NAME")
        return self.resolve(old), self.resolve(new)


def topic_names(bag: Bag, namespace: str, remaps: Iterable[str]) -> TopicNames:
    """
    Return the names for the bridge of a bag, found by its topic of confirmations.

    `namespace`: of the bridge, or its whole name, if the bag has several or none; '' if it has
    one. Raises BagError if it is not clear which bridge is meant.
    """
    bridges = [topic.rpartition('/')[0] for topic in confirmation_topics(bag)]
    if namespace:
        wanted = '/' + namespace.strip('/')
        for bridge in bridges:
            if wanted in (bridge, bridge.rpartition('/')[0] or '/'):
                return TopicNames(bridge, remaps)
        return TopicNames(f'{wanted.rstrip("/")}/{BRIDGE}', remaps)
    if len(bridges) > 1:
        raise BagError(f'{bag.path}: there are confirmations of several bridges: '
                       f"{', '.join(bridges)}; choose one with --namespace")
    return TopicNames(bridges[0] if bridges else f'/{BRIDGE}', remaps)
