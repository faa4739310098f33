# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Why a fact has no value although messages arrive: old stamps, simulated time, frames."""

from __future__ import annotations

from action_lifecycle.world import Validity, WorldModel
from action_lifecycle.world.unmet_conditions import silence, Topics
import pytest

from . import messages
from .gripper import gap

TODAY = 1.8e9  #: s
STILL = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)
UNPUBLISHED = Topics({'/tf': '/r1/tf'}, lambda topic: 'nobody publishes it')
PUBLISHED = Topics({}, lambda topic: '')


def why(model: WorldModel, name: str, now: float, topics: Topics = PUBLISHED) -> str:
    fact = model.value(name, now)
    assert fact.validity is not Validity.VALID
    return silence(fact, now, topics)


@pytest.mark.parametrize(('stamp', 'told'), [
    (TODAY - 3.0, 'messages arrive on joint_states, but their stamps are 3 s old: look at the '
     'clocks of the machines'),
    (TODAY - 0.5, 'messages arrive on joint_states, but their stamps are 0.5 s old: look at the '
     'clocks of the machines'),
    (12.0, 'messages arrive on joint_states, but their stamps are 12.1 s, those of a simulation, '
     'and this node reads the clock of its machine: set use_sim_time alike'),
])
def test_stamps_that_are_too_old_when_they_come_are_no_silence(
    model: WorldModel, stamp: float, told: str
) -> None:
    for index in range(3):
        gap(model, 0.02, stamp + 0.05 * index, TODAY + 0.05 * index)
    assert why(model, 'gap', TODAY + 0.12) == told
    assert why(model, 'gap_mm', TODAY + 0.12) == f"'gap' is stale: {told}"


def test_a_silence_is_counted_from_the_last_arrival(model: WorldModel) -> None:
    gap(model, 0.02, TODAY, TODAY)
    assert why(model, 'gap', TODAY + 0.6) == 'joint_states has been silent for 0.6 s'
    gap(model, 0.02, TODAY + 1.0, TODAY + 4.0)
    assert why(model, 'gap', TODAY + 10.0) == (
        'joint_states has been silent for 6 s, and its last stamp was 3 s old: look at the clocks '
        'of the machines')


def test_stamps_that_are_old_but_valid_when_they_come_are_no_silence(model: WorldModel) -> None:
    gap(model, 0.02, TODAY - 0.4, TODAY)
    assert why(model, 'gap', TODAY + 0.2) == (
        'messages arrive on joint_states, but their stamps are 0.4 s old: look at the clocks of '
        'the machines')


def test_stamps_that_are_repeated_or_set_back_are_no_silence(model: WorldModel) -> None:
    for back in (0.0, 0.5):
        for index in range(20):
            gap(model, 0.02, TODAY - (back if index else 0.0), TODAY + 0.1 * index)
        assert why(model, 'gap', TODAY + 2.0) == (
            'the newest stamp on joint_states is 2 s old; messages arrive, but none has a newer '
            'stamp: a publisher repeats its stamps, or its clock was set back')
        assert why(model, 'gap', TODAY + 12.0) == 'joint_states has been silent for 12 s'
        model.advance(TODAY - 10.0)  # drops all samples


def test_an_expression_names_the_fact_that_has_no_value(model: WorldModel) -> None:
    unseen = Topics({'joint_states': '/r1/joint_states'}, lambda topic: 'nobody publishes it')
    assert why(model, 'gap_mm', TODAY, unseen) == (
        "'gap' is unknown: no sample on /r1/joint_states yet (nobody publishes it)")


def test_a_pose_without_a_transform_names_what_is_missing(model: WorldModel) -> None:
    assert why(model, 'tool', 1.0, UNPUBLISHED) == \
        'no sample on /r1/tf yet (nobody publishes it)'
    model.ingest('/tf_static', messages.transforms(0.0, base=('world', *STILL)), 1.0)
    missing = "no transform names the frame 'tool'; there are base, world"
    assert why(model, 'tool', 1.0) == missing
    assert why(model, 'tool', 1.0, UNPUBLISHED) == f'{missing} (/r1/tf: nobody publishes it)'
    model.ingest('/tf', messages.transforms(1.1, tool=('flange', *STILL)), 1.1)
    assert why(model, 'tool', 1.1) == "no transforms connect 'tool' to 'world'"


def test_a_pose_is_old_by_its_oldest_transform(model: WorldModel) -> None:
    model.ingest('/tf', messages.transforms(
        TODAY, base=('world', *STILL), tool=('base', *STILL)), TODAY)
    for index in range(20):
        now = TODAY + 0.1 * index
        model.ingest('/tf', messages.transforms(now, base=('world', *STILL)), now)
    assert why(model, 'tool', TODAY + 1.9) == (
        "the pose from /tf is 1.9 s old; the oldest transform is that of 'tool' in "
        "'base'")
    model.ingest('/tf', messages.transforms(TODAY + 2.0, tool=('base', *STILL)), TODAY + 5.0)
    model.ingest('/tf', messages.transforms(TODAY + 5.0, base=('world', *STILL)), TODAY + 5.0)
    assert why(model, 'tool', TODAY + 5.1).startswith(
        'messages arrive on /tf, but their stamps are 3 s old')
