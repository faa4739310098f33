// SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
// SPDX-License-Identifier: Apache-2.0

// A Gantt chart that gets only changed rows. A piece is [kind, start, end, attempt], in ms.

import { ChartFrame, coloured, isDark } from "chart_base";

const ROW = 24, BAR = 14, TOP = 6, BOTTOM = 50, LABEL = 12;

// The patterns of PieceKind.hatch; timeline.css has them for the legend.
const LINES = { dashArrayX: [1, 0], dashArrayY: [2, 4] };
const DECALS = {
  slash: { ...LINES, rotation: -Math.PI / 4 },
  backslash: { ...LINES, rotation: Math.PI / 4 },
  upright: { ...LINES, rotation: Math.PI / 2 },
  dots: { symbol: "circle", symbolSize: 0.7, dashArrayX: [[5, 5], [0, 5, 5, 0]], dashArrayY: [5, 0] },
  checks: { symbol: "rect", symbolSize: 1, dashArrayX: [[4, 4], [0, 4, 4, 0]], dashArrayY: [4, 0] } };

const indented = (label, depth) => "\u2003".repeat(depth) + label;

const pen = document.createElement("canvas").getContext("2d");
const textWidth = (text) => {
  pen.font = `${LABEL}px sans-serif`;
  return pen.measureText(text).width;
};

const clock = (ms) =>
  new Date(ms).toLocaleTimeString([], {
    hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 1,
    hourCycle: "h23" });

const duration = (ms) =>
  ms < 60e3 ? `${(ms / 1e3).toPrecision(3)} s` : `${Math.floor(ms / 60e3)} min ${Math.round(
    (ms % 60e3) / 1e3)} s`;

export default {
  template: `<div role="group" tabindex="0" :aria-label="label" @keydown="key"></div>`,
  props: {
    rows: Array, pieces: Array, kinds: Array, palette: Object, zero: Number, offset: Number,
    shown: Array, chosen: Number, label: String, version: Number },
  emits: ["pick", "go"],
  mounted() {
    this.$el.component = this; // for tests
    this.images = {};
    this.drawn = ""; // what the drawn chart depends on; empty: there is none
    this.frame = new ChartFrame(this.$el, (theme) => (theme ? this.draw() : this.fit()));
    const chart = this.frame.chart;
    chart.on("click", (event) => {
      const row = event.seriesId === "pieces" ? event.value[0]
        : event.componentType === "yAxis" ? Number(event.value) : -1;
      if (row >= 0) this.$emit("pick", { row });
    });
    chart.getZr().on("click", (event) => {
      const place = [event.offsetX, event.offsetY];
      if (!event.target && chart.containPixel({ gridIndex: 0 }, place)) {
        const time = chart.convertFromPixel({ xAxisIndex: 0 }, event.offsetX);
        this.$emit("go", { time: time - this.base });
      }
    });
    this.timer = setInterval(() => this.tick(), 1000);
    this.load();
  },
  beforeUnmount() {
    clearInterval(this.timer);
    this.frame.dispose();
  },
  watch: { version() { this.load(); } },
  methods: {
    load() {
      this.own = this.pieces.slice();
      // the time of the robot's clock, as if it were that of the browser
      this.base = this.zero + this.offset + 60e3 * new Date(this.zero).getTimezoneOffset();
      this.show(this.shown);
      this.row = this.chosen ?? null;
      this.widest = Math.max(30, ...this.rows.map(([label, depth]) => textWidth(indented(label, depth))));
      this.$el.style.maxHeight = `${ROW * Math.max(2, this.rows.length) + TOP + BOTTOM + 2}px`;
      this.draw();
    },
    // See GanttTime.
    show([last, live, moment]) {
      this.clock = { last, at: performance.now(), live };
      this.at = moment;
    },
    // Replace the pieces of rows: [[row, pieces], ...]; chosen row (null: none).
    change(changed, shown, chosen, label) {
      if (!this.own) return;
      for (const [row, pieces] of changed) this.own[row] = pieces;
      this.show(shown);
      this.$el.setAttribute("aria-label", label);
      if (this.drawn) this.renew();
      this.choose(chosen);
    },
    choose(row) {
      const moved = row !== this.row && row !== null;
      this.row = row;
      if (!this.drawn) return;
      this.frame.chart.setOption({ series: this.pointers() });
      if (moved) this.reveal(row);
    },
    renew() {
      this.frame.chart.setOption({ xAxis: this.range(), series: [
        { id: "pieces", data: this.data() }, ...this.pointers()] });
    },
    tick() {
      if (this.drawn && this.clock.live && !document.hidden && this.at === null && this.own.some(
        (own) => own.some((piece) => piece[2] === null))) this.renew();
    },
    // The end of the chart (ms).
    time() {
      return this.clock.last + (this.clock.live ? performance.now() - this.clock.at : 0);
    },
    // The end of open pieces (ms).
    open() {
      return this.at ?? this.time();
    },
    colour(kind) {
      return kind[isDark() ? "dark" : "light"];
    },
    data() {
      return this.own.flatMap((own, row) => own.map(([kind, start, end, attempt]) => [
        row, kind, this.base + start, end === null ? null : this.base + end, attempt]));
    },
    range() {
      const now = this.base + this.time();
      const room = Math.max(50, 0.01 * (now - this.base));
      return { min: this.base - room, max: now + 2 * room };
    },
    count() {
      return Math.max(1, Math.floor((this.$el.clientHeight - TOP - BOTTOM) / ROW));
    },
    labelWidth() {
      return Math.min(this.widest + 16, 0.3 * this.$el.clientWidth, 260);
    },
    // The scroll bar is there only if not all rows fit.
    zooms() {
      const x = { xAxisIndex: 0, filterMode: "none", minValueSpan: 20 };
      const zooms = [
        { ...x, id: "x", type: "inside", zoomOnMouseWheel: "ctrl", moveOnMouseWheel: "shift",
          preventDefaultMouseMove: false },
        { ...x, id: "bar", type: "slider", height: 14, bottom: 8, showDetail: false,
          brushSelect: false, showDataShadow: false, borderColor: "@grid",
          fillerColor: "@window", handleStyle: { color: "@axis" } }];
      const count = this.count();
      if (this.rows.length > count) {
        const y = { yAxisIndex: 0, filterMode: "none", zoomLock: true, startValue: 0,
          endValue: count - 1 };
        zooms.push(
          { ...y, id: "y", type: "slider", width: 12, right: 2, showDetail: false,
            brushSelect: false, showDataShadow: false, handleSize: 0, borderColor: "@grid",
            fillerColor: "@axis" },
          { ...y, id: "wheel", type: "inside", zoomOnMouseWheel: false, moveOnMouseWheel: true,
            moveOnMouseMove: true, preventDefaultMouseMove: true });
      }
      return zooms;
    },
    draw() {
      if (!this.own || !this.$el.clientHeight) return;
      const width = this.labelWidth();
      this.drawn = `${this.count()} ${Math.round(width)}`;
      this.frame.chart.setOption(coloured({
        animation: false,
        grid: { left: width, right: 18, top: TOP, bottom: BOTTOM },
        xAxis: { type: "time", ...this.range(), axisLabel: { color: "@muted", hideOverlap: true,
          fontSize: 11 }, axisLine: { lineStyle: { color: "@axis" } },
          splitLine: { show: true, lineStyle: { color: "@grid" } } },
        yAxis: { type: "category", inverse: true, triggerEvent: true,
          data: this.rows.map((row, index) => String(index)),
          axisLabel: { color: "@text", fontSize: LABEL, interval: 0, width: width - 10,
            overflow: "truncate", align: "left", margin: width - 4,
            formatter: (index) => {
              const [label, depth] = this.rows[Number(index)] ?? ["", 0];
              return indented(label, depth);
            } },
          axisTick: { show: false }, axisLine: { show: false },
          splitLine: { show: true, lineStyle: { color: "@grid" } } },
        dataZoom: this.zooms(),
        tooltip: { renderMode: "richText", confine: true, backgroundColor: "@back",
          borderColor: "@axis", textStyle: { color: "@text", fontSize: 12 },
          formatter: ({ value }) => this.words(value) },
        series: [
          { id: "pieces", type: "custom", clip: true, encode: { x: [2, 3], y: 0 }, z: 3,
            renderItem: (params, api) => this.piece(params, api), data: this.data() },
          ...this.pointers()],
      }, this.palette), { notMerge: true });
    },
    // After a change of size.
    fit() {
      if (this.own && this.drawn !== `${this.count()} ${Math.round(this.labelWidth())}`) {
        this.draw();
      }
    },
    pointers() {
      const at = this.at === null ? null : this.base + this.at;
      return coloured([
        { id: "moment", type: "line", data: [], silent: true, z: 6,
          markLine: { silent: true, z: 7, symbol: "none", animation: false, label: { show: false },
            lineStyle: { color: "@moment", width: 2, type: "solid" },
            data: at === null ? [] : [{ xAxis: at }] } },
        { id: "chosen", type: "custom", silent: true, z: 1, encode: { y: 0 },
          data: this.row === null ? [] : [[this.row]],
          renderItem: ({ coordSys }, api) => {
            const height = api.size([0, 1])[1];
            const y = api.coord([this.base, api.value(0)])[1];
            return { type: "rect", shape: { x: 0, y: y - height / 2,
              width: coordSys.x + coordSys.width, height },
              style: { fill: this.palette["@window"][isDark() ? 1 : 0] } };
          } }], this.palette);
    },
    piece({ coordSys }, api) {
      const kind = this.kinds[api.value(1)];
      const end = api.value(3);
      const [left, y] = api.coord([api.value(2), api.value(0)]);
      if (y < coordSys.y || y > coordSys.y + coordSys.height) return;
      const edge = coordSys.x + coordSys.width;
      const right = api.coord([Number.isNaN(end) ? this.base + this.open() : end, 0])[0];
      if (right < coordSys.x - 16 || left > edge) return;
      const colour = this.colour(kind);
      if (kind.shape === "end") {
        return { type: "image", style: { image: this.image(kind.symbol, colour),
          x: left + 2, y: y - 7, width: 14, height: 14 } };
      }
      const x = Math.max(left, coordSys.x - 2);
      const width = Math.max(2, Math.min(right, edge + 2) - x);
      const shape = { x, y: y - BAR / 2, width, height: BAR, r: 2 };
      if (kind.shape === "wait") {
        return { type: "rect", shape, style: { fill: "rgba(0,0,0,0.001)", stroke: colour,
          lineWidth: 1, decal: { color: colour, ...DECALS[kind.hatch] } } };
      }
      if (kind.name === "error" && right - left < 18) {
        return { type: "image", z2: 20, style: { image: this.image(kind.symbol, colour,
          isDark() ? "#10151b" : "#ffffff"), x: left - 8, y: y - 8, width: 16, height: 16 } };
      }
      const attempt = api.value(4);
      const text = (attempt > 1 ? `#${attempt} ` : "") + kind.label;
      // An empty text, as ECharts keeps that of the bar's last drawing if there is none.
      const fits = width > 6.2 * text.length + 8;
      return { type: "rect", shape, style: { fill: colour, ...(kind.hatch ? { decal: {
        color: isDark() ? "rgba(0,0,0,0.35)" : "rgba(255,255,255,0.35)",
        ...DECALS[kind.hatch] } } : {}) },
        textConfig: { position: "inside" },
        textContent: { style: { text: fits ? text : "", fontSize: 10.5, padding: [1, 3],
          backgroundColor: kind.hatch && fits ? colour : "transparent",
          fill: isDark() ? "#10151b" : "#ffffff" } } };
    },
    // A symbol as a picture; `halo`: colour around it and in its holes.
    image(symbol, colour, halo = "none") {
      return (this.images[symbol + colour] ??= "data:image/svg+xml," + encodeURIComponent(
        `<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64" viewBox="-1 -1 18 18">` +
        `<path fill="${halo}" stroke="${halo}" stroke-width="2" d="${symbol}"/>` +
        `<path fill="${colour}" fill-rule="evenodd" d="${symbol}"/></svg>`));
    },
    words([row, kind, start, end, attempt]) {
      const until = end === null ? this.base + this.open() : end;
      const { label, shape } = this.kinds[kind];
      const lines = [this.rows[row][0] + (attempt > 1 ? ` #${attempt}` : ""), label];
      lines.push(shape === "end" ? clock(start)
        : `${clock(start)} – ${end === null ? "now" : clock(end)}, ${duration(until - start)}`);
      return lines.join("\n");
    },
    reveal(row) {
      const zoom = this.frame.chart.getOption().dataZoom.find((each) => each.id === "y");
      if (!zoom || (row >= zoom.startValue && row <= zoom.endValue)) return;
      const count = this.count();
      const first = Math.max(0, Math.min(row - Math.floor(count / 2), this.rows.length - count));
      this.frame.chart.dispatchAction({
        type: "dataZoom", dataZoomId: "y", startValue: first, endValue: first + count - 1 });
    },
    key(event) {
      const last = this.rows.length - 1;
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step && last >= 0) {
        this.choose(Math.max(0, Math.min(last, (this.row ?? (step > 0 ? -1 : last + 1))
          + step)));
      } else if (event.key === "Enter" && this.row !== null) {
        this.$emit("pick", { row: this.row });
      } else return;
      event.preventDefault();
    },
  },
};
