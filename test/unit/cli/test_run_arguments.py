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

"""What `run` makes of its arguments, before it asks any node."""

from __future__ import annotations

from typing import Any

from action_lifecycle.cli import main
import pytest


@pytest.mark.parametrize(('arguments', 'said'), [
    ((), 'either FLOW, --reuse NAME or --request WORDS'),
    (('x', '--reuse', 'y'), 'either FLOW'), (('x', '--request', 'y'), 'either FLOW'),
    (('x', '-p', 'force'), 'expected NAME=VALUE'), (('x', '--set', 'force=[1'), 'not YAML')])
def test_arguments_that_do_not_go_together_are_bad_input(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(['run', *arguments]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(('text', 'value'), [
    ('8', 8), ('8.0', 8.0), ('true', True), ('on', 'on'), ('1:30', '1:30'), ("'8'", '8'),
    ('[1, 2]', [1, 2]), ('a b', 'a b'), ('', ''), ('a=b', 'a=b'), ('2027-01-31', '2027-01-31')])
def test_the_type_of_a_parameter_is_that_of_yaml(text: str, value: Any) -> None:
    run = pytest.importorskip('action_lifecycle.cli.run')
    assert run._parameter(f'name={text}') == ('name', value)
