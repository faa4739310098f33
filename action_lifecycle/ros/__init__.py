# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
rclpy adapters for the nodes and the console command.

node: managed nodes; calls: services, goals; interfaces: message types, QoS; conversions: messages.
"""
