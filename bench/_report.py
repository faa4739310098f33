# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Command-line options and output of the benchmarks."""

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
    """Print figures with three decimals, as one JSON object or one per line."""
    rounded = {name: round(figure, 3) for name, figure in figures.items()}
    print(json.dumps(rounded) if as_json else '\n'.join(
        f'{name:36}{figure:12}' for name, figure in rounded.items()))
