# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The edges of the action lifecycle in the design: each state, and where it may lead."""

EDGES = {
    'assigned': 'in_progress error terminated',
    'in_progress': 'executing_motion status_verification_requested error',
    'executing_motion': 'sensor_confirm error',
    'sensor_confirm': 'status_verification_requested executing_motion error',
    'status_verification_requested': 'completed pending error',
    'pending': 'completed status_verification_requested in_progress error',
    'completed': 'terminated recipe_requested fallback_requested',
    'error': 'in_progress fallback_requested recipe_requested terminated',
    'fallback_requested': 'fallback_received error',
    'fallback_received': 'in_progress recipe_requested error',
    'recipe_requested': 'recipe_received fallback_requested terminated error',
    'recipe_received': 'terminated',
    'terminated': 'assigned',
}
