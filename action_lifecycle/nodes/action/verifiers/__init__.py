# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The functions of the action node for verifiers: calls of services, checks in threads."""
