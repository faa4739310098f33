# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The vda5050 node: runs the orders of a fleet manager, which it gets over MQTT."""
