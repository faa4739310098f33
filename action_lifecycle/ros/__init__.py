# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""rclpy adapters: managed nodes, executors, QoS, types by name, clients of action servers."""
