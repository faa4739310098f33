# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A run of a flow as one HTML file."""

from .page import write_run

__all__ = ['write_run']
