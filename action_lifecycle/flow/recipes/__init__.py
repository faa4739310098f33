# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Recipes: verified runs of flows, saved to be run again if the facts match."""
