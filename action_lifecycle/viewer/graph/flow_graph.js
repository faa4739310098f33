// SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
// SPDX-License-Identifier: Apache-2.0

// Shows the SVG of a flow: pan, zoom, keys. What it shows comes from flow_graph.py. The SVG is in a
// shadow tree, as matching the page's style sheets against thousands of boxes takes seconds.
const TOOLS = 46;  // px: height that the tools take at the top
const NEAREST = 1.6, FARTHEST = 0.02, TEXT_FROM = 0.42;

export default {
  template: `<div class="flow-graph"></div>`,
  mounted() {
    this.at = { x: 0, y: 0, k: 1 };
    this.pointers = new Map();
    this.boxes = new Map();
    this.stage = document.createElement("div");
    this.stage.className = "stage";
    this.$el.attachShadow({ mode: "open" }).append(this.stage);
    const on = (name, handler, options) => this.stage.addEventListener(name, handler, options);
    on("pointerdown", this.press);
    on("pointermove", this.drag);
    on("pointerup", this.release);
    on("pointercancel", this.release);
    on("wheel", this.wheel, { passive: false });
    on("click", this.click);
    on("keydown", this.key);
    on("focusin", this.focus);
    on("focusout", () => this.near(null));
    this.resized = new ResizeObserver(() => this.fitted && this.fit());
    this.resized.observe(this.stage);
    const darken = () => this.stage.classList.toggle("dark", document.body.classList.contains("body--dark"));
    this.themed = new MutationObserver(darken);
    this.themed.observe(document.body, { attributes: true, attributeFilter: ["class"] });
    darken();
    this.$emit("ready");
  },
  unmounted() {
    this.resized.disconnect();
    this.themed.disconnect();
  },
  methods: {
    show(svg, keep) {
      const focused = this.$el.shadowRoot.activeElement?.dataset.path;
      this.stage.innerHTML = svg;
      this.svg = this.stage.querySelector("svg");
      this.size = { width: this.svg.viewBox.baseVal.width, height: this.svg.viewBox.baseVal.height };
      for (const name of ["viewBox", "width", "height"]) this.svg.removeAttribute(name);
      this.view = this.svg.querySelector(".view");
      this.boxes = new Map(Array.from(this.svg.querySelectorAll("g.box"), (box) => [box.id, box]));
      this.edges = Array.from(this.svg.querySelectorAll("path.edge"));
      this.picked = null;
      if (keep && !this.fitted) this.move();
      else this.fit();
      if (focused) Array.from(this.boxes.values()).find((box) => box.dataset.path === focused)?.focus();
    },
    // changes: [id, classes, path of the symbol, detail, label]; null: as it was
    apply(changes) {
      for (const [id, css, symbol, detail, label] of changes) {
        const box = this.boxes.get(id);
        if (!box) continue;
        if (css !== null) {
          const kept = ["frame", "picked"].filter((name) => box.classList.contains(name));
          box.setAttribute("class", ["box", ...kept, css].join(" "));
        }
        if (symbol !== null) box.querySelector(":scope > .symbol").setAttribute("d", symbol);
        if (detail !== null) box.querySelector(":scope > .detail").textContent = detail;
        if (label !== null) box.setAttribute("aria-label", label);
      }
    },
    mark(id) {
      this.picked?.classList.remove("picked");
      this.picked = this.boxes.get(id) ?? null;
      this.picked?.classList.add("picked");
    },
    reveal(id) {
      const box = this.boxes.get(id);
      if (!box) return;
      this.left = false;
      const stage = this.stage.getBoundingClientRect();
      const seen = box.getBoundingClientRect();
      const margin = 30;
      if (this.at.k >= TEXT_FROM && seen.left >= stage.left + margin && seen.right <= stage.right - margin
          && seen.top >= stage.top + margin && seen.bottom <= stage.bottom - margin) return;
      const [x, y] = this.place(box);
      const card = box.querySelector(":scope > .card");
      this.fitted = false;
      this.at.k = Math.max(this.at.k, 0.8);
      this.at.x = stage.width / 2 - (x + card.width.baseVal.value / 2) * this.at.k;
      this.at.y = stage.height / 2 - (y + Math.min(card.height.baseVal.value, 60) / 2) * this.at.k;
      this.move();
    },
    place(box) {
      const at = box.transform.baseVal.getItem(0).matrix;
      return [at.e, at.f];
    },
    move() {
      if (!this.view) return;
      this.view.setAttribute("transform", `translate(${this.at.x},${this.at.y}) scale(${this.at.k})`);
      this.svg.classList.toggle("far", this.at.k < TEXT_FROM);
    },
    fit() {
      const stage = this.stage.getBoundingClientRect();
      if (!this.view || !stage.width || !stage.height) return;
      const k = Math.min(stage.width / this.size.width, (stage.height - TOOLS) / this.size.height, 1.15);
      this.fitted = true;
      this.at.k = Math.max(k, FARTHEST);
      this.at.x = (stage.width - this.size.width * this.at.k) / 2;
      this.at.y = TOOLS + (stage.height - TOOLS - this.size.height * this.at.k) / 2;
      this.move();
    },
    zoom(factor, x, y) {
      const stage = this.stage.getBoundingClientRect();
      const [px, py] = [x === undefined ? stage.width / 2 : x - stage.left,
                        y === undefined ? stage.height / 2 : y - stage.top];
      const k = Math.min(Math.max(this.at.k * factor, FARTHEST), Math.max(NEAREST, this.at.k));
      this.fitted = false;
      this.at.x = px - (px - this.at.x) * (k / this.at.k);
      this.at.y = py - (py - this.at.y) * (k / this.at.k);
      this.at.k = k;
      this.move();
    },
    // people look elsewhere: told once until the view follows again
    leave() {
      if (!this.left) this.$emit("leave");
      this.left = true;
    },
    wheel(event) {
      event.preventDefault();
      this.leave();
      this.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), event.clientX, event.clientY);
    },
    press(event) {
      this.pointers.set(event.pointerId, [event.clientX, event.clientY]);
      this.moved = this.pointers.size > 1;
    },
    drag(event) {
      const before = this.pointers.get(event.pointerId);
      if (!before) return;
      const now = [event.clientX, event.clientY];
      const [dx, dy] = [now[0] - before[0], now[1] - before[1]];
      if (!this.moved && Math.hypot(dx, dy) < 5) return;
      if (!this.moved) this.stage.setPointerCapture(event.pointerId);
      this.moved = true;
      this.leave();
      const other = Array.from(this.pointers).find(([id]) => id !== event.pointerId)?.[1];
      this.pointers.set(event.pointerId, now);
      if (other) {
        const far = (point) => Math.hypot(point[0] - other[0], point[1] - other[1]) || 1;
        this.zoom(far(now) / far(before), other[0], other[1]);
      } else {
        this.fitted = false;
        this.at.x += dx;
        this.at.y += dy;
        this.move();
      }
    },
    release(event) {
      this.pointers.delete(event.pointerId);
    },
    click(event) {
      const box = event.target.closest("g.box");
      if (this.moved || !box) return;
      if (event.target.closest(".toggle")) this.$emit("toggle", box.id);
      else this.choose(box);
    },
    choose(box) {
      if (box.dataset.path === undefined) return this.$emit("toggle", box.id);
      this.mark(box.id);
      this.$emit("pick", box.id);
    },
    focus(event) {
      const box = event.target.closest("g.box");
      if (!box) return;
      this.svg.querySelector('g.box[tabindex="0"]')?.setAttribute("tabindex", "-1");
      box.setAttribute("tabindex", "0");
      this.near(box);
      if (box.matches(":focus-visible")) this.reveal(box.id);
    },
    near(box) {
      this.svg?.querySelectorAll(".edge.near").forEach((edge) => edge.classList.remove("near"));
      if (!box) return;
      for (const edge of this.edges)
        if (edge.dataset.from === box.id || edge.dataset.to === box.id) edge.classList.add("near");
    },
    key(event) {
      const box = event.target.closest("g.box");
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const act = {
        Enter: () => box && this.choose(box),
        " ": () => box?.querySelector(":scope > .toggle") ? this.$emit("toggle", box.id) : box && this.choose(box),
        ArrowDown: () => this.step(box, "from", "to"),
        ArrowUp: () => this.step(box, "to", "from"),
        ArrowRight: () => this.beside(box, 1),
        ArrowLeft: () => this.beside(box, -1),
        Home: () => Array.from(this.boxes.values())[0]?.focus(),
        End: () => Array.from(this.boxes.values()).pop()?.focus(),
        "+": () => this.zoom(1.25),
        "-": () => this.zoom(0.8),
        0: () => this.fit(),
      }[event.key];
      if (!act) return;
      event.preventDefault();
      act();
    },
    centre(box) {
      const [x, y] = this.place(box);
      return [x + box.querySelector(":scope > .card").width.baseVal.value / 2, y];
    },
    closest(box, boxes) {
      const [x, y] = this.centre(box);
      const far = (other) => Math.hypot(this.centre(other)[0] - x, this.centre(other)[1] - y);
      boxes.reduce((best, other) => (best && far(best) <= far(other) ? best : other), null)?.focus();
    },
    step(box, here, there) {
      if (!box) return;
      this.closest(box, this.edges.filter((edge) => edge.dataset[here] === box.id)
        .map((edge) => this.boxes.get(edge.dataset[there])));
    },
    beside(box, side) {
      if (!box) return;
      const [x, y] = this.centre(box);
      this.closest(box, Array.from(this.boxes.values()).filter((other) => {
        const [ox, oy] = this.centre(other);
        return Math.abs(oy - y) < 40 && (ox - x) * side > 1;
      }));
    },
  },
};
