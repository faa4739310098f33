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

"""Writes one recipe after the other, until it is killed; a process of its own."""

from __future__ import annotations

import itertools
from pathlib import Path
import sys

from action_lifecycle.flow.recipe_file import RecipeSpec
from action_lifecycle.flow.recipes import Recipe, write_recipe

folder = Path(sys.argv[1])
data = Recipe.load(folder, 'fetch').data()
for number in itertools.count():
    write_recipe(folder, Recipe(RecipeSpec(**{
        **data, 'flow_id': f'f{number}', 'flow': {**data['flow'], 'sha256': str(number),
                                                  'text': 'x' * (number % 7) * 10_000}})))
