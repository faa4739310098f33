# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Looks of states: each can be told from the others, by shape and by colour, and be read."""

from __future__ import annotations

import colorsys
from itertools import combinations
from pathlib import Path
import re

from action_lifecycle.lifecycle.states import ActionOutcome, ActionState
from action_lifecycle.report.looks import (
    ACTION_LOOKS,
    bar_style,
    DARK_BACKGROUND,
    FLOW_LOOKS,
    LIGHT_BACKGROUND,
    LOOKS,
    MET,
    MET_WORDS,
    NOT_MET,
)
from action_lifecycle.report.pictures import STATES
from action_lifecycle.viewer.charts import palette
from action_lifecycle.viewer.looks import flow_look, look_of, style_sheet
from action_lifecycle.viewer.record.shown import FlowShown, Shown
import pytest

# What people with protanopia, deuteranopia and tritanopia see; linear RGB, Machado et al. (2009)
BLINDNESS = {
    'none': ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    'protanopia': ((.152286, 1.052583, -.204868), (.114503, .786281, .099216),
                   (-.003882, -.048116, 1.051998)),
    'deuteranopia': ((.367322, .860646, -.227968), (.280085, .672501, .047413),
                     (-.011820, .042940, .968881)),
    'tritanopia': ((1.255528, -.076749, -.178779), (-.078411, .930809, .147602),
                   (.004733, .691367, .303900)),
}


def linear(colour: str) -> list[float]:
    parts = [int(colour[at:at + 2], 16) / 255 for at in (1, 3, 5)]
    return [part / 12.92 if part <= .04045 else ((part + .055) / 1.055) ** 2.4 for part in parts]


def luminance(colour: str) -> float:
    return sum(weight * part for weight, part in zip((.2126, .7152, .0722), linear(colour)))


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + .05) / (low + .05)


def lab(colour: str, blindness: str) -> list[float]:
    """Return CIE Lab (D65) of a colour as people with a colour blindness see it."""
    rgb = linear(colour)
    seen = [min(max(sum(a * b for a, b in zip(row, rgb)), 0), 1) for row in BLINDNESS[blindness]]
    xyz = [sum(a * b for a, b in zip(row, seen)) / white for row, white in zip(
        ((.4124, .3576, .1805), (.2126, .7152, .0722), (.0193, .1192, .9505)),
        (.9505, 1, 1.089))]
    x, y, z = (part ** (1 / 3) if part > .008856 else 7.787 * part + 16 / 116 for part in xyz)
    return [116 * y - 16, 500 * (x - y), 200 * (y - z)]


def apart(one: str, other: str, blindness: str) -> float:
    return sum((a - b) ** 2 for a, b in zip(lab(one, blindness), lab(other, blindness))) ** .5


@pytest.mark.parametrize('look', LOOKS.values(), ids=LOOKS)
def test_text_in_the_colour_of_a_look_can_be_read(look) -> None:
    assert contrast(look.light, LIGHT_BACKGROUND) >= 4.5
    assert contrast(look.light, '#f6f7f9') >= 4.5  # the page behind the cards
    assert contrast(look.dark, DARK_BACKGROUND) >= 4.5


@pytest.mark.parametrize('family', [ACTION_LOOKS, FLOW_LOOKS], ids=['actions', 'flows'])
def test_looks_differ_in_shape_and_label(family: tuple[str, ...]) -> None:
    looks = [LOOKS[name] for name in family]
    assert len({look.symbol for look in looks}) == len(looks)
    assert len({look.label for look in looks}) == len(looks)
    assert len({look.css for look in LOOKS.values()}) == len(LOOKS)


@pytest.mark.parametrize('blindness', BLINDNESS)
def test_outcomes_differ_in_colour_also_for_the_colour_blind(blindness: str) -> None:
    told_apart = [LOOKS[name] for name in ('succeeded', 'failed', 'canceled', 'executing_motion')]
    for one, other in combinations(told_apart, 2):
        assert apart(one.light, other.light, blindness) > 10, (one.name, other.name)
        assert apart(one.dark, other.dark, blindness) > 10, (one.name, other.name)


@pytest.mark.parametrize('blindness', BLINDNESS)
def test_bars_and_curves_of_pictures_differ_also_for_the_colour_blind(blindness: str) -> None:
    assert all(apart(*colours, blindness) > 20 for colours in zip(MET, NOT_MET))
    styles = {look.name: bar_style(look) for look in STATES.values()}
    for (name, one), (other, two) in combinations(styles.items(), 2):
        told_apart = apart(one['facecolor'], two['facecolor'], blindness) > 10
        assert told_apart or one['hatch'] != two['hatch'], (name, other)


def test_each_state_and_outcome_has_its_look() -> None:
    names = {look_of(Shown(state.value)).name for state in ActionState
             if state is not ActionState.TERMINATED}
    ends = {look_of(Shown('terminated', outcome.value)).name for outcome in ActionOutcome}
    assert ends == {outcome.value for outcome in ActionOutcome}
    assert names | ends | {'blocked'} == set(ACTION_LOOKS)
    assert look_of(Shown('terminated')).name == 'failed'  # as in the ledger
    assert look_of(Shown('state of a later version')).name == 'waiting'


@pytest.mark.parametrize(('state', 'name'), [
    ('assigned', 'blocked'), ('in_progress', 'blocked'), ('pending', 'pending'),
    ('executing_motion', 'executing_motion'), ('terminated', 'succeeded')])
def test_blocked_is_what_waits_for_resources_or_people(state: str, name: str) -> None:
    outcome = 'succeeded' if state == 'terminated' else ''
    assert look_of(Shown(state, outcome, waits_for='dependency: arm is locked')).name == name


def test_a_paused_flow_is_paused_until_it_ends() -> None:
    assert flow_look(FlowShown('CONTINUE', paused=True)).name == 'paused'
    assert flow_look(FlowShown('FAIL', paused=True)).name == 'FAIL'
    assert flow_look(FlowShown('CONTINUE')).name == 'CONTINUE'


def test_symbols_are_paths_within_their_box() -> None:
    for look in LOOKS.values():
        assert re.fullmatch(r'[MmLlHhVvCcSsAaZz0-9 .\-]+', look.symbol), look.name
        assert look.symbol.startswith('M')


@pytest.mark.parametrize('dark', ['.body--dark', ''])
def test_the_style_sheet_has_each_colour(dark: str) -> None:
    css = style_sheet(dark)
    assert css.count('{') == css.count('}')
    for look in LOOKS.values():
        assert f'.{look.css}{{--look:{look.light};' in css
        assert f'.{look.css}{{--look:{look.dark}}}' in css


def test_the_words_for_the_colours_of_curves_are_their_names() -> None:
    for colours, name in (MET, 'blue'), (NOT_MET, 'orange'):
        for colour in colours:
            red, green, blue = (int(colour[place:place + 2], 16) for place in (1, 3, 5))
            hue = colorsys.rgb_to_hsv(red / 255, green / 255, blue / 255)[0] * 360
            assert {'blue': 190 < hue < 250, 'orange': 20 < hue < 40}[name], colour
    assert MET_WORDS == 'blue: met, orange: not met'
    pages = Path(palette.__file__).parents[1]
    for file in pages.rglob('*.py'):
        assert not re.search(r'\b(green|red): ', file.read_text(encoding='utf-8')), file
