// SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
// SPDX-License-Identifier: Apache-2.0
// A picture that is fetched again when there is a new one, while it can be seen.
import { h } from 'vue';

export default {
  props: { source: String, name: String, period: Number },
  data() { return { missing: false, url: '' }; },
  mounted() {
    this.busy = false;
    this.visible = false;
    this.observer = new IntersectionObserver((seen) => {
      this.visible = seen[seen.length - 1].isIntersecting;
      this.wake();
    });
    this.observer.observe(this.$el);
    document.addEventListener('visibilitychange', this.wake);
  },
  unmounted() {
    this.observer.disconnect();
    document.removeEventListener('visibilitychange', this.wake);
    clearTimeout(this.timer);
    this.visible = false;
    this.drop();
  },
  watch: { source() { this.drop(); this.later(0); } },
  methods: {
    wake() { if (!this.timer && this.visible && !document.hidden) this.later(0); },
    later(delay) { clearTimeout(this.timer); this.timer = setTimeout(this.fetch, delay); },
    async fetch() {
      this.timer = 0;
      if (this.busy || !this.visible || document.hidden) return;
      const began = performance.now(), source = this.source;
      let lost = false;
      this.busy = true;
      try {
        const answer = await fetch(source + (this.url ? '&wait=1' : ''), { cache: 'no-store' });
        if (answer.status === 200 && source === this.source) this.show(await answer.blob());
        this.missing = answer.status !== 200 && !this.url;
      } catch { lost = true; }
      this.busy = false;
      this.later(lost || this.missing ? 2000 : Math.max(0, this.period - (performance.now() - began)));
    },
    show(picture) {
      this.drop();
      this.url = URL.createObjectURL(picture);
    },
    drop() {
      if (this.url) URL.revokeObjectURL(this.url);
      this.url = '';
    },
  },
  render() {
    return h('figure', { class: 'camera' }, [
      this.url ? h('img', { src: this.url, alt: 'Picture of ' + this.name }) : null,
      this.url ? null : h('figcaption', this.missing ? 'No picture yet' : 'Waiting for a picture …')]);
  },
};
