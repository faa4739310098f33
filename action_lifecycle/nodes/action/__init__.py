# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The action_lifecycle node: runs flows and their actions, and writes the journal."""
