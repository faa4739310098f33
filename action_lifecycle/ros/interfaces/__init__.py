# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Message, service and action types by name, their fields and limits, names, and QoS."""
