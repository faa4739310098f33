# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""The engine: graphs and the machines that run on them; imports nothing else of the package."""
