// SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
// SPDX-License-Identifier: Apache-2.0

import { ChartFrame, coloured } from "chart_base";

export default {
  template: '<div role="img" tabindex="0" :aria-label="label"></div>',
  props: { options: Object, palette: Object, label: String },
  mounted() {
    this.$el.component = this; // for tests
    this.frame = new ChartFrame(this.$el, () => this.draw());
    this.draw();
  },
  beforeUnmount() {
    this.frame.dispose();
  },
  methods: {
    draw() {
      const options = coloured(this.options, this.palette);
      // A title ends before what is said at its right.
      const said = new Map(options.title.filter((one) => one.right !== undefined)
        .map((one) => [one.top, 8 * one.text.length + 24]));
      for (const one of options.title.filter((each) => each.left !== undefined)) {
        one.textStyle = { ...one.textStyle, overflow: "truncate",
          width: Math.max(60, this.$el.clientWidth - one.left - 16 - (said.get(one.top) ?? 0)) };
      }
      this.frame?.chart.setOption(options, { notMerge: true });
    },
  },
};
