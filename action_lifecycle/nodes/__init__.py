# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The managed nodes: each offers ROS interfaces of the ROS-free folders."""
