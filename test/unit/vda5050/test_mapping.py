# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The mapping file: its faults have their places; the table of fields is that of the schemas."""

from __future__ import annotations

import json
import os
from pathlib import Path
import re

from action_lifecycle.cli import main
from action_lifecycle.documents.errors import DocumentError
from action_lifecycle.vda5050.factsheet import factsheet
from action_lifecycle.vda5050.fields import ACTION_STATUS, faults, FIELDS, schema
from action_lifecycle.vda5050.identity import Identity, level_fault, serial_fault
from action_lifecycle.vda5050.mapping import read_mapping
import pytest

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / 'config' / 'vda5050' / 'nav2.yaml'
FACTS = ROOT / 'config' / 'stacks' / 'nav2' / 'facts.yaml'
SCHEMAS = os.environ.get('VDA5050_SCHEMAS', '')


def changed(tmp_path, before, after):
    text = EXAMPLE.read_text()
    assert before in text
    path = tmp_path / 'mapping.yaml'
    path.write_text(text.replace(before, after, 1))
    with pytest.raises(DocumentError) as failed:
        read_mapping(path)
    return failed.value.faults


@pytest.mark.parametrize(('before', 'after', 'place', 'expected'), [
    ('vda5050: 1', 'vda5050: 2', 'vda5050: 2', 'expected at most 1'),
    ('{{ y }}', '{{ yy }}', '{{ yy }}', "'yy' is undefined"),
    ('  confirm:\n', '  after: [other]\n  confirm:\n', 'after: [other]',
     "'after' comes from the order"),
    ('deviation_xy', 'deviation_xy +', 'deviation_xy +', 'drive'),
    (', map: map}', '}', 'position:', 'map'),
    ('  battery: {charge', '  map: hall\n  battery: {charge', 'state:',
     'expected the map that the robot drives on'),
    ('scopes: [NODE]', 'scopes: [NODES]', '[NODES]', "expected one of 'NODE', 'EDGE', 'INSTANT'"),
    ('startCharging:', 'cancelOrder:', 'cancelOrder:', "'cancelOrder' needs no entry"),
    ('      dock: {type', '      x: {type', 'x: {type', "'x' can not be the name of a parameter"),
    ('{{ dock }}', '{{ dok }}', '{{ dok }}', "'dok' is undefined"),
    ('  battery: {charge: battery * 100, charging: charging}', '  batery: {charge: 1}', 'batery',
     "unknown field 'batery'"),
    ('charge: battery * 100', "charge: 'battery *'", 'battery *', 'invalid syntax'),
    ('agvKinematic: DIFF', 'agvKinematic: LEGS', 'typeSpecification:', "'LEGS' is not one of"),
    ('    speedMax: 0.5\n', '', 'physicalParameters:', "'speedMax' is a required property"),
])
def test_a_fault_has_its_line(tmp_path, before, after, place, expected):
    found = changed(tmp_path, before, after)
    matching = [fault for fault in found if expected in fault.message]
    assert matching, found
    lines = (tmp_path / 'mapping.yaml').read_text().splitlines()
    assert any(place in lines[fault.line - 1] for fault in matching), matching


def test_the_example_is_valid_and_its_factsheet_is_as_the_table_says():
    mapped = read_mapping(EXAMPLE)
    message = Identity('uagv', 'acme', '1').message('factsheet', factsheet(mapped, 30.0, 1.0))
    assert faults('factsheet', message) == []
    kinds = {one['actionType']: one for one in message['protocolFeatures']['agvActions']}
    assert kinds['startCharging']['actionParameters'][0]['isOptional']
    assert kinds['cancelOrder']['actionScopes'] == ['INSTANT']


def validated(tmp_path, capsys, mapping, facts):
    """Return exit code, output and errors of `validate` for texts of both files."""
    paths = [tmp_path / 'mapping.yaml', tmp_path / 'facts.yaml']
    for path, text in zip(paths, (mapping, facts)):
        path.write_text(text)
    code = main(['validate', str(paths[0]), '--facts', str(paths[1])])
    return code, *capsys.readouterr()


READ_ALWAYS = re.sub(r'^  (at|heading|battery|battery_status): *(\{?)',
                     lambda found: f'{found[0]}always: true, ' if found[2]
                     else f'{found[0]}\n    always: true', FACTS.read_text(), flags=re.M)


def test_the_example_fits_the_facts_of_nav2_if_they_are_read_all_the_time(tmp_path, capsys):
    mapping = EXAMPLE.read_text()
    assert validated(tmp_path, capsys, mapping, READ_ALWAYS) == (
        0, f"{tmp_path / 'mapping.yaml'}: ok (vda5050)\n", '')
    code, _, errors = validated(tmp_path, capsys, mapping, FACTS.read_text())
    assert code == 2
    lines = mapping.splitlines()
    for name, place in (('battery', 'battery:'), ('charging', 'battery:'), ('at', 'position:'),
                        ('heading', 'position:')):
        found = next(one for one in errors.splitlines() if f"fact '{name}'" in one)
        assert "needs 'always: true' in the facts file" in found
        assert place in lines[int(found.split(':')[1]) - 1], found
    assert main(['validate', str(EXAMPLE)]) == 0
    assert capsys.readouterr().out.endswith(
        ': ok (vda5050; names of facts unchecked, --facts FILE checks them)\n')


@pytest.mark.parametrize(('before', 'after', 'field', 'expected'), [
    ('charging: charging}', 'charging: chargin}', 'state.battery.charging',
     "unknown name 'chargin'; did you mean 'charging'?"),
    ("x: 'at[0]'", "x: 'att[0]'", 'state.position.x', "unknown name 'att'"),
    ('require: battery > 0.1', 'require: batery > 0.1', "'drive', require",
     "unknown name 'batery'"),
    ('condition: charging, hold', 'condition: chargin, hold', "'startCharging', confirm",
     "unknown name 'chargin'"),
])
def test_facts_that_are_not_in_the_facts_file_are_faults(
    tmp_path, capsys, before, after, field, expected
):
    mapping = EXAMPLE.read_text()
    assert before in mapping
    mapping = mapping.replace(before, after, 1)
    code, _, errors = validated(tmp_path, capsys, mapping, READ_ALWAYS)
    fault, = errors.splitlines()
    assert code == 2 and expected in fault and field in fault
    assert after.split(':')[0] in mapping.splitlines()[int(fault.split(':')[1]) - 1]


@pytest.mark.parametrize(('charge', 'limits', 'reported'), [
    ('battery', '{range: [0.0, 1.0]}', '1 %'), ('battery * 100', '{range: [0.0, 100.0]}', '10000'),
    ('battery * 100', "{}, unit: '%'", '10000'), ('battery', "{}, unit: '%'", ''),
    ('battery', '{range: [0.0, 100.0]}', ''), ('battery * 100', '{range: [0.0, 1.0]}', ''),
    ('battery * 100', '{}', ''),  # not known
])
def test_a_charge_that_is_no_percentage_is_a_fault(tmp_path, capsys, charge, limits, reported):
    mapping = EXAMPLE.read_text().replace('battery * 100', charge)
    facts = READ_ALWAYS.replace('health: {range: [0.0, 1.0]}', f'health: {limits}')
    assert facts != READ_ALWAYS or '1.0]' in limits
    facts = facts.replace('health: {}, unit', 'unit').replace('health: {}', 'unit: ""')
    code, _, errors = validated(tmp_path, capsys, mapping, facts)
    assert (code == 2, f'a full battery would be reported as {reported}' in errors) == (
        bool(reported), bool(reported)), errors
    if reported:
        fault, = errors.splitlines()
        assert 'battery:' in mapping.splitlines()[int(fault.split(':')[1]) - 1]


def test_all_unknown_facts_of_a_mapping_file_are_reported_at_once(tmp_path, capsys):
    code, _, errors = validated(tmp_path, capsys, EXAMPLE.read_text(), 'estop: none\nfacts: {}\n')
    assert code == 2
    for name in ('battery', 'charging', 'at', 'heading', 'still'):
        assert f"unknown name '{name}'" in errors


def test_headers_are_counted_for_each_topic():
    identity = Identity('uagv', 'acme', '1')
    numbers = [identity.message(topic, {})['headerId'] for topic in ('state', 'order', 'state')]
    assert numbers == [1, 1, 2]
    assert identity.topic('state') == 'uagv/v2/acme/1/state'
    assert identity.short('uagv/v2/acme/1/order') == 'order'


@pytest.mark.parametrize('text', ['', 'a/b', 'a+', '#', '$SYS', 'x' * 101])
def test_names_that_are_no_level_of_a_topic_are_refused(text):
    assert level_fault(text) and serial_fault(text)
    assert not level_fault('Müller AG') and serial_fault('Müller AG')


# The published schemas, where a checkout is given


def published(topic):
    if not SCHEMAS:
        pytest.skip('VDA5050_SCHEMAS names no folder json_schemas of a checkout of VDA5050 2.1')
    return json.loads((Path(SCHEMAS) / f'{topic}.schema').read_text(encoding='utf-8'))


def flattened(node, root, path=''):
    """Yield place, whether it is required, and the enum of each field."""
    if '$ref' in node:
        node = root['definitions'][node['$ref'].rpartition('/')[2]]
    for name, of in node.get('properties', {}).items():
        yield f'{path}.{name}', name in node.get('required', ()), of.get('enum')
        yield from flattened(of, root, f'{path}.{name}')
        yield from flattened(of.get('items', {}), root, f'{path}.{name}[]')


@pytest.mark.parametrize('topic', FIELDS)
def test_the_table_agrees_with_the_published_schema(topic):
    theirs = {place: (required, enum)
              for place, required, enum in flattened(published(topic), published(topic))}
    ours = {place: (required, enum)
            for place, required, enum in flattened(schema(FIELDS[topic]), {})}
    assert ours.keys() - theirs.keys() == set()
    headers = {f'.{name}' for name in ('headerId', 'timestamp', 'version', 'manufacturer',
                                       'serialNumber')}  # not required everywhere: we send them
    for place, (required, enum) in ours.items():
        if place not in headers:
            assert required is theirs[place][0], place
        if enum and [*enum] == [*ACTION_STATUS]:
            assert {*enum} - {*theirs[place][1]} == {'PAUSED'}  # their schema lacks it
        elif enum:
            assert {*enum} == {*theirs[place][1]}, place
    below = [place for place, (required, _) in theirs.items()
             if required and place not in ours and place.rpartition('.')[0] in ours]
    if topic not in ('order', 'instantActions'):  # these are read, not sent
        assert not below, 'required there, and not in the table'
