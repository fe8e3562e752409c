/* The conversation: what is asked, how the last turn joins the talk, and what can be done with an answer. */
(() => {
  const runwhy = window.runwhy;
  let suggested = "";
  const box = () => document.querySelector("#question textarea");
  const scroller = () => document.getElementById("conversation");
  const toEnd = () => setTimeout(() => {
    const last = document.querySelector("#live .turn"), area = scroller();
    if (!last || !area) return;
    area.scrollTop += last.getBoundingClientRect().top - area.getBoundingClientRect().top - 12;
    if (!window.matchMedia("(min-width: 1081px)").matches && area.scrollHeight <= area.clientHeight + 4) last.scrollIntoView({ block: "start" });
  }, 60);

  runwhy.ask = (question) => { suggested = question; document.getElementById("ask-this").click(); };
  const busy = (now) => { const live = document.getElementById("live"); if (live) { live.setAttribute("aria-live", "polite"); live.setAttribute("aria-busy", String(now)); } };
  runwhy.asking = (question, session, language) => {
    const asked = document.querySelector("#live .growing") ? "" : suggested || question;
    suggested = "";
    if (!String(asked).trim()) return ["", session, language];
    busy(true);
    const turns = document.querySelector("#talk .turns"), live = document.querySelector("#live .turn");
    if (turns && live) {
      turns.querySelectorAll(".empty").forEach((empty) => empty.remove());
      turns.appendChild(live.cloneNode(true));
      live.remove();
    } else if (turns) turns.querySelectorAll(".empty").forEach((empty) => empty.remove());
    toEnd();
    return [asked, session, language];
  };
  runwhy.answered = () => { busy(false); toEnd(); };

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
    const answer = await fetch(`/session/${encodeURIComponent(runwhy.session())}/feedback`, {
      method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ turn: Number(turn), good, reason }),
    });
    return answer.ok;
  };
  const press = (tools, good) => ["good", "bad"].forEach((name) => {
    tools.querySelector(`[data-do=${name}]`).setAttribute("aria-pressed", String(good !== null && (name === "good") === good));
  });
  const actions = {
    copy: async (tools) => { if (await write(tools.dataset.copy)) say(tools, tools.dataset.copied); },
    prompt: async (tools) => {
      const answer = await fetch(`/session/${encodeURIComponent(runwhy.session())}/prompt?${new URLSearchParams({ question: tools.dataset.question, turn: tools.closest(".turn").dataset.turn })}`);
      if (answer.ok && await write(await answer.text())) say(tools, tools.dataset.copied);
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
