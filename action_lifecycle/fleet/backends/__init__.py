# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The backends of the ledger, one module or package each; see `fleet/ledger.py`."""
