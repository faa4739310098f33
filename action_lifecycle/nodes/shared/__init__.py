# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Services, latched topics, feedback, log and file paths that several nodes share."""
