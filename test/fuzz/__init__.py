# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Fuzzing: a generator for each class of input, run by workers that a supervisor outside judges.

`tools/fuzz` runs it; CONTRIBUTING.md says how.
"""
