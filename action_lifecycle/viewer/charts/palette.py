# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Colours of charts by name, for light and dark pages.

An option of a chart names a colour (`'@bad'`), which the browser replaces by that of its theme.
Of the colours for data, people with any colour vision can tell `met`, `bad` and `line` apart.
"""

from __future__ import annotations

from ...report.looks import MET, NOT_MET

PALETTE: dict[str, tuple[str, str]] = {
    '@text': ('#1c2129', '#e6e9ee'),
    '@muted': ('#59636f', '#a5aeba'),
    '@grid': ('#e3e6eb', '#2f353f'),
    '@axis': ('#a9b1bc', '#565f6b'),
    '@back': ('#ffffff', '#1d2128'),
    '@line': ('#3e4c59', '#cbd2d9'),
    '@met': MET,
    '@bad': NOT_MET,
    '@unknown': ('#7b8794', '#8b98a8'),
    '@limit': ('#1f2933', '#f5f7fa'),
    '@window': ('rgba(204,153,0,0.16)', 'rgba(240,200,80,0.16)'),
    '@moment': ('#c2185b', '#ff80ab'),
}
