// SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
// SPDX-License-Identifier: Apache-2.0
// The facts: a table with a filter; their ages grow here, without the server.
import { h } from 'vue';

function age(seconds) {
  if (!(seconds >= -1)) return '–'; // clocks differ a little
  if (seconds < 1) return '< 1 s';
  if (seconds < 100) return Math.floor(seconds) + ' s';
  if (seconds < 6000) return Math.floor(seconds / 60) + ' min';
  return seconds < 172800 ? Math.floor(seconds / 3600) + ' h' : Math.floor(seconds / 86400) + ' d';
}

export default {
  // facts: [name, text, unit, validity, note, topic, stamp]; symbols: by validity: [path, class]
  props: { facts: Array, now: Number, symbols: Object },
  data() { return { filter: '', local: Date.now() / 1000 }; },
  created() { this.heard = Date.now() / 1000; },
  mounted() { this.timer = setInterval(() => { this.local = Date.now() / 1000; }, 1000); },
  unmounted() { clearInterval(this.timer); },
  watch: { now() { this.heard = this.local = Date.now() / 1000; } },
  methods: {
    row([name, text, unit, validity, note, topic, stamp], time) {
      const [path, look] = this.symbols[validity] || this.symbols.unknown;
      const symbol = h('svg', { width: 14, height: 14, viewBox: '0 0 16 16', role: 'img', 'aria-label': validity },
        [h('title', validity), h('path', { d: path, fill: 'currentColor', 'fill-rule': 'evenodd' })]);
      return h('tr', { key: name, class: 'facts-' + validity }, [
        h('td', { class: 'facts-symbol look-text ' + look, title: validity }, [symbol]),
        h('th', { scope: 'row', title: name }, name),
        h('td', { class: 'facts-value', title: text }, [
          h('span', { class: 'facts-text' }, text || '–'), unit ? h('span', { class: 'facts-unit' }, ' ' + unit) : null,
          note ? h('div', { class: 'facts-note' }, note) : null]),
        h('td', { class: 'facts-age' }, stamp ? age(time - stamp) : '–'),
        h('td', { class: 'facts-topic', title: topic }, topic)]);
    },
  },
  render() {
    const time = this.now + (this.local - this.heard), wanted = this.filter.toLowerCase();
    const found = this.facts.filter((fact) => !wanted || (fact[0] + ' ' + fact[5] + ' ' + fact[3]).toLowerCase().includes(wanted));
    return h('div', { class: 'facts' }, [
      h('input', { class: 'facts-filter', type: 'search', placeholder: 'Filter by name, topic or validity', 'aria-label': 'Filter facts',
        value: this.filter, onInput: (event) => { this.filter = event.target.value; } }),
      h('div', { class: 'facts-scroll', tabindex: 0, role: 'region', 'aria-label': 'Facts' }, [
        h('table', [
          h('thead', h('tr', ['', 'Fact', 'Value', 'Age', 'Topic'].map((title, at) => h('th', { scope: 'col', class: at === 4 ? 'facts-topic' : at === 3 ? 'facts-age' : '' }, title)))),
          h('tbody', found.length ? found.map((fact) => this.row(fact, time))
            : [h('tr', [h('td', { colspan: 5, class: 'now-empty' }, this.facts.length ? 'No fact matches the filter.' : 'No values of facts yet.')])])])])]);
  },
};
