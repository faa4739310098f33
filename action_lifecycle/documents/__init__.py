# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Documents: YAML and JSON with positions and limits, pydantic models, JSON Schema, templates."""
