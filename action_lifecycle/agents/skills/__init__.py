# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Skills: named sequences of tool calls in files, which are tools themselves."""
