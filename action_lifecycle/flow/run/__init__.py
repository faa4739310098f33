# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A running flow: its states, the start of its actions, its journal rows, its summary."""
