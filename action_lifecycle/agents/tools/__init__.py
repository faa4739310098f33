# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Tools that states call by name: Python callables, MCP servers and (in ros/) ROS interfaces."""
