# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The executable `scripted_robot`: plays the robot of a file of cases until a signal."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import sys

import rclpy
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import remove_ros_args

from .node import ScriptedNode
from ...documents.errors import LifecycleError
from ...ros.node.executor import make_executor
from ...ros.node.process import spin_until_signal


def main(args: Sequence[str] | None = None) -> int:
    """Run the robot of a file; returns 2 if the file is not valid or can't be played."""
    given = list(sys.argv[1:] if args is None else args)
    parser = argparse.ArgumentParser(
        prog='scripted_robot', description='Play the robot of a file of cases as a ROS node.')
    parser.add_argument('file', help='such as go_to.cases.yaml')
    parser.add_argument('--case', default='', help='name of a case; default: the `robot` of the '
                        'file, without the changes of a case')
    options = parser.parse_args(remove_ros_args(['scripted_robot', *given])[1:])
    rclpy.init(args=['scripted_robot', *given], signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = ScriptedNode.of_file(options.file, options.case)
    except (LifecycleError, OSError) as error:
        print(error, file=sys.stderr)
        rclpy.try_shutdown()
        return 2
    node.get_logger().info(f'plays {options.file}' + (options.case and f': {options.case}'))
    code = 0
    try:
        spin_until_signal(node, make_executor())
    except LifecycleError as error:  # such as a ramp from a fact that has no value
        node.get_logger().fatal(str(error))
        code = 2
    rclpy.try_shutdown()
    return code
