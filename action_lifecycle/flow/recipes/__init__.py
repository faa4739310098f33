# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Recipes: verified flows that are saved, and run again when the world matches."""
