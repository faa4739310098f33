# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Graphs of states: files, static checks, machines, hooks, drawings."""
