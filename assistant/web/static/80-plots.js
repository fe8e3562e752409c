/* The plots panel: which metrics, how, and from which step; the server draws. Names come from the log: they are set as text only. */
(() => {
  const runwhy = window.runwhy;
  const node = (tag, css, text) => { const made = document.createElement(tag); if (css) made.className = css; if (text !== undefined) made.textContent = text; return made; };
  const filled = (words, values) => words.replace(/\{(\w+)\}/g, (all, name) => (name in values ? values[name] : all));
  let last = null; /* what was drawn of which session: it outlives a change of language */

  class Plotter {
    constructor(root) {
      this.root = root;
      this.about = JSON.parse(root.dataset.about);
      this.session = root.dataset.session;
      this.state = { kind: "lines", metrics: [...this.about.first], finding: null, scale: "", window: 0, from: null, to: null, mark: null };
      if (this.about.findings.length) this.state.finding = this.about.findings[0].index;
      if (last && last.session === this.session) this.state = last.state;
      this.build();
      this.draw();
    }
    say(name, values) { return filled(this.about.words[name], values || {}); }

    build() {
      this.root.append(this.shortcuts(), this.options());
      const body = node("div", "plotter-body");
      body.append(this.picker(), this.stage());
      this.root.append(body);
    }
    button(text, act, css) {
      const made = node("button", css || "", text);
      made.type = "button";
      made.onclick = act;
      return made;
    }
    shortcuts() {
      const row = node("div", "plotter-row plotter-shortcuts");
      this.keys = [];
      if (this.about.findings.length) row.append(node("span", "plotter-label", this.say("found")));
      this.about.findings.forEach((one) => {
        const key = this.button(one.title, () => this.set({ kind: "lines", metrics: [...one.metrics], finding: one.index, mark: null }), "plotter-key");
        this.keys.push([key, () => this.state.kind === "lines" && this.state.finding === one.index]);
        row.append(key);
      });
      if (this.about.timed) {
        const key = this.button(this.say("time"), () => this.set({ kind: "times", finding: null, mark: null }), "plotter-key");
        this.keys.push([key, () => this.state.kind === "times"]);
        row.append(key);
      }
      return row;
    }
    choice(label, pairs, pick) {
      const box = node("label", "plotter-choice", label + " "), list = node("select");
      pairs.forEach(([value, text]) => { const option = node("option", "", text); option.value = value; list.append(option); });
      list.onchange = () => pick(list.value);
      box.append(list);
      return [box, list];
    }
    number(label, pick) {
      const box = node("label", "plotter-choice", label + " "), input = node("input");
      input.type = "number";
      [input.min, input.max] = this.about.steps;
      input.onchange = () => pick(input.value === "" ? null : Math.round(Number(input.value)));
      box.append(input);
      return [box, input];
    }
    options() {
      const row = node("div", "plotter-row plotter-options");
      let box;
      [box, this.view] = this.choice(this.say("view"), [["lines", this.say("view_lines")], ["scatter", this.say("view_scatter")]], (kind) => this.set({ kind, finding: null }));
      row.append(box);
      [box, this.scale] = this.choice(this.say("scale"), [["", this.say("scale_auto")], ["1", this.say("scale_log")], ["0", this.say("scale_linear")]], (scale) => this.set({ scale }));
      row.append(box);
      const widths = [0, 5, 10, 25, 50, 100].map((n) => [String(n), n ? this.say("smooth_n", { n }) : this.say("smooth_off")]);
      [box, this.smooth] = this.choice(this.say("smooth"), widths, (n) => this.set({ window: Number(n) }));
      row.append(box);
      [box, this.from] = this.number(this.say("from_step"), (from) => this.set({ from }));
      row.append(box);
      [box, this.to] = this.number(this.say("to_step"), (to) => this.set({ to }));
      row.append(box);
      this.whole = this.button(this.say("all_steps"), () => this.set({ from: null, to: null }));
      row.append(this.whole);
      return row;
    }
    picker() {
      const part = node("details", "plotter-picker");
      part.open = window.matchMedia("(min-width: 761px)").matches;
      part.append(node("summary", "", this.say("list", { n: this.about.metrics.length })));
      const search = node("input");
      search.type = "search";
      search.autocomplete = "off";
      search.placeholder = this.say("search");
      search.setAttribute("aria-label", this.say("search"));
      this.none = node("p", "caption", this.say("none_match"));
      this.none.hidden = true;
      const list = node("div", "plotter-list");
      list.tabIndex = -1;
      this.boxes = new Map();
      const groups = this.about.groups.map((title) => { const made = node("fieldset"); made.append(node("legend", "", title)); return made; });
      const rows = this.about.metrics.map(([name, title, group], at) => {
        const before = this.about.metrics[at - 1], same = Boolean(title && before && before[1] === title && before[2] === group);
        const row = node("label", same ? "plotter-metric same" : "plotter-metric"), box = node("input");
        box.type = "checkbox";
        box.onchange = () => this.toggle(name, box.checked);
        const words = node("span");
        if (title && !same) words.append(node("span", "plotter-title", title), " ");
        words.append(node("code", "", name));
        row.append(box, words);
        groups[group].append(row);
        this.boxes.set(name, box);
        return [row, (name + " " + title).toLowerCase()];
      });
      groups.forEach((group) => { if (group.children.length > 1) list.append(group); });
      search.oninput = () => {
        const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
        let shown = 0;
        rows.forEach(([row, text]) => { row.hidden = !words.every((word) => text.includes(word)); if (!row.hidden) shown++; });
        groups.forEach((group) => { group.hidden = ![...group.querySelectorAll("label")].some((row) => !row.hidden); });
        this.none.hidden = shown > 0;
      };
      search.onkeydown = (event) => {
        if (event.key !== "Enter") return;
        event.preventDefault();
        const hit = rows.find(([row]) => !row.hidden);
        if (hit && search.value) hit[0].querySelector("input").click();
      };
      part.append(search, this.none, list);
      return part;
    }
    stage() {
      const part = node("div", "plotter-stage");
      this.chosen = node("div", "plotter-row plotter-chosen");
      this.chosen.setAttribute("role", "group");
      this.chosen.setAttribute("aria-label", this.say("chosen"));
      this.said = node("p", "caption plotter-said");
      this.said.setAttribute("role", "status");
      this.canvas = node("div", "canvas");
      this.canvas.setAttribute("role", "img");
      this.caption = node("figcaption", "caption");
      const figure = node("figure", "plotter-figure");
      figure.append(this.canvas, this.caption);
      const foot = node("p", "plotter-foot caption");
      this.png = node("a", "", this.say("save_png"));
      this.svg = node("a", "", this.say("save_svg"));
      [this.png, this.svg].forEach((link) => link.setAttribute("download", ""));
      const hint = node("span", "", this.say("click_hint") + " ");
      hint.append(node("span", "plotter-zoom", this.say("zoom_hint")));
      foot.append(hint, this.png, this.svg);
      this.foot = foot;
      part.append(this.chosen, this.said, figure, foot);
      return part;
    }

    toggle(name, on) {
      const metrics = this.state.metrics.filter((other) => other !== name);
      if (on) metrics.push(name);
      this.set({ metrics: this.state.kind === "times" && on ? [name] : metrics, kind: this.state.kind === "times" ? "lines" : this.state.kind, finding: null });
    }
    set(change) {
      Object.assign(this.state, change);
      this.draw();
    }
    query() {
      const { kind, metrics, scale, window: width, from, to } = this.state, query = new URLSearchParams();
      query.append("kind", kind === "scatter" && metrics.length !== 2 ? "lines" : kind);
      if (kind !== "times") metrics.forEach((name) => query.append("metric", name));
      if (from !== null) query.append("from", from);
      if (to !== null) query.append("to", to);
      if (scale) query.append("log", scale);
      if (width) query.append("window", width);
      query.append("lang", this.about.language);
      return query;
    }
    /* With nothing changed, a finding is drawn with its onset marked. */
    address(query) {
      const { finding, scale, window: width, from, to, mark } = this.state, base = "/session/" + encodeURIComponent(this.session);
      if (finding !== null && !scale && !width && from === null && to === null && mark === null) {
        return base + "/finding-figure?" + new URLSearchParams({ index: finding, lang: this.about.language });
      }
      if (mark !== null) query.append("mark", mark);
      return base + "/figure?" + query;
    }
    refresh() {
      const { kind, metrics, scale, window: width, from, to } = this.state;
      this.keys.forEach(([key, on]) => key.setAttribute("aria-pressed", String(on())));
      this.boxes.forEach((box, name) => { box.checked = kind !== "times" && metrics.includes(name); });
      this.view.value = kind === "scatter" ? "scatter" : "lines";
      this.view.disabled = this.scale.disabled = kind === "times";
      this.smooth.disabled = kind !== "lines";
      this.scale.value = scale;
      this.smooth.value = String(width);
      this.from.value = from === null ? "" : from;
      this.to.value = to === null ? "" : to;
      this.whole.hidden = from === null && to === null;
      this.chosen.replaceChildren();
      if (kind !== "times") metrics.forEach((name) => {
        const chip = this.button("", () => this.toggle(name, false), "plotter-chip");
        chip.append(node("code", "", name), node("span", "", "×"));
        chip.setAttribute("aria-label", this.say("remove", { name }));
        this.chosen.append(chip);
      });
      if (kind !== "times" && metrics.length > 1) this.chosen.append(this.button(this.say("clear"), () => this.set({ metrics: [], finding: null }), "plotter-clear"));
    }
    async draw() {
      last = { session: this.session, state: this.state };
      this.refresh();
      const { kind, metrics } = this.state, turn = (this.turn = (this.turn || 0) + 1);
      const empty = kind !== "times" && !metrics.length;
      this.foot.hidden = empty;
      if (empty) {
        this.said.textContent = this.say("nothing_chosen");
        this.canvas.hidden = true;
        this.caption.textContent = "";
        return;
      }
      const query = this.query();
      const base = "/session/" + encodeURIComponent(this.session);
      this.png.href = base + "/figure.png?" + query;
      this.svg.href = base + "/figure.svg?" + query;
      const slow = setTimeout(() => { if (turn === this.turn) this.said.textContent = this.say("loading"); }, 400);
      try {
        const answer = await fetch(this.address(query));
        if (!answer.ok) throw new Error(String(answer.status));
        const figure = await answer.json();
        if (turn !== this.turn) return;
        this.canvas.hidden = !figure.data.length;
        if (window.matchMedia("(pointer: coarse)").matches) { figure.layout.dragmode = false; if (figure.layout.xaxis) figure.layout.xaxis.fixedrange = true; }
        if (figure.data.length) await runwhy.draw(this.canvas, figure);
        if (turn !== this.turn) return;
        this.canvas.setAttribute("aria-label", figure.label);
        this.caption.textContent = figure.caption;
        this.foot.hidden = !figure.data.length;
        this.said.textContent = kind === "scatter" && metrics.length !== 2 ? this.say("scatter_needs") : "";
      } catch {
        if (turn === this.turn) { this.said.textContent = this.say("failed"); this.canvas.hidden = true; this.caption.textContent = ""; }
      } finally {
        clearTimeout(slow);
      }
    }
  }

  let wanted = null;
  const settle = () => {
    const root = document.querySelector("#plots .plotter");
    if (!root || !root.clientWidth) return;
    if (!root.plotter) root.plotter = new Plotter(root);
    if (!wanted) return;
    const { metric, step } = wanted;
    wanted = null;
    if (root.plotter.boxes.has(metric)) root.plotter.set({ kind: "lines", metrics: [metric], finding: null, mark: step, from: null, to: null });
    else {
      root.plotter.set({ kind: "lines", metrics: [], finding: null, mark: null, from: null, to: null });
      root.plotter.said.textContent = root.plotter.say("one_value", { name: metric });
    }
  };
  new MutationObserver(() => {
    const root = document.querySelector("#plots .plotter");
    if (root && !root.plotter) settle();
  }).observe(document.documentElement, { childList: true, subtree: true });
  runwhy.on("view", (name) => { if (name === "plots") setTimeout(settle, 0); });
  runwhy.openPlot = (metric, step) => { wanted = { metric, step: step === undefined ? null : step }; runwhy.show("plots", false, true); setTimeout(settle, 0); };
})();
