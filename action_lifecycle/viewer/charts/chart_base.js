// SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
// SPDX-License-Identifier: Apache-2.0

// What the charts share: colours of the page's theme, size, and disposal.

import { echarts } from "nicegui-echart";

export const isDark = () => document.body.classList.contains("body--dark");

// Return options with the names of colours replaced; only values of colour options are names.
export function coloured(value, palette, dark = isDark(), key = "") {
  if (typeof value === "string") {
    return /color$/i.test(key) && palette[value] ? palette[value][dark ? 1 : 0] : value;
  }
  if (Array.isArray(value)) {
    return key === "data" && typeof value[0]?.[0] === "number"
      ? value // points
      : value.map((item) => coloured(item, palette, dark, key));
  }
  if (value && typeof value === "object") {
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [name, coloured(item, palette, dark, name)])
    );
  }
  return value;
}

// Draw a chart in an element, and again with another theme or size.
export class ChartFrame {
  constructor(element, draw) {
    this.chart = echarts.init(element, null, { renderer: "canvas" });
    this.sizes = new ResizeObserver(() => {
      if (element.clientWidth && element.clientHeight) {
        this.chart.resize();
        draw(false);
      }
    });
    this.sizes.observe(element);
    let dark = isDark();
    this.themes = new MutationObserver(() => {
      if (dark !== isDark()) {
        dark = isDark();
        draw(true);
      }
    });
    this.themes.observe(document.body, { attributeFilter: ["class"] });
  }
  dispose() {
    this.sizes.disconnect();
    this.themes.disconnect();
    this.chart.dispose();
  }
}
