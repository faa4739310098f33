# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A run of a flow as one HTML file."""

from .page import run_page

__all__ = ['run_page']
