# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""Tools: what a state may call by name, from Python, ROS and MCP servers."""
