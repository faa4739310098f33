# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""VDA 5050: messages of fleet managers, orders as flows, and the state of an order; no ROS."""
