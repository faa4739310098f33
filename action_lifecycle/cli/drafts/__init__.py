# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Drafts of a facts file, a flow and its cases from what a running ROS graph offers."""
