// The list of entries: only those that are visible, and the one that has the focus, are in the document.
// It knows where entries are; what is in them entry.js draws.

import {byId} from './dom.js';

const estimate = 96; // pixels of an entry that was never drawn
const around = 600; // pixels above and below the window that are drawn too
const printed = 2000; // entries

export class Transcript {
  /* draw(entry, element): fill or update the element of an entry. */
  constructor(draw) {
    this.draw = draw;
    this.window = byId('transcript');
    this.list = byId('entries');
    this.entries = [];
    this.heights = new Map(); // by the entry's key
    this.drawn = new Map(); // key -> {entry, element, version, top}
    this.isFollowing = true;
    this.placed = 0; // where the window was scrolled to last
    this.frame = null;
    this.window.addEventListener('scroll', () => {
      // The event comes later than what moved the window: since then entries may have come, or the window may be lower.
      // While the page is read, a browser that restores where the page before was scrolled to moves it, not the person.
      if (this.isAtEnd()) this.isFollowing = true;
      else if (this.window.scrollTop < this.placed && !this.isSettling) this.isFollowing = false;
      this.later();
    }, {passive: true});
    for (const name of ['wheel', 'touchmove', 'pointerdown', 'keydown']) this.window.addEventListener(name, () => { this.isSettling = false; }, {passive: true});
    this.sizes = new ResizeObserver(() => this.later());
    this.sizes.observe(this.window);
    addEventListener('beforeprint', () => this.print(true));
    addEventListener('afterprint', () => this.print(false));
  }

  isAtEnd() {
    return this.window.scrollTop + this.window.clientHeight > this.window.scrollHeight - 24;
  }

  show(entries, isNew = false) {
    this.entries = entries;
    if (isNew) {
      for (const {element} of this.drawn.values()) element.remove();
      this.drawn.clear();
      this.heights.clear();
      this.isFollowing = this.isSettling = true;
    }
    this.later();
  }

  later() {
    if (this.frame === null) this.frame = requestAnimationFrame(() => {
      this.frame = null;
      this.place();
    });
  }

  offsets() {
    const tops = new Float64Array(this.entries.length + 1);
    this.entries.forEach((entry, i) => {
      tops[i + 1] = tops[i] + (this.heights.get(entry.key) ?? estimate);
    });
    return tops;
  }

  indexAt(tops, y) {
    let low = 0;
    let high = this.entries.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (tops[middle] <= y) low = middle;
      else high = middle - 1;
    }
    return Math.max(0, low);
  }

  place() {
    if (this.isPrinting) return;
    let tops = this.offsets();
    if (this.isFollowing) this.window.scrollTop = tops.at(-1);
    const anchor = this.indexAt(tops, this.window.scrollTop);
    const within = this.window.scrollTop - tops[anchor];
    // Drawing tells the true heights, which can bring other entries into the window.
    for (let round = 0; round < 4; round++) {
      const start = this.isFollowing ? Math.max(0, tops.at(-1) - this.window.clientHeight) : tops[anchor] + within;
      const changed = this.drawRange(this.indexAt(tops, start - around), this.indexAt(tops, start + this.window.clientHeight + around));
      tops = this.offsets();
      if (!changed) break;
    }
    this.list.style.height = `${tops.at(-1)}px`;
    this.entries.forEach((entry, i) => {
      const drawn = this.drawn.get(entry.key);
      if (!drawn) return;
      drawn.element.ariaPosInSet = String(i + 1);
      drawn.element.ariaSetSize = String(this.entries.length);
      if (drawn.top !== tops[i]) {
        drawn.top = tops[i];
        drawn.element.style.top = `${tops[i]}px`;
      }
    });
    const wanted = this.isFollowing ? tops.at(-1) - this.window.clientHeight : tops[anchor] + within;
    if (this.entries.length && Math.abs(this.window.scrollTop - wanted) > 1) this.window.scrollTop = wanted;
    this.placed = this.window.scrollTop;
  }

  drawRange(from, to) {
    const wanted = new Set(this.entries.slice(from, to + 1).map((entry) => entry.key));
    for (const [key, drawn] of this.drawn) {
      const {element} = drawn;
      if (wanted.has(key) || element.contains(document.activeElement)) continue;
      this.sizes.unobserve(element);
      element.remove();
      this.drawn.delete(key);
      drawn.entry.drawn = element.querySelector('[aria-expanded="true"]') ? drawn : null; // what was opened stays open
    }
    let next = null;
    for (let i = Math.min(to, this.entries.length - 1); i >= from; i--) { // backwards: the order in the document is that of the entries
      const entry = this.entries[i];
      let drawn = this.drawn.get(entry.key);
      if (!drawn || drawn.entry !== entry) {
        drawn?.element.remove();
        drawn = entry.drawn || {entry, element: this.element(entry), version: -1};
        this.drawn.set(entry.key, drawn);
        this.list.insertBefore(drawn.element, next);
        this.sizes.observe(drawn.element);
      }
      if (drawn.version !== entry.version) {
        drawn.version = entry.version;
        this.draw(entry, drawn.element);
      }
      next = drawn.element;
    }
    let hasChanged = false;
    for (const [key, {element}] of this.drawn) {
      const height = element.offsetHeight;
      if (height && this.heights.get(key) !== height) {
        this.heights.set(key, height);
        hasChanged = true;
      }
    }
    return hasChanged;
  }

  element(entry) {
    const element = document.createElement('article');
    element.tabIndex = -1;
    element.className = 'entry';
    element.dataset.key = entry.key;
    return element;
  }

  toEnd() {
    this.isFollowing = true;
    this.place();
  }

  /* reveal(entry): scroll to the entry and give it the focus. */
  reveal(entry) {
    const i = this.entries.indexOf(entry);
    if (i < 0) return;
    this.isFollowing = false;
    const tops = this.offsets();
    this.window.scrollTop = Math.max(0, tops[i] - 40);
    this.place();
    this.drawn.get(entry.key)?.element.focus({preventScroll: true});
    this.drawn.get(entry.key)?.element.scrollIntoView({block: 'nearest'});
  }

  /* step(by): move the focus to the next or previous entry. */
  step(by) {
    const focused = document.activeElement?.closest('.entry');
    const at = focused ? this.entries.findIndex((entry) => String(entry.key) === focused.dataset.key) : this.entries.length;
    const entry = this.entries[Math.min(this.entries.length - 1, Math.max(0, at + by))];
    if (entry) this.reveal(entry);
  }

  print(isPrinting) {
    this.isPrinting = isPrinting;
    if (isPrinting) this.drawRange(Math.max(0, this.entries.length - printed), this.entries.length - 1);
    else this.place();
  }
}
