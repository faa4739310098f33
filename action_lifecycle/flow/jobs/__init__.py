# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Scheduled jobs: flows and actions that start at scheduled times."""
