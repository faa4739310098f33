# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The managed nodes, which offer the ROS-free folders as ROS interfaces; one folder for each node.

`shared` has what several nodes use; `composed` runs three nodes in one process.
"""
