// SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
// SPDX-License-Identifier: Apache-2.0
// A time that grows (age) or shrinks (left) each second; `now` is the robot's time when it was sent.
import { h } from 'vue';

export function duration(seconds) {
  const s = Math.max(0, Math.floor(seconds));
  if (s < 60) return s + ' s';
  if (s < 3600) return Math.floor(s / 60) + ' min ' + String(s % 60).padStart(2, '0') + ' s';
  if (s < 86400) return Math.floor(s / 3600) + ' h ' + String(Math.floor(s / 60) % 60).padStart(2, '0') + ' min';
  return Math.floor(s / 86400) + ' d ' + Math.floor(s / 3600) % 24 + ' h';
}

export default {
  props: { at: Number, now: Number, left: Boolean, before: String, after: String, over: String },
  data() { return { local: Date.now() / 1000 }; },
  created() { this.heard = Date.now() / 1000; },
  mounted() { this.timer = setInterval(() => { this.local = Date.now() / 1000; }, 1000); },
  unmounted() { clearInterval(this.timer); },
  watch: { now() { this.heard = this.local = Date.now() / 1000; } },
  render() {
    const passed = this.now + (this.local - this.heard) - this.at;
    const value = this.left ? -passed : passed;
    const text = this.left && value <= 0 ? this.over : this.before + duration(value) + this.after;
    return h('span', { role: 'timer', 'aria-live': 'off', class: this.left && value < 30 ? 'ticking ticking-soon' : 'ticking' }, text);
  },
};
