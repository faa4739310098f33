# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The built-in kinds of work that an action can do; `lifecycle.work` has the protocol."""
