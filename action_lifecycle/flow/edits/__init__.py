# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Edits of a running flow: checked as a whole, journaled, then applied."""
