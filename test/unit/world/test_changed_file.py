# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A name that is unknown because the facts file was changed after it was loaded."""

from __future__ import annotations

import os
from pathlib import Path

from action_lifecycle.documents.errors import DocumentError
from action_lifecycle.world import load_facts, parse_facts
from action_lifecycle.world.condition import compile_condition, condition_faults
from action_lifecycle.world.facts.facts import FactSet
from action_lifecycle.world.model import Condition
import pytest

TEXT = 'estop: none\nfacts:\n  heading: {topic: /gap, type: a/msg/B, field: x, max_age: 1}\n'


def message(facts: FactSet, text: str = 'holding > 1') -> str:
    with pytest.raises(DocumentError) as caught:
        compile_condition(text, facts)
    fault, = caught.value.faults
    return fault.message


def test_an_unknown_name_tells_which_file_of_which_time_is_in_use(tmp_path: Path) -> None:
    path = tmp_path / 'facts.yaml'
    path.write_text(TEXT)
    os.utime(path, (1.7e9, 1.7e9))
    facts = load_facts(path)
    plain = message(facts)
    assert plain.startswith("unknown name 'holding'") and plain == message(parse_facts(TEXT))
    path.write_text(TEXT + TEXT.splitlines()[-1].replace('heading', 'holding'))
    os.utime(path, (1.7e9 + 3600, 1.7e9 + 3600))
    said = message(facts)
    assert said.startswith(f'{plain}; the facts that are in use are those of {path} of 2023-11-1')
    assert 'which was changed at 2023-11-1' in said
    assert said.endswith('to use those: action_lifecycle reload')
    (_, fault), = condition_faults([Condition('confirm', 'holding > 1')], facts)
    assert str(path) in fault
    assert str(path) not in message(facts, 'heading >')  # no name is unknown
    assert compile_condition('heading > 1', facts).names == ('heading',)
    path.unlink()
    assert message(facts).endswith('which is not there any more')
    assert compile_condition('holding > 1', load_facts_again(path)).names == ('holding',)


def load_facts_again(path: Path) -> FactSet:
    path.write_text(TEXT.replace('heading', 'holding'))
    return load_facts(path)
