# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Run each action of a robot's plan through one explicit, checked and journaled lifecycle."""
