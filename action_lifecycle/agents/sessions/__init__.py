# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Sessions in a journal: graphs of typed states that go on where they were after a crash."""
