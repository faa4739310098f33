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

"""What a benchmark is asked, and how it prints its figures."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
import json


def parser(doc: str) -> argparse.ArgumentParser:
    """Return a parser with `--json`; `doc`: the benchmark's docstring, shown by `--help`."""
    made = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument('--json', action='store_true', help='print one JSON object only')
    return made


def report(figures: Mapping[str, float], as_json: bool) -> None:
    """Print figures to three decimals: one JSON object, or a line each."""
    rounded = {name: round(figure, 3) for name, figure in figures.items()}
    print(json.dumps(rounded) if as_json else '\n'.join(
        f'{name:36}{figure:12}' for name, figure in rounded.items()))
