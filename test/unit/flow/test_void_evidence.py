# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A condition that is true while all its facts are unknown is refused where it is evidence."""

from __future__ import annotations

from pathlib import Path

from action_lifecycle.cli.main import main
from action_lifecycle.documents.errors import DocumentError
from action_lifecycle.flow.authoring import facts as read
from action_lifecycle.flow.authoring import Flow, motion
from action_lifecycle.flow.edits.edit_validation import check_edit
from action_lifecycle.flow.files.edit import EditRefused, parse_edit
from action_lifecycle.flow.files.loader import parse_flow
from action_lifecycle.flow.files.uses import check_names
from action_lifecycle.world.facts.loader import parse_facts
import pytest

VOID = 'it is true while all its facts are unknown'
FACTS = """
estop: none
facts:
  gap: {topic: gap, type: std_msgs/msg/Float64, field: data}
  home: {constant: 0.3}
  ready: {expression: gap > 3 or True}
  twice: {expression: home * 2}
"""
MOTION = '{server: go, type: t/action/T}'
PUBLISH = """{topic: t, type: t/msg/T, physical: true, rate: 10, finally: {}, until: %s}"""


def flow(fields: str, parameters: str = '{}') -> str:
    return f'flow: f\nactions:\n  a:\n    parameters: {parameters}\n' + ''.join(
        f'    {line}\n' for line in fields.splitlines())


@pytest.mark.parametrize('text', [
    'True or gap > 3', 'gap > 3 or true', 'gap > 3 or not (gap > 3 and False)',
    'gap > 3 or 1 < 2', 'not (False and gap > 3)', 'gap > 3 or width == width',
    "gap > 3 or side == 'left'", 'gap > 3 or width in [2, 5]', 'not gap > 3 or not (width > 9)',
    'gap > 3 or (True and not False)', 'gap > 3 or any([1, 0])', 'gap > 3 or pi > 3'])
@pytest.mark.parametrize('fields', [
    'motion: {motion}\nconfirm: {text}', 'motion: {motion}\nconfirm: [gap > 1, {text}]',
    'motion: {motion}\nconfirm: gap > 1\nstopped: {text}',
    'publish: {publish}\nconfirm: gap > 1',
    'motion: {motion}\nconfirm: gap > 1\nrepeat: {{times: 2, until: {text}}}',
    'motion: {motion}\nconfirm: gap > 1\nfallback: [{{motion: {motion}, confirm: {text}}}]',
    'call: {{service: s, type: t/srv/T, success: {text}}}',
    'for_each: {{x: [1, 2]}}\nmotion: {motion}\nconfirm: {text}'])
def test_a_condition_that_needs_no_fact_is_refused_wherever_it_is_evidence(
    text: str, fields: str
) -> None:
    quoted = f'"{text}"'
    written = flow(fields.format(text=quoted, motion=MOTION, publish=PUBLISH % quoted),
                   '{width: 5, side: left}')
    with pytest.raises(DocumentError) as refused:
        parse_flow(written, 'f.yaml')
    found = refused.value.faults
    assert any(VOID in fault.message and text in fault.message for fault in found), found
    assert all(fault.file == 'f.yaml' and fault.line > 1 for fault in found)


@pytest.mark.parametrize('fields', [
    'motion: {motion}\nconfirm: gap > 1\nrequire: {text}',
    'motion: {motion}\nconfirm: gap > 1\nmaintain: {text}',
    'call: {{service: s, type: t/srv/T, physical: true, success: {text}}}\nconfirm: gap > 1'])
def test_it_may_be_a_precondition_or_leave_the_word_of_a_service_aside(fields: str) -> None:
    parse_flow(flow(fields.format(text='"True or gap > 3"', motion=MOTION)), 'f.yaml')


@pytest.mark.parametrize('text', [
    'gap > 3', 'gap > 3 or level > 2', 'not gap > 3', 'gap > width or False',
    'not (gap > 3 and True)', 'gap > limit or limit > 9', 'width > 9 or gap > 3'])
def test_a_condition_that_needs_a_fact_is_accepted(text: str) -> None:
    parse_flow(flow(f'motion: {MOTION}\nconfirm: {text}',
                    "{width: 5, limit: '{{ facts.level }}'}"), 'f.yaml')


def test_values_of_parameters_of_the_flow_decide(tmp_path: Path) -> None:
    text = ('flow: f\nparameters:\n  sure: {default: false}\n'
            f'actions:\n  a: {{motion: {MOTION}, confirm: sure or gap > 3}}\n')
    parse_flow(text, 'f.yaml')
    with pytest.raises(DocumentError, match=VOID):
        parse_flow(text, 'f.yaml', {'sure': True})


@pytest.mark.parametrize('text', ['home > 0.1', 'ready', 'gap > 3 or twice > 0.5'])
def test_constants_of_the_facts_file_measure_nothing(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    facts, file = tmp_path / 'facts.yaml', tmp_path / 'f.yaml'
    facts.write_text(FACTS)
    file.write_text(flow(f'motion: {MOTION}\nconfirm: {text}'))
    loaded = parse_facts(FACTS)
    with pytest.raises(DocumentError, match=VOID) as refused:
        check_names(parse_flow(file.read_text(), 'f.yaml'), loaded.kinds, loaded.fixed)
    assert refused.value.faults[0].line == 6
    assert main(['validate', '--facts', str(facts), str(file)]) == 2
    assert VOID in capsys.readouterr().err


@pytest.mark.parametrize('step', [
    f'add: {{b: {{motion: {MOTION}, confirm: True or gap > 3}}}}',
    'update: {a: {confirm: True or gap > 3}}'])
def test_an_edit_is_checked_in_the_same_way(step: str) -> None:
    running = parse_flow(flow(f'motion: {MOTION}\nconfirm: gap > 3'), 'f.yaml')
    with pytest.raises(EditRefused, match=VOID):
        check_edit(running, parse_edit(f'- {step}', 'edit.yaml'))


def test_a_flow_in_python_is_checked_in_the_same_way() -> None:
    made = Flow('f')
    made.action('a', motion('go', 't/action/T'), confirm=(read.gap > 3) | True)
    with pytest.raises(DocumentError, match=VOID) as refused:
        made.load()
    assert refused.value.faults[0].file == __file__
