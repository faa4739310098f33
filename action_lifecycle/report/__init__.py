# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Plots of a flow from the journal; needs matplotlib, an extra of this package."""
