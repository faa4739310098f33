# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

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
