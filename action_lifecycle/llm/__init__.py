# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""Language models that choose and plan, through any endpoint that speaks the OpenAI protocol."""
