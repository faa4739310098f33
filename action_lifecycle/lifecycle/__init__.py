# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""The action lifecycle on the engine: states, guards, retries, and what each state sets going."""
