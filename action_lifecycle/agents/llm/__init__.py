# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Language models that choose and plan, at any endpoint with the OpenAI protocol."""
