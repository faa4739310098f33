# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Templates: Jinja with bounds on time and size, since they may be machine-written."""
