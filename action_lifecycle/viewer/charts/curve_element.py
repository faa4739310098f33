# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The element of a page that shows a chart of a condition."""

from __future__ import annotations

from nicegui.element import Element
import nicegui.elements.echart  # noqa: F401  # makes ECharts known to the browser

from .curves import CurveChart
from .palette import PALETTE


class CurveElement(Element, component='curve_chart.js', dependencies=['chart_base.js']):
    """A chart with the colours of the page's theme; screen readers read its text."""

    def __init__(self, chart: CurveChart) -> None:
        super().__init__()
        self._props['palette'] = PALETTE
        self.style(f'width: 100%; height: {chart.height}px')
        self._props['options'] = chart.options
        self._props['label'] = chart.text
        self._update_method = 'draw'
