#!/bin/bash
# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
# Run a command with ROS and the workspace sourced.
set -e
source /opt/ros/jazzy/setup.bash
source /ws/install/local_setup.bash
exec "$@"
