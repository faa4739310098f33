# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The file of the journal: its tables, WAL, barriers against power loss, lock."""
