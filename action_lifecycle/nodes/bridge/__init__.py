# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The world_model_bridge node: executes motions, reads facts, confirms outcomes."""
