# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Flows at the action node: goals, sources, checks, edits, plans, jobs."""
