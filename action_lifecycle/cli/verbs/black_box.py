# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The verbs of the bridge: `black-box` writes the last seconds of its sensors, `reload`."""

from __future__ import annotations

import argparse

from action_lifecycle_msgs.srv import SaveBlackBox
from std_srvs.srv import Trigger

from ..actor import why
from ..client import accepted, connect
from ...documents.errors import LifecycleError

BRIDGE = 'world_model_bridge'
WRITING = 60.0
"""Additional time (s) for the bag to be written."""


def save_black_box(options: argparse.Namespace) -> None:
    """Have the bridge write a bag, and print its path."""
    service = f'{BRIDGE}/save_black_box'
    with connect(options.namespace, options.wait) as client:
        client.until_there(SaveBlackBox, service)
        client.until_heard(BRIDGE)
        client.wait += WRITING
        answer = accepted(client.call(SaveBlackBox, service, SaveBlackBox.Request(
            reason=why(options), seconds=options.seconds), again=False))
    print(f'{answer.path} ({answer.messages} messages)')


def reload(options: argparse.Namespace) -> None:
    """Have the bridge load its facts file again, and print which one it uses."""
    service = f'{BRIDGE}/reload'
    with connect(options.namespace, options.wait) as client:
        client.until_there(Trigger, service)
        client.until_heard(BRIDGE)
        answer = client.call(Trigger, service, Trigger.Request(), again=False)
    if not answer.success:
        raise LifecycleError(answer.message)
    print(answer.message)
