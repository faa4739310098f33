# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The markers node: state and evidence of each running action as markers for RViz and Foxglove."""
