# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""The three managed nodes, thin: each joins the ROS-free folders to ROS."""
