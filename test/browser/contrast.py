# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Measures the contrast of what a page shows as text, in its colours as the browser has them."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

LEAST = 4.5  #: WCAG 2.2, 1.4.3
WAIT = 10.0  #: s

MEASURE = """wanted => {
    const canvas = Object.assign(document.createElement('canvas'), { width: 1, height: 1 });
    const pen = canvas.getContext('2d', { willReadFrequently: true });
    const known = new Map();
    const rgba = colour => {
        if (!known.has(colour)) {
            pen.clearRect(0, 0, 1, 1);
            pen.fillStyle = colour;
            pen.fillRect(0, 0, 1, 1);
            const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
            known.set(colour, [r, g, b, a / 255]);
        }
        return known.get(colour);
    };
    const over = ([r, g, b, a], below, opacity = 1) =>
        [r, g, b].map((part, at) => part * a * opacity + below[at] * (1 - a * opacity));
    const light = colour => colour.map(part => part / 255)
        .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
        .reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
    const ratio = (one, other) => {
        const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
        return (high + 0.05) / (low + 0.05);
    };
    const outer = node => node.parentElement ?? node.getRootNode().host ?? null;
    const chain = node => node ? [...chain(outer(node)), node] : [];
    const inside = (node, css) => chain(node).some(one => one.matches(css));
    const opacity = node => chain(node).reduce(
        (all, one) => all * getComputedStyle(one).opacity, 1);
    const behind = node => {
        let back = [255, 255, 255];
        for (const one of chain(node))
            back = over(rgba(getComputedStyle(one).backgroundColor), back);
        const card = node.closest('g.box')?.querySelector(':scope > .card');
        return card ? over(rgba(getComputedStyle(card).fill), back) : back;
    };
    const everything = root => [...root.querySelectorAll('*')].flatMap(
        one => [one, ...(one.shadowRoot ? everything(one.shadowRoot) : [])]);
    const found = [], missing = new Set(wanted);
    const measure = (node, colour, text) => {
        for (const css of missing) if (inside(node, css)) missing.delete(css);
        const back = behind(node), front = over(rgba(colour), back, opacity(node));
        const path = chain(node).slice(-3).map(one => [
            one.localName, ...(one.getAttribute('class') ?? '').split(/ +/)].join('.')).join(' ');
        found.push([text.slice(0, 40), path, ratio(front, back), front.map(Math.round),
                    back.map(Math.round)]);
    };
    for (const node of everything(document.body)) {
        if (!node.checkVisibility?.({ opacityProperty: true, visibilityProperty: true })
            || !node.getClientRects().length || inside(node, SKIPPED)) continue;
        const style = getComputedStyle(node);
        if (/^(INPUT|TEXTAREA)$/.test(node.tagName)) {
            if (node.value) measure(node, style.color, node.value);
            else if (node.placeholder)
                measure(node, getComputedStyle(node, '::placeholder').color, node.placeholder);
        } else {
            const text = [...node.childNodes].filter(one => one.nodeType === Node.TEXT_NODE)
                .map(one => one.data.trim()).join('');
            if (text) measure(node, node instanceof SVGElement ? style.fill : style.color, text);
        }
    }
    for (const node of document.querySelectorAll('.timeline-chart')) {
        const own = node.component, { xAxis, yAxis } = own.frame.chart.getOption();
        for (const [name, axis] of [['time', xAxis[0]], ['action', yAxis[0]]])
            measure(node, axis.axisLabel.color, `axis: ${name}`);
        const dark = document.body.classList.contains('body--dark');
        for (const kind of own.kinds.filter(kind => kind.shape !== 'wait' && kind.shape !== 'end'))
            found.push([kind.name, 'bar', ratio(rgba(dark ? '#10151b' : '#ffffff').slice(0, 3),
                        rgba(own.colour(kind)).slice(0, 3)), dark, own.colour(kind)]);
    }
    return [found, [...missing]];
}""".replace('SKIPPED', repr(
    # icons; what can't be used now, which WCAG exempts; labels on the canvas of the 3D scene
    'script, style, noscript, title, .q-icon, .order-off, [aria-disabled=true], '
    '[disabled], .disabled, .scene'))


class Text(NamedTuple):
    """A text of a page; colours in red, green, blue."""

    text: str
    element: str
    ratio: float
    colour: Any
    background: Any


def texts(page: Any, *wanted: str) -> list[Text]:
    """
    Return all texts that are shown, with the contrast to what is behind them.

    Waits until there is one in each of the `wanted` elements (selectors).
    """
    end = time.monotonic() + WAIT
    while True:
        found, missing = page.evaluate(MEASURE, wanted)
        if not missing:
            return [Text(*each) for each in found]
        assert time.monotonic() < end, f'no text in {missing}'
