/* The conversation: what is asked, how the last turn joins the talk, and what can be done with an answer. */
(() => {
  const runwhy = window.runwhy;
  let suggested = "";
  const box = () => document.querySelector("#question textarea");
  const scroller = () => document.getElementById("conversation");
  const toEnd = () => setTimeout(() => {
    const last = document.querySelector("#live .turn, .coming"), area = scroller();
    if (!last || !area) return;
    area.scrollTop += last.getBoundingClientRect().top - area.getBoundingClientRect().top - 12;
    if (!window.matchMedia("(min-width: 1081px)").matches && area.scrollHeight <= area.clientHeight + 4) last.scrollIntoView({ block: "start" });
  }, 60);

  /* One question at a time: until its answer is there the next one stays in the box. */
  let running = null, flights = 0; /* what was asked of which session; events under way */
  const idle = () => !running || Boolean(document.querySelector("#live .turn:not(.growing)"));
  const live = () => document.querySelector("#live .turn");
  const put = (text) => { const area = box(); if (area) { area.value = text; area.dispatchEvent(new Event("input", { bubbles: true })); } };
  runwhy.ask = (question) => {
    if (!idle()) { if (box() && !box().value.trim()) put(question); if (box()) box().focus(); return; }
    suggested = question;
    document.getElementById("ask-this").click();
  };
  const hold = (event) => { if (!idle() || !box().value.trim()) { event.preventDefault(); event.stopImmediatePropagation(); } };
  window.addEventListener("click", (event) => { if (event.target.closest && event.target.closest("#send")) hold(event); }, true);
  window.addEventListener("keydown", (event) => { if (event.key === "Enter" && !event.shiftKey && !event.isComposing && event.target.closest && event.target.closest("#question")) hold(event); }, true);
  const busy = (now) => { const place = document.getElementById("live"); if (place) { place.setAttribute("aria-live", "polite"); place.setAttribute("aria-busy", String(now)); } };
  const come = () => document.querySelectorAll(".coming").forEach((one) => one.remove());
  runwhy.asking = (question) => {
    /* What Gradio keeps of the box, the session and the language may lag behind what is there. */
    const typed = !suggested, asked = suggested || (box() && box().value) || question, [session, language] = runwhy.given();
    suggested = "";
    flights++;
    if (!idle() || !String(asked).trim()) return ["", session, language];
    running = { question: asked, session };
    busy(true);
    if (typed) put("");
    const turns = document.querySelector("#talk .turns"), before = live();
    if (turns) {
      turns.querySelectorAll(".empty").forEach((empty) => empty.remove());
      if (before) { turns.appendChild(before.cloneNode(true)); before.remove(); }
      const coming = document.createElement("div"), words = document.createElement("p"), dots = document.createElement("p");
      coming.className = "coming"; words.className = "asked"; dots.className = "waiting";
      words.textContent = asked;
      dots.append(Object.assign(document.createElement("span"), { className: "dots" }));
      coming.append(words, dots);
      turns.append(coming);
    }
    toEnd();
    return [asked, session, language];
  };
  runwhy.unanswered = () => (running ? running.question : "");
  /* Without an answer at its end (the server failed, or cannot be reached) the question is not lost. */
  runwhy.answered = () => {
    if (flights) flights--;
    if (!running || flights) return;
    const { question } = running, turns = document.querySelector("#talk .turns"), growing = document.querySelector("#live .growing");
    const said = [...document.querySelectorAll("#talk .turn .asked")].pop();
    running = null;
    busy(false);
    come();
    if (growing) { growing.classList.remove("growing"); growing.querySelectorAll(".waiting").forEach((one) => one.remove()); }
    if (growing || (!live() && !(said && said.textContent === question))) {
      if (growing && turns && turns.dataset.broken) growing.append(Object.assign(document.createElement("p"), { className: "problem", textContent: turns.dataset.broken }));
      if (turns && box() && !box().value.trim() && turns.dataset.session === runwhy.session()) put(question);
    }
    toEnd();
  };
  ["opened", "closed"].forEach((what) => runwhy.on(what, () => {
    if (running && running.session === runwhy.session()) return;
    running = null;
    suggested = "";
    come();
    busy(false);
  }));

  const write = async (text) => {
    try { await navigator.clipboard.writeText(text); return true; } catch { /* no clipboard over plain http */ }
    const area = document.createElement("textarea");
    area.value = text;
    area.style.cssText = "position:fixed;opacity:0;top:0";
    document.body.appendChild(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  };
  runwhy.copy = write;
  const say = (tools, words) => { const place = tools.querySelector(".said"); if (place) { place.textContent = words; setTimeout(() => { place.textContent = ""; }, 4000); } };
  const rate = async (tools, good, reason) => {
    const turn = tools.closest(".turn").dataset.turn;
    try {
      const answer = await fetch(`/session/${encodeURIComponent(runwhy.session())}/feedback`, {
        method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ turn: Number(turn), good, reason }),
      });
      if (!answer.ok) say(tools, tools.dataset.failed);
      return answer.ok;
    } catch { say(tools, tools.dataset.failed); return false; }
  };
  const press = (tools, good) => ["good", "bad"].forEach((name) => {
    tools.querySelector(`[data-do=${name}]`).setAttribute("aria-pressed", String(good !== null && (name === "good") === good));
  });
  const actions = {
    copy: async (tools) => { if (await write(tools.dataset.copy)) say(tools, tools.dataset.copied); },
    prompt: async (tools) => {
      try {
        const answer = await fetch(`/session/${encodeURIComponent(runwhy.session())}/prompt?${new URLSearchParams({ question: tools.dataset.question, turn: tools.closest(".turn").dataset.turn })}`);
        if (answer.ok && await write(await answer.text())) { say(tools, tools.dataset.copied); return; }
      } catch { /* said below */ }
      say(tools, tools.dataset.failed);
    },
    good: async (tools, button) => {
      const good = button.getAttribute("aria-pressed") === "true" ? null : true;
      tools.querySelector(".reason").hidden = true;
      if (await rate(tools, good, "")) { press(tools, good); if (good) say(tools, tools.dataset.thanks); }
    },
    bad: async (tools, button) => {
      const good = button.getAttribute("aria-pressed") === "true" ? null : false;
      const form = tools.querySelector(".reason");
      if (await rate(tools, good, "")) { press(tools, good); form.hidden = good === null; if (good !== null) form.querySelector("input").focus(); }
    },
  };
  document.addEventListener("click", (event) => {
    if (!event.target.closest) return;
    const chip = event.target.closest("[data-ask]");
    if (chip) { runwhy.ask(chip.dataset.ask || chip.textContent); return; }
    const button = event.target.closest(".tools [data-do]");
    if (button) actions[button.dataset.do](button.closest(".tools"), button);
  });
  document.addEventListener("submit", async (event) => {
    if (!event.target.matches || !event.target.matches(".tools .reason")) return;
    event.preventDefault();
    const tools = event.target.closest(".tools");
    if (await rate(tools, false, event.target.reason.value)) { event.target.hidden = true; say(tools, tools.dataset.thanks); }
  });
})();
