# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Flow files: their model, checks, shorthand, templates of actions, and edits of them."""
