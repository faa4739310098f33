# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Safety: the topics that stop or permit motions, and the stop file, which survives a restart."""
