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
      this.frame?.chart.setOption(coloured(this.options, this.palette), { notMerge: true });
    },
  },
};
