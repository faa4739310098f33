# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The commands that look at files say what is wrong and end with the code that tells it."""

from __future__ import annotations

from importlib.util import find_spec
import json
from pathlib import Path

from action_lifecycle.cli import main
from action_lifecycle.documents.yaml_document import read_document
from action_lifecycle.world.facts.loader import any_field
import pytest

CONFIG = Path(__file__).parents[3] / 'config'


def test_all_files_of_the_package_are_good(capsys: pytest.CaptureFixture[str]) -> None:
    files = [*CONFIG.glob('flows/*.yaml'), *CONFIG.glob('facts/*.yaml'),
             *CONFIG.glob('graphs/*.yaml')]
    assert len(files) >= 3
    assert main(['validate', '--facts', str(CONFIG / 'facts' / 'cell.yaml'),
                 *map(str, files)]) == 0
    output = capsys.readouterr()
    assert output.out.count(': ok (') == len(files)
    assert 'stopped' not in output.err  # no warnings of them


def test_every_bad_file_is_reported_and_the_good_ones_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / 'bad.yaml'
    bad.write_text('flow: x\nactions:\n  a: {confirm: z >, motion: {server: s}}\n')
    assert main(['validate', str(bad), str(tmp_path / 'no.yaml'),
                 str(CONFIG / 'facts' / 'cell.yaml')]) == 2
    output = capsys.readouterr()
    assert f'{bad}:3:' in output.err and "missing field 'type'" in output.err
    assert 'no.yaml:1:1: can not be read' in output.err
    assert 'cell.yaml: ok (facts)' in output.out


def test_an_unknown_fact_is_bad_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flow = tmp_path / 'flow.yaml'
    flow.write_text('flow: x\nactions:\n  a:\n    confirm: gapp > 1\n')
    assert main(['validate', str(flow), '--facts', str(CONFIG / 'facts' / 'cell.yaml')]) == 2
    error = capsys.readouterr().err
    assert f'{flow}:4:' in error and "did you mean 'gap'?" in error


@pytest.mark.parametrize(('kind', 'folder'), [
    ('graph', 'graphs'), ('flow', 'flows'), ('facts', 'facts')])
def test_shipped_files_fit_the_schema_that_is_printed(
    kind: str, folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    jsonschema = pytest.importorskip('jsonschema')
    assert main(['schema', kind]) == 0
    schema = json.loads(capsys.readouterr().out)
    files = list((CONFIG / folder).glob('*.yaml'))
    assert files
    for file in files:
        jsonschema.validate(read_document(file).data, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({'states': 3, 'actions': 3, 'facts': 3}, schema)


def test_a_graph_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['graph', str(CONFIG / 'graphs' / 'action.yaml'), '--format', 'mermaid']) == 0
    assert 'sensor_confirm' in capsys.readouterr().out


def test_a_missing_journal_is_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(['history', 'pick', '--journal', str(tmp_path / 'none')]) == 3
    assert 'none' in capsys.readouterr().err


FAULTY = """\
flow: x
defaults:
  retry: {time: 3}
actions:
  a:
    motion:
      server: gripper
      type: control_msgs/action/GripperCommand
      goal: {comand: {position: 0.0}}
    confirm: {condition: gap > 1, hold: -1}
  b: {after: a, confirm: gap > 1}
"""


def test_faults_are_told_once_where_they_were_written_and_as(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flow = tmp_path / 'flow.yaml'
    flow.write_text(FAULTY)
    assert main(['validate', str(flow)]) == 2
    faults = capsys.readouterr().err.splitlines()
    assert [fault.partition(f'{flow}:')[2].split(':')[0] for fault in faults] == ['3', '10']
    assert "did you mean 'times'?" in faults[0] and "field 'confirm.hold'" in faults[1]


def test_goals_are_checked_where_their_messages_are_installed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flow = tmp_path / 'flow.yaml'
    sound = FAULTY.replace('time:', 'times:').replace('hold: -1', 'hold: 1')
    flow.write_text(sound)
    if not find_spec('control_msgs'):
        assert main(['validate', str(flow)]) == 0
        return
    facts = ['--facts', str(CONFIG / 'facts' / 'cell.yaml')]
    assert main(['validate', str(flow)]) == 2
    assert f"{flow}:9:14: goal.comand: unknown field 'comand'" in capsys.readouterr().err
    flow.write_text(sound.replace('comand', 'command').replace('0.0', '1000.0'))
    assert main(['validate', str(flow)]) == 0
    assert main(['validate', str(flow), *facts]) == 2
    assert f'{flow}:9:24: goal.command.position' in capsys.readouterr().err
    flow.write_text(sound.replace('comand', 'command').replace('GripperCommand', 'GripperComand'))
    assert main(['validate', str(flow)]) == 2
    assert "did you mean 'control_msgs/action/GripperCommand'?" in capsys.readouterr().err


def test_only_graphs_and_flows_are_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['graph', str(CONFIG / 'facts' / 'cell.yaml')]) == 2
    assert 'this is a facts file' in capsys.readouterr().err


DRAWN = """\
flow: x
actions:
  look: {description: See it, confirm: 'tool[:2] == z'}
  end:
    after: {look: {condition: "outcome == 'succeeded'"}, close: completion}
    confirm: z > 1
  close:
    after: look
    motion: [&m {server: s/grip, type: control_msgs/action/GripperCommand}, *m]
    confirm: z > 2
"""


@pytest.mark.parametrize(('form', 'lines'), [
    ('table', [f'| look   | {"":<49} |        | tool[:2] == z |           |',
               f'| close  | {"look":<49} | s/grip | z > 2         |           |']),
    ('mermaid', ['flowchart TD', '    look("look")', '    close["close"]', '    s2("end")',
                 '    look --> close', '    close -->|"completion"| s2',
                 '    look -->|"outcome == \'succeeded\'"| s2']),
    ('dot', ['digraph "x" {', '    "look" [shape=ellipse, tooltip="See it"];',
             '    "close" [shape=box, tooltip=""];',
             '    "close" -> "end" [label="completion"];'])])
def test_a_flow_is_drawn_with_what_waits_for_what(
    form: str, lines: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flow = tmp_path / 'flow.yaml'
    flow.write_text(DRAWN)
    assert main(['graph', str(flow), '--format', form]) == 0
    drawn = capsys.readouterr().out.splitlines()
    assert set(lines) <= set(drawn), drawn


@pytest.mark.parametrize('action', [
    'publish: {topic: cmd, type: a/msg/B, rate: 5, until: NAME > 1}',
    'motion: {server: s, type: a/action/B, goal: {x: {fact: NAME}}}',
    'motion: {server: s, type: a/action/B, goal: {x: {y: [{expr: NAME + gap}]}}}',
    'call: {service: s, type: a/srv/B, request: {x: "{{ facts.NAME }}"}}',
    'motion: {server: s, type: a/action/B, goal: {x: "{{ facts.NAME }}"}}',
    'tool: {name: horn}, repeat: {times: 2, until: NAME > 1}',
    'tool: {name: horn}, verify: sensor, fallback: [{strategy: action, require: NAME > 1}]',
    'for_each: {n: "{{ facts.NAME }}"}, tool: {name: horn}',
    'flow: {flow: {flow: i, actions: {b: {motion: {server: s, type: a/action/B, goal: {x: {'
    'fact: NAME}}}, confirm: gap > 0}}}}',
])
@pytest.mark.parametrize('name', ['gap', 'gapp'])
def test_each_fact_that_a_flow_reads_is_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], action: str, name: str
) -> None:
    flow = tmp_path / 'flow.yaml'
    flow.write_text(f'flow: f\nactions:\n  a: {{{action.replace("NAME", name)}, '
                    'confirm: gap > 0.5}\n')
    facts = CONFIG / 'facts' / 'cell.yaml'
    assert main(['validate', str(flow), '--facts', str(facts)]) == (0 if name == 'gap' else 2)
    said = capsys.readouterr().err
    assert ("unknown name 'gapp'; did you mean 'gap'?" in said) is (name == 'gapp'), said


@pytest.mark.parametrize(('action', 'told'), [  # from the type of a publication on
    ('std_msgs/msg/String, rate: 5, until: "name > 1"}',
     "publish: 'name > 1', character 1: "),
    ('std_msgs/msg/Float64, message: {data: {expr: name + 1}}}',
     "publish: 'name + 1', character 1: "),
    ('std_msgs/msg/Float64, message: {data: {fact: name}}}',
     "message.data: 'name' is a text: expected a number, got "),
    ('std_msgs/msg/String, message: {data: {fact: gap}}}',
     "message.data: 'gap' is a number: expected a text, got "),
    ('std_msgs/msg/Float64, message: {data: {expr: gap > 1}}}',
     "message.data: 'gap > 1' is a boolean: expected a number, got "),
    ('std_msgs/msg/Int8, message: {data: {expr: gap * 200}}}', ''),
    ('geometry_msgs/msg/Point, message: {fact: place}}', ''),
    ('geometry_msgs/msg/Point, message: {x: {expr: "limit / 2"}}}, '
     'parameters: {limit: 3.0}', ''),
])
def test_the_kinds_of_facts_are_checked_in_what_is_sent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], action: str, told: str
) -> None:
    pytest.importorskip('rclpy')
    facts = tmp_path / 'facts.yaml'
    facts.write_text(
        'estop: none\nfacts:\n'
        '  gap: {topic: gap, type: std_msgs/msg/Float64, field: data, max_age: 1}\n'
        '  name: {topic: name, type: std_msgs/msg/String, field: data, max_age: 1}\n'
        '  place: {topic: place, type: geometry_msgs/msg/PoseStamped, field: pose.position}\n')
    flow = tmp_path / 'flow.yaml'
    flow.write_text(f'flow: f\nactions:\n  a: {{publish: {{topic: cmd, physical: true, type: '
                    f'{action}, confirm: gap > 0.5, stopped: gap < 1}}\n')
    code = main(['validate', str(flow), '--facts', str(facts)])
    said = capsys.readouterr().err
    assert (code, told in said) == (2 if told else 0, True), said
    assert not told or f'{flow}:3:' in said


def test_facts_that_were_not_checked_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flow = tmp_path / 'flow.yaml'
    flow.write_text('flow: x\nactions: {a: {confirm: gapp > 1}}\n')
    assert main(['validate', str(flow)]) == 0
    assert capsys.readouterr().out == (
        f'{flow}: ok (flow; names of facts unchecked, --facts FILE checks them)\n')
    flow.write_text('flow: x\nactions: {a: {confirm: gap > 1}}\n')
    assert main(['validate', str(flow), '--facts', str(CONFIG / 'facts' / 'cell.yaml')]) == 0
    assert capsys.readouterr().out == f'{flow}: ok (flow)\n'


STOPS = """\
flow: x
actions:
  a:
    motion:
      - {server: grip, type: control_msgs/action/GripperCommand}
      - {server: STRANGE, type: no_msgs/action/Go}
    STOPPED
    confirm: gap > 0
    fallback: [{strategy: action, motion: {server: other, type: no_msgs/action/Go}}]
  b:
    call: {service: lamp, type: no_msgs/srv/Light}
    confirm: gap > 0
"""


@pytest.mark.parametrize(('stopped', 'facts', 'said'), [
    ('', '', {(5, 'motion', 'grip'), (6, 'motion', 'strange'), (9, 'motion', 'other')}),
    ('stopped: gap > 0', '', set()),
    ('', 'no_msgs/action/Go: gap > 0', {(5, 'motion', 'grip')}),
    ('', 'control_msgs/action/GripperCommand: gap > 0, /strange: gap > 0',
     {(9, 'motion', 'other')}),
    ('', 'control_msgs/action/GripperCommand: gap > 0, no_msgs/action/Go: none', set()),
])
def test_what_nobody_sees_stand_is_a_warning(
    stopped: str, facts: str, said: set[tuple[int, str, str]], tmp_path: Path,
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr('action_lifecycle.cli.checking._field_kind', lambda: any_field)
    flow, known = tmp_path / 'flow.yaml', tmp_path / 'facts.yaml'
    flow.write_text(STOPS.replace('STOPPED', stopped).replace('STRANGE', 'strange'))
    known.write_text('estop: none\nfacts: {gap: {topic: t, type: std_msgs/msg/Float64, '
                     f'field: data}}}}\nstopped: {{{facts}}}\n')
    assert main(['validate', str(flow), '--facts', str(known)]) == 0
    output = capsys.readouterr()
    assert output.out == f'{flow}: ok (flow)\n'
    lines = output.err.splitlines()
    assert len(lines) == len(said)
    for line, kind, server in said:
        told, = (entry for entry in lines if f"'{server}'" in entry)
        assert told.startswith(f'{flow}:{line}:') and told.endswith('(warning)')
        assert f"action 'a', {kind}: no 'stopped'" in told
        assert 'write `stopped: {condition: …, hold: 0.2}`' in told
    assert main(['validate', str(flow)]) == 0
    assert not capsys.readouterr().err  # it is not known without facts


@pytest.mark.parametrize('condition', ['require', 'confirm', 'stopped', 'maintain'])
def test_a_hold_longer_than_its_time_is_found_without_the_robot(
    condition: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flow = tmp_path / 'flow.yaml'
    fields = {'motion': '{server: s, type: control_msgs/action/GripperCommand}',
              'confirm': 'gap > 0',
              condition: '{condition: gap > 1, within: 1, hold: 1.5}'}
    flow.write_text('flow: x\nactions:\n  a:\n' + ''.join(
        f'    {name}: {value}\n' for name, value in fields.items()))
    assert main(['validate', str(flow)]) == 2
    assert f"action 'a', {condition}: hold 1.5 is longer than within 1.0" in \
        capsys.readouterr().err


FLOW = """\
flow: x
parameters: {least: {default: 1}}
actions:
  a: {confirm: 'gap > {{ least }}'}
  b: {after: a, confirm: gap > 1}
"""


@pytest.mark.parametrize(('edit', 'place', 'said'), [
    ("- add: {c: {after: b, confirm: 'gap > {{ least }}'}}", '', ''),
    ('- ad: {}', '1:3', "unknown edit 'ad'; did you mean 'add'?"),
    ('- remove: [c]', '1:12', "the flow has no action 'c'"),
    ('- remove: [a]', '', "action 'b' waits for 'a'"),
    ('- update: {b: {aftr: a}}', '1:16', "unknown field 'aftr'; did you mean 'after'?"),
    ("- update: {b: {confirm: 'gap > {{ last }}'}}", '1:16', "'last' is undefined"),
    ('- depend: {a: b}', '1:12', 'actions wait for one another'),
    ('- update: {b: {confirm: gapp > 1}}', '1:16', "did you mean 'gap'?")])
def test_an_edit_is_checked_with_its_flow(
    edit: str, place: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flow, file = tmp_path / 'flow.yaml', tmp_path / 'edit.yaml'
    flow.write_text(FLOW)
    file.write_text(edit + '\n')
    arguments = ['validate', str(file), '--flow', str(flow), '--facts',
                 str(CONFIG / 'facts' / 'cell.yaml')]
    assert main(arguments) == (2 if said else 0)
    output = capsys.readouterr()
    if said:
        assert f'{file}:{place}' in output.err and said in output.err, output.err
    else:
        assert output.out == f'{file}: ok (edit)\n'


def test_without_its_flow_the_form_of_an_edit_is_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / 'edit.yaml'
    file.write_text('- remove: [c]\n- update: {b: {aftr: a}}\n')
    assert main(['validate', str(file)]) == 2
    assert f"{file}:2:16: action 'b': unknown field 'aftr'; did you mean 'after'?" in \
        capsys.readouterr().err
    file.write_text('- remove: [c]\n- update: {b: {after: a, motion: []}}\n'
                    '- add: {d: {call: {service: s, type: std_srvs/srv/Trigger}}}\n')
    assert main(['validate', str(file)]) == 0
    assert 'ok (edit; form only, --flow FILE checks it with its flow)' in capsys.readouterr().out


@pytest.mark.parametrize(('work', 'said'), [
    ('call: {service: s, type: std_srvs/srv/SetBool, request: {data: true}}', ''),
    ('call: {service: s, type: std_srvs/srv/SetBol}', "did you mean 'std_srvs/srv/SetBool'?"),
    ('call: {service: s, type: std_srvs/srv/SetBool, request: {dat: true}}',
     "request.dat: unknown field 'dat'"),
    ('call: {service: s, type: std_srvs/srv/SetBool, success: succes}',
     "success: 'succes', column 1: field path 'succes': "),
    ('call: {service: s, type: std_srvs/srv/SetBool, success: "message == part"}', ''),
    ('call: {service: s, type: std_srvs/srv/SetBool, success: "success == part"}',
     'they are never equal'),
    ('call: {service: x/clear_stop, type: action_lifecycle_msgs/srv/ClearStop}',
     'with which people control'),
    ('publish: {topic: s, type: std_msgs/msg/Float64, message: {data: 1}, finally: {data: x}}',
     "finally.data: expected a number, got 'x'"),
    ('publish: {topic: /rosout, type: rcl_interfaces/msg/Log}', 'a topic of ROS itself'),
])
def test_types_of_calls_and_publications_are_checked_without_a_robot(
    work: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip('std_srvs')
    file = tmp_path / 'flow.yaml'
    file.write_text('flow: f\nparameters: {part: {default: nut}}\n'
                    f'actions:\n  a: {{{work}}}\n')
    assert main(['validate', str(file)]) == (2 if said else 0)
    assert said in capsys.readouterr().err


def test_a_graph_with_state_types_of_its_own_names_their_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    states = tmp_path / 'states'
    states.mkdir()
    (states / 'state_wave_of_tests.py').write_text(
        'from action_lifecycle.engine import register_state, State\n\n\n'
        '@register_state\nclass WaveOfTests(State):\n    is_terminal = True\n')
    graph = tmp_path / 'graph.yaml'
    graph.write_text('initial: w\nstates:\n  w: {type: wave_of_tests}\n')
    assert main(['validate', str(graph)]) == 2
    assert "unknown state type 'wave_of_tests'" in capsys.readouterr().err
    assert main(['validate', str(graph), '--states', str(tmp_path / 'no')]) == 2
    assert "'" + str(tmp_path / 'no') + "' is not a folder of state types" in \
        capsys.readouterr().err
    assert main(['validate', str(graph), '--states', str(states)]) == 0
    assert main(['graph', str(graph), '--states', str(states)]) == 0
