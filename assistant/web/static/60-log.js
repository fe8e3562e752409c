/* The log viewer. Rows have one height, so that any line of any log can be reached at once: only what is in view exists.
   Whatever a line holds is set as text, never as HTML. The chosen line is shown in full below, wrapped. */
(() => {
  const runwhy = window.runwhy;
  const ROW = 22, PAGE = 200, TALLEST = 8000000, KEPT_PAGES = 40;
  const node = (tag, css, text) => { const made = document.createElement(tag); if (css) made.className = css; if (text) made.textContent = text; return made; };
  const filled = (words, values) => words.replace(/\{(\w+)\}/g, (all, name) => (name in values ? values[name] : all));

  class Viewer {
    constructor(root) {
      this.root = root;
      this.raw = root.dataset.about;
      this.session = root.dataset.session;
      const about = JSON.parse(this.raw);
      this.total = about.total;
      this.words = about.words;
      this.marks = new Map(about.marks.map(([line, severity, title]) => [line, { severity, title }]));
      this.marked = about.marks.map(([line]) => line);
      this.pages = new Map();
      this.asked = new Set();
      this.chosen = 0;
      this.hits = [];
      this.hit = -1;
      this.build();
      this.draw();
      this.choose(this.marked[0] || 1, false);
    }
    say(name, values) { return filled(this.words[name], values || {}); }
    get height() { return Math.min(this.total * ROW, TALLEST); }
    get rows() { return Math.ceil(this.box.clientHeight / ROW); }

    build() {
      const bar = node("form", "log-bar");
      bar.setAttribute("role", "search");
      this.query = node("input"); this.query.type = "search"; this.query.name = "words"; this.query.placeholder = this.say("log_search");
      this.query.setAttribute("aria-label", this.say("log_search")); this.query.maxLength = 200; this.query.autocomplete = "off";
      const button = (name, act) => { const made = node("button", "", this.say(name)); made.type = "button"; made.onclick = act; return made; };
      this.said = node("span", "log-said"); this.said.setAttribute("role", "status");
      this.number = node("input"); this.number.type = "number"; this.number.min = 1; this.number.max = this.total;
      const place = node("label", "log-go", this.say("log_go_to") + " "); place.appendChild(this.number);
      this.number.onchange = () => this.choose(Number(this.number.value));
      const next = button("log_next", null); next.type = "submit";
      bar.append(this.query, button("log_previous", () => this.step(-1)), next, this.said, place);
      if (this.marked.length) bar.append(button("log_finding", () => this.choose(this.marked.find((line) => line > this.chosen) || this.marked[0])));
      bar.onsubmit = (event) => { event.preventDefault(); this.step(1); };

      this.box = node("div", "log-box"); this.box.tabIndex = 0;
      this.box.setAttribute("role", "listbox"); this.box.setAttribute("aria-label", this.say("log_label"));
      this.space = node("div", "log-space"); this.space.style.height = this.height + "px"; this.space.setAttribute("role", "presentation");
      this.sheet = node("div", "log-sheet"); this.sheet.setAttribute("role", "presentation");
      this.space.appendChild(this.sheet);
      this.box.appendChild(this.space);
      this.box.style.maxHeight = Math.max(6, this.total + 1) * ROW + "px";
      this.box.onscroll = () => { if (!this.still) this.first = this.lineAt(this.box.scrollTop); this.still = false; this.draw(); };
      this.box.onkeydown = (event) => this.key(event);
      this.box.onclick = (event) => { const row = event.target.closest(".log-row"); if (row) this.choose(Number(row.dataset.at), false); };
      this.detail = node("section", "log-detail"); this.detail.setAttribute("aria-live", "polite");
      const foot = node("p", "caption", this.say("log_masked"));
      this.root.append(bar, this.box, this.detail, foot);
      this.first = 1;
      new ResizeObserver(() => this.draw()).observe(this.box);
    }
    /* A log may be taller than a browser can scroll: then a pixel stands for several lines. */
    lineAt(top) {
      const most = this.height - this.box.clientHeight, last = Math.max(1, this.total - Math.floor(this.box.clientHeight / ROW) + 1);
      return most <= 0 ? 1 : 1 + Math.round(Math.min(1, top / most) * (last - 1));
    }
    topOf(line) {
      const most = this.height - this.box.clientHeight, last = Math.max(1, this.total - Math.floor(this.box.clientHeight / ROW) + 1);
      return last <= 1 ? 0 : Math.min(1, (line - 1) / (last - 1)) * Math.max(0, most);
    }
    draw() {
      if (!this.box.clientHeight) return;
      const from = Math.max(1, this.first), to = Math.min(this.total, from + this.rows);
      this.sheet.style.transform = `translateY(${Math.min(this.box.scrollTop, this.height - (to - from + 1) * ROW > 0 ? this.box.scrollTop : 0)}px)`;
      const rows = [];
      for (let line = from; line <= to; line++) rows.push(this.row(line));
      this.sheet.replaceChildren(...rows);
      this.fetch(from, to);
    }
    row(line) {
      const known = this.line(line), mark = this.marks.get(line);
      const made = node("div", "log-row" + (mark ? ` marked sev-${mark.severity}` : "") + (line === this.chosen ? " chosen" : "") + (known ? "" : " coming"));
      made.id = "log-line-" + line; made.dataset.at = line;
      made.setAttribute("role", "option"); made.setAttribute("aria-selected", String(line === this.chosen));
      made.setAttribute("aria-setsize", this.total); made.setAttribute("aria-posinset", line);
      if (mark) made.title = mark.title;
      made.append(node("span", "log-number", String(line)), node("span", "log-text", known ? known[1].slice(0, 600) : ""));
      return made;
    }
    line(line) { const page = this.pages.get(Math.floor((line - 1) / PAGE)); return page && page[(line - 1) % PAGE]; }
    address(what, values) { return `/session/${encodeURIComponent(this.session)}/${what}?${new URLSearchParams(values)}`; }
    fetch(from, to) {
      for (let page = Math.floor((from - 1) / PAGE); page <= Math.floor((to - 1) / PAGE); page++) this.get(page);
    }
    async get(page) {
      if (this.pages.has(page) || this.asked.has(page)) return;
      this.asked.add(page);
      try {
        const answer = await fetch(this.address("lines", { first: page * PAGE + 1, last: (page + 1) * PAGE }));
        if (!answer.ok) throw new Error(String(answer.status));
        const given = await answer.json(), rows = [];
        given.lines.forEach((row) => { rows[(row[0] - 1) % PAGE] = row; });
        this.pages.set(page, rows);
        while (this.pages.size > KEPT_PAGES) this.pages.delete(this.pages.keys().next().value);
        this.said.classList.remove("problem");
        this.draw();
        if (Math.floor((this.chosen - 1) / PAGE) === page) this.show();
      } catch {
        this.said.textContent = this.say("log_failed");
      } finally {
        this.asked.delete(page);
      }
    }
    choose(line, scroll = true) {
      if (!Number.isFinite(line)) return;
      this.chosen = Math.min(this.total, Math.max(1, Math.round(line)));
      const fits = Math.max(1, Math.floor(this.box.clientHeight / ROW) - 1);
      if (scroll || this.chosen < this.first || this.chosen > this.first + fits - 1) {
        this.first = Math.max(1, Math.min(this.chosen - (scroll ? Math.floor(fits / 2) : (this.chosen < this.first ? 0 : fits - 1)), Math.max(1, this.total - fits)));
        const top = this.topOf(this.first);
        if (Math.abs(top - this.box.scrollTop) >= 1) { this.still = true; this.box.scrollTop = top; }
      }
      this.box.setAttribute("aria-activedescendant", "log-line-" + this.chosen);
      this.number.value = this.chosen;
      this.draw();
      this.get(Math.floor((this.chosen - 1) / PAGE));
      this.show();
    }
    show() {
      const known = this.line(this.chosen), mark = this.marks.get(this.chosen);
      const head = node("p", "log-head", this.say("log_line_of", { at: this.chosen.toLocaleString("en"), total: this.total.toLocaleString("en") }));
      if (mark) head.append(node("span", `severity sev-${mark.severity}`, mark.title));
      const text = node("pre", "log-whole", known ? known[1] : "…");
      const led = this.about && this.about.line === this.chosen ? this.about : null;
      text.tabIndex = 0;
      text.setAttribute("aria-label", head.textContent);
      const parts = [head, text];
      if (known) {
        const copy = node("button", "", this.say("log_copy")); copy.type = "button";
        copy.onclick = async () => { if (await runwhy.copy(text.textContent)) copy.textContent = this.say("copied"); };
        const tools = node("p", "log-tools");
        tools.append(copy);
        if (led) {
          const { metric, step } = led;
          const plot = node("button", "", filled(this.words.log_plot, { at: metric })); plot.type = "button";
          plot.onclick = () => runwhy.openPlot(metric, step);
          tools.append(plot);
        }
        if (known[2]) {
          const all = node("button", "", `${this.say("log_all")} (${this.say("log_left_out", { n: known[2].toLocaleString("en") })})`); all.type = "button";
          all.onclick = async () => {
            const at = this.chosen;
            try {
              const answer = await fetch(this.address("lines", { first: at, last: at, whole: true }));
              if (!answer.ok) throw new Error(String(answer.status));
              const row = (await answer.json()).lines[0];
              if (at !== this.chosen) return;
              if (row) text.textContent = row[1];
              all.remove();
              if (led) this.point(text, led.metric);
            } catch { this.said.textContent = this.say("log_failed"); }
          };
          tools.append(all);
        }
        parts.splice(1, 0, tools);
      }
      this.detail.replaceChildren(...parts);
      if (known && led) this.point(text, led.metric);
    }
    /* In a line of a hundred numbers, the one that led here. */
    point(place, metric) {
      const words = place.textContent, last = metric.slice(metric.lastIndexOf("/") + 1);
      const find = (name) => new RegExp(`(^|[^\\w/.])(${name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}["']?\\s*[:=|]?\\s*[^\\s,|}]*)`).exec(words);
      const found = find(metric) || find(last);
      if (!found) return;
      const at = found.index + found[1].length, mark = node("mark", "", found[2]);
      place.replaceChildren(words.slice(0, at), mark, words.slice(at + found[2].length));
      place.scrollTop = mark.offsetTop - place.offsetTop - place.clientHeight / 2;
      const head = this.detail.querySelector(".log-head");
      if (head && !head.querySelector("mark")) head.append(node("mark", "", found[2].replace(/\s+/g, " ")));
    }
    key(event) {
      const page = Math.max(1, this.rows - 2);
      const to = { ArrowDown: this.chosen + 1, ArrowUp: this.chosen - 1, PageDown: this.chosen + page, PageUp: this.chosen - page, Home: 1, End: this.total }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      this.choose(to, false);
    }
    /* Search: found lines are collected as the server gets to them. */
    async step(by) {
      const words = this.query.value.trim();
      if (!words) { this.said.textContent = ""; return; }
      if (words !== this.searched) { this.searched = words; this.hits = []; this.hit = -1; this.next = 1; }
      const turn = (this.turn = (this.turn || 0) + 1);
      while (this.next && this.hit + by >= this.hits.length) {
        this.said.textContent = this.say("log_searching", { at: this.next.toLocaleString("en"), total: this.total.toLocaleString("en") });
        let given = null;
        try {
          const answer = await fetch(this.address("search", { words, first: this.next }));
          if (answer.ok) given = await answer.json();
        } catch { /* said below */ }
        if (turn !== this.turn || words !== this.searched) return;
        if (!given) { this.said.textContent = this.say("log_failed"); return; }
        this.hits.push(...given.hits);
        this.next = given.next;
      }
      if (!this.hits.length) { this.said.textContent = this.say("log_none"); return; }
      this.hit = (this.hit + by + this.hits.length) % this.hits.length;
      const count = { at: this.hit + 1, n: this.hits.length, total: ((this.next || 1) - 1).toLocaleString("en") };
      this.said.textContent = this.say(this.next ? "log_more" : "log_found", count);
      this.choose(this.hits[this.hit][0]);
    }
  }

  let wanted = 0, about = null;
  /* Gradio patches its elements: the viewer's place may get another log or language, and lose what stood in it. */
  const stale = (root) => !root.viewer || root.viewer.raw !== root.dataset.about || !root.firstElementChild;
  const viewer = () => {
    const root = document.querySelector("#log .log-viewer");
    if (!root) return null;
    if (stale(root)) {
      const before = root.viewer;
      root.replaceChildren();
      root.viewer = new Viewer(root);
      if (before && before.session === root.dataset.session) root.viewer.choose(before.chosen);
    }
    return root.viewer;
  };
  const settle = () => {
    const made = viewer();
    if (!made) return;
    if (wanted && made.box.clientHeight) { const line = wanted; wanted = 0; made.about = about; made.choose(line); made.box.focus({ preventScroll: true }); }
    else made.draw();
  };
  new MutationObserver(() => {
    const root = document.querySelector("#log .log-viewer");
    if (root && root.clientWidth && stale(root)) settle();
  }).observe(document.documentElement, { childList: true, subtree: true, attributes: true, attributeFilter: ["data-about"] });
  runwhy.on("view", (name) => { if (name === "log") setTimeout(settle, 0); });
  /* ``value`` is {metric, step} where a number led here: it can be looked at in the plot, too. */
  runwhy.openLine = (line, value) => { wanted = line; about = value ? { line, ...value } : null; runwhy.show("log", false, true); setTimeout(settle, 0); };
})();
