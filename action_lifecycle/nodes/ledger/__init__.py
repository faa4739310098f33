# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The ledger node: questions about the journal, and its sync with the fleet."""
