# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Writes one recipe after the other, until it is killed; a process of its own."""

from __future__ import annotations

import itertools
from pathlib import Path
import sys

from action_lifecycle.flow.recipes.recipe import Recipe, write_recipe
from action_lifecycle.flow.recipes.recipe_file import RecipeSpec

folder = Path(sys.argv[1])
data = Recipe.load(folder, 'fetch').data()
for number in itertools.count():
    write_recipe(folder, Recipe(RecipeSpec(**{
        **data, 'flow_id': f'f{number}', 'flow': {**data['flow'], 'sha256': str(number),
                                                  'text': 'x' * (number % 7) * 10_000}})))
