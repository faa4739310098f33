# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The language of conditions: values and their types, functions, reducers, expressions."""
