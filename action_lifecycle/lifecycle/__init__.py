# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The lifecycle of actions: states, guards, retries, and the work of each state."""
