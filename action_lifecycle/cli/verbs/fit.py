# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The verb `fit`: proposes thresholds and holds of the conditions of a flow file."""

from __future__ import annotations

import argparse

from ..output_file import DIFF, OutputFile
from ..table import print_json
from ...documents.errors import LifecycleError
from ...documents.suggestions import nearest
from ...fit.fitting import apply_all, as_dict, ConditionFit, fit_place, Options
from ...fit.flow_text import FitError, FlowText
from ...fit.runs import collect
from ...fit.text_report import report
from ...world import load_facts


def fit(options: argparse.Namespace) -> None:
    """Print what labelled runs say about each condition, and the changes as a diff."""
    if options.fewest < 2:
        raise LifecycleError(f'--fewest {options.fewest}: expected 2 or more')
    file = OutputFile('--diff', options.diff, DIFF, [
        *options.journals, options.flow, options.facts, options.labels],
        force=options.force) if options.diff else None
    text = FlowText(options.flow)
    facts = load_facts(options.facts)
    _check_action(text, options.action)
    found = collect(options.journals, text.flow.name, options.labels)
    fits = [fit_place(text, place, facts, [
        run for run in found.runs if run.trace.key.action_id in place.actions],
        Options(options.fewest, options.target == 'errors'))
        for place in text.places if not options.action or options.action in place.actions]
    diff = apply_all(text, fits)
    if file is not None:
        file.write(diff)
    if options.json:
        print_json({'flow': text.path, 'notes': list(found.notes()),
                    'conditions': [as_dict(one, text.path) for one in fits], 'diff': diff})
    else:
        for line in report(fits, text.path):
            print(line)
        for note in found.notes():
            print(f'note: {note}')
        print(_end(fits, diff, options.diff))
    if not any(one.fitted for one in fits):
        raise FitError('nothing was fitted: ' + (
            'no labelled run with a trace' if not found.runs else
            'the notes say what is missing for each condition'))


def _check_action(text: FlowText, action: str) -> None:
    confirmed = [name for place in text.places for name in place.actions]
    if action and action not in confirmed:
        raise LifecycleError(f"--action: '{action}' is no action of {text.path} with a 'confirm'"
                             + nearest(action, confirmed))


def _end(fits: list[ConditionFit], diff: str, path: str) -> str:
    if not diff:
        return 'no changes proposed' if any(one.fitted for one in fits) else ''
    if path:
        return f'{path}: the changes; apply them with: patch -p0 < {path}'
    return f'The changes, for patch -p0:\n{diff}'
