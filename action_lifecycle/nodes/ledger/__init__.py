# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The ledger node: answers queries from the journal and syncs it to the ledger of the fleet."""
