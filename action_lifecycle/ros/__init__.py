# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""Small rclpy adapters: managed nodes, executor choice, QoS, types by name, motions."""
