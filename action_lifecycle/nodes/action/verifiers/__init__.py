# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Verifiers besides the sensors: a person, a service, a Python callable."""
