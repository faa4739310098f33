# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The QoS profiles of this package's topics, and profiles that match publishers.

A QoSProfile is reliable and volatile by default.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rclpy.qos import QoSDurabilityPolicy, QoSPolicyKind, QoSProfile, QoSReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions


def state_qos() -> QoSProfile:
    """Return the profile of latched topics: reliable, transient local, depth 1."""
    return QoSProfile(depth=1, durability=QoSDurabilityPolicy.TRANSIENT_LOCAL)


def status_qos() -> QoSProfile:
    """
    Return the profile to hear the status topic of an action: as `state_qos`, depth 10.

    So the end of a goal is heard although the next message, which may not list it, has come.
    """
    return QoSProfile(depth=10, durability=QoSDurabilityPolicy.TRANSIENT_LOCAL)


def event_qos() -> QoSProfile:
    """
    Return the profile of event topics and actions: reliable, volatile, depth 1000.

    rclpy's profiles for services queue ten requests or responses and drop more; many actions may
    start or end at the same time.
    """
    return QoSProfile(depth=1000)


def overridable() -> QoSOverridingOptions:
    """Return options that permit parameters `qos_overrides.<topic>…` for a topic."""
    return QoSOverridingOptions((
        QoSPolicyKind.HISTORY, QoSPolicyKind.DEPTH, QoSPolicyKind.RELIABILITY,
        QoSPolicyKind.DURABILITY))


def sensor_qos(publishers: Iterable[Any], *, depth: int) -> QoSProfile:
    """
    Return a profile that is compatible with all these publishers.

    `publishers`: the result of `Node.get_publishers_info_by_topic`. The profile is reliable only
    if all publishers are. Without publishers it is, too: one that is reliable may be heard before
    it is found, and a subscription that is then made again for it loses messages.
    """
    reliable = all(publisher.qos_profile.reliability == QoSReliabilityPolicy.RELIABLE
                   for publisher in publishers)
    return QoSProfile(depth=depth, reliability=(
        QoSReliabilityPolicy.RELIABLE if reliable else QoSReliabilityPolicy.BEST_EFFORT))
