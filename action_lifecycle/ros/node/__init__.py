# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Managed nodes, their executor, timers, subscriptions and processes."""
