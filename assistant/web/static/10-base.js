/* The page's own script. Language and theme are the visitor's: taken from the browser, remembered in it. */
window.runwhy = (() => {
  const keep = (key, value) => { try { localStorage.setItem("runwhy." + key, value); } catch { /* private window */ } };
  const kept = (key) => { try { return localStorage.getItem("runwhy." + key); } catch { return null; } };
  const showLanguage = (language) => { document.documentElement.lang = language === "zh" ? "zh-CN" : "en"; return language; };
  const applyTheme = () => {
    const theme = kept("theme");
    if (theme) document.body.classList.toggle("dark", theme === "dark");
  };

  /* What other scripts of the page want to know. */
  const listeners = { opened: [], closed: [], view: [], language: [] };
  const tell = (what, ...about) => listeners[what].forEach((callback) => callback(...about));

  /* Panels: one is shown at a time; on a wide screen the conversation stands beside it. */
  const seen = new Set();
  let current = "findings";
  /* The session whose report stands open; a tab that was chosen while it was still opening. */
  let open = "", early = null;
  const wide = () => window.matchMedia("(min-width: 1081px)").matches;
  const tabs = () => [...document.querySelectorAll("#tabs [role=tab]")].filter((tab) => tab.offsetParent);
  const mark = () => {
    const report = document.getElementById("report");
    if (!report) return;
    const back = document.getElementById("way-back");
    if (back) back.hidden = !(history.state && history.state.jump);
    report.dataset.view = current;
    document.body.dataset.view = current;
    document.querySelectorAll("#tabs [role=tab]").forEach((tab) => {
      const here = tab.dataset.panel === current;
      tab.setAttribute("aria-selected", String(here));
      tab.tabIndex = here ? 0 : -1;
    });
    document.querySelectorAll("#panels > [id^=panel-]").forEach((panel) => {
      const name = panel.id.slice("panel-".length);
      panel.setAttribute("role", "tabpanel");
      panel.setAttribute("aria-labelledby", "tab-" + name);
      panel.dataset.shown = String(name === current);
    });
  };
  /* The tabs are drawn anew in another language: the chosen one stays chosen. */
  new MutationObserver(() => {
    const tab = document.getElementById("tab-" + current);
    if (tab && tab.getAttribute("aria-selected") !== "true") mark();
  }).observe(document.documentElement, { childList: true, subtree: true, attributes: true, attributeFilter: ["aria-selected"] });
  /* Another log empties the panels: what is asked for before that is done would be wiped out. */
  let epoch = 0, emptying = 0; /* 1: asked for, 2: on its way */
  const emptied = () => { const turns = document.querySelector("#talk .turns"); return !emptying && Boolean(turns) && turns.dataset.session === session(); };
  /* An answer may come when another log is open: what shows another session is not to be seen. */
  const only = document.head.appendChild(document.createElement("style"));
  const hideOthers = () => { only.textContent = `.of[data-session]:not([data-session="${CSS.escape(session())}"]), #talk .turns:not([data-session="${CSS.escape(session())}"]) { display: none !important; }`; };
  const press = (name) => { const button = document.getElementById(name); if (button) button.click(); };
  const refill = () => {
    hideOthers();
    epoch++;
    emptying = 1;
    press("empty");
    press("retext");
  };
  const look = (name, tries = 200) => {
    if (seen.has(name)) return;
    if (!emptied() && tries) { setTimeout(() => { if (current === name) look(name, tries - 1); }, 50); return; }
    if (filling.has(name)) return; /* it is looked at again when that is done */
    const button = document.getElementById("viewed-" + name);
    if (!button) return;
    seen.add(name);
    filling.set(name, { of: now() + epoch, late: setTimeout(() => filled(name, true), LATE) });
    takesInput(name, false);
    button.click();
  };
  /* A panel that is being filled takes no input: the server's answer would undo what was chosen in the meantime. Should that answer
     not come, or come for the log or the language of before, the panel is filled anew when it is looked at. */
  const LATE = 30000;
  const filling = new Map();
  const language = () => (document.documentElement.lang.startsWith("zh") ? "zh" : "en");
  const now = () => session() + " " + language();
  const takesInput = (name, yes) => {
    const panel = document.getElementById("panel-" + name);
    if (panel) panel.inert = !yes && Boolean(panel.querySelector("input, textarea"));
  };
  const again = (name) => { seen.delete(name); if (session() && current === name) look(name); };
  const filled = (name, late = false) => setTimeout(() => {
    const asked = filling.get(name);
    if (!asked) return;
    clearTimeout(asked.late);
    filling.delete(name);
    takesInput(name, true);
    if (late) seen.delete(name); else if (asked.of !== now() + epoch) again(name); else check(name);
  }, 0);
  /* What a panel shows must be of this session and in this language, whenever it was asked for. */
  const check = (name) => {
    const shown = document.querySelector(`#panel-${name} .of[data-session]`);
    if (shown && shown.dataset.session + " " + shown.dataset.language !== now()) again(name);
  };
  const turnTo = (name, focus) => {
    current = name;
    mark();
    look(name);
    const tab = document.getElementById("tab-" + name);
    if (tab) { const list = tab.parentElement; list.scrollLeft = tab.offsetLeft - list.offsetLeft - (list.clientWidth - tab.offsetWidth) / 2; if (focus) tab.focus({ preventScroll: true }); }
    shade();
    tell("view", name);
  };
  const toTop = () => {
    const tabs = document.getElementById("tabs"), report = document.getElementById("report");
    if (!tabs || !report) return;
    const top = report.getBoundingClientRect().top + window.scrollY;
    if (window.scrollY > top) window.scrollTo(0, top);
  };
  /* ``jump``: a number or a link led there; then the way back is offered. */
  const show = (name, focus, jump = false) => {
    if (name === "ask" && wide()) {
      const question = document.querySelector("#question textarea");
      if (question) question.focus();
      return;
    }
    if (open !== session()) { early = name; current = name; mark(); return; }
    if (name !== current) { leave(name, jump); toTop(); }
    turnTo(name, focus);
  };

  /* The browser's back button goes through the panels, to where one was reading. */
  const places = new Map();
  let heading = ""; /* where the browser's buttons lead, while the server is on the way there */
  const goBack = () => { const back = document.getElementById("back"); if (back && back.offsetParent) back.click(); };
  const leave = (name, jump) => {
    const at = history.state || {};
    places.set(at.n || 0, document.activeElement);
    history.replaceState({ ...at, view: current, session: open, top: window.scrollY }, "");
    history.pushState({ view: name, session: open, n: (at.n || 0) + 1, jump }, "");
  };
  window.addEventListener("popstate", (event) => {
    const at = event.state;
    if (!at || !at.view) return;
    if (at.view === "start") {
      if (session()) document.getElementById("another").click();
      if (session() || heading) heading = "start";
      return;
    }
    if (!session()) { heading = "report"; goBack(); return; }
    if (heading) heading = "report";
    if (at.session !== open) return;
    turnTo(at.view);
    let tries = 0;
    const settle = () => {
      window.scrollTo(0, at.top || 0);
      if (Math.abs(window.scrollY - (at.top || 0)) > 2 && tries++ < 20) { setTimeout(settle, 50); return; }
      const from = places.get(at.n || 0);
      if (from && from.isConnected) from.focus({ preventScroll: true });
    };
    settle();
  });

  /* A shade at the edge says that there are more tabs. */
  const shade = () => {
    const list = document.querySelector("#tabs [role=tablist]");
    if (list) list.parentElement.classList.toggle("more", list.scrollWidth - list.clientWidth - list.scrollLeft > 6);
  };
  document.addEventListener("scroll", (event) => { if (event.target.matches && event.target.matches("[role=tablist]")) shade(); }, true);
  window.addEventListener("resize", shade);

  document.addEventListener("click", (event) => {
    const tab = event.target.closest ? event.target.closest("#tabs [role=tab]") : null;
    if (tab) show(tab.dataset.panel);
  });
  document.addEventListener("keydown", (event) => {
    if (!event.target.closest || !event.target.closest("#tabs [role=tab]")) return;
    const all = tabs(), at = all.indexOf(event.target);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    show(all[(to + all.length) % all.length].dataset.panel, true);
  });

  /* A double click opens a log once. */
  window.addEventListener("click", (event) => {
    if (event.detail > 1 && event.target.closest && event.target.closest("#go, #samples button, #compare-go")) { event.preventDefault(); event.stopImmediatePropagation(); }
  }, true);

  /* A text box gets slow with megabytes in it: a large paste is sent as a file instead. */
  const LARGE = 500000;
  document.addEventListener("paste", (event) => {
    if (!event.target.closest || !event.target.closest("#paste")) return;
    const text = event.clipboardData ? event.clipboardData.getData("text/plain") : "";
    const input = document.querySelector("#file input[type=file]");
    if (text.length < LARGE || event.target.value || !input) return;
    event.preventDefault();
    const carrier = new DataTransfer();
    carrier.items.add(new File([text], "pasted.log", { type: "text/plain" }));
    input.files = carrier.files;
    input.dispatchEvent(new Event("change", { bubbles: true }));
  }, true);

  const focusVerdict = () => {
    window.scrollTo(0, 0);
    let tries = 0;
    const focus = () => {
      const verdict = document.getElementById("verdict");
      if (verdict) verdict.focus({ preventScroll: true });
      else if (tries++ < 40) setTimeout(focus, 50);
    };
    focus();
  };

  /* The session of this tab outlives a reload of the page; a link to one comes in the address's fragment, which no server's log sees. */
  const remember = (id) => { try { if (id) sessionStorage.setItem("runwhy.session", id); else sessionStorage.removeItem("runwhy.session"); } catch { /* private window */ } };
  const remembered = () => { try { return sessionStorage.getItem("runwhy.session") || ""; } catch { return ""; } };
  const session = () => { const box = document.querySelector("#session-id textarea, #session-id input"); return box ? box.value : ""; };
  /* What was typed and not yet sent outlives a reload of the page, too (the page reloads itself when a lost server is back). */
  const DRAFTS = { question: "#question textarea", paste: "#paste textarea", "compare-paste": "#compare-paste textarea" };
  window.addEventListener("pagehide", () => {
    const typed = {};
    Object.entries(DRAFTS).forEach(([name, css]) => { const area = document.querySelector(css); if (area && area.value.trim()) typed[name] = area.value; });
    if (!typed.question && api.unanswered()) typed.question = api.unanswered();
    try { if (Object.keys(typed).length) sessionStorage.setItem("runwhy.typed", JSON.stringify({ session: session(), typed })); } catch { /* private window, or no room */ }
  });
  let typed = null;
  const takeTyped = () => {
    try { typed = JSON.parse(sessionStorage.getItem("runwhy.typed") || "null"); sessionStorage.removeItem("runwhy.typed"); } catch { typed = null; }
  };
  const write = (area, text) => { area.value = text; area.dispatchEvent(new Event("input", { bubbles: true })); };
  const putTyped = () => {
    if (!typed || (typed.session && typed.session !== session())) return;
    Object.entries(typed.typed).forEach(([name, text]) => { const area = document.querySelector(DRAFTS[name]); if (area && !area.value) write(area, text); });
    typed = null;
  };
  const settled = (callback, tries = 400) => {
    if (session() && document.querySelector("#report #tabs")) callback();
    else if (tries) setTimeout(() => settled(callback, tries - 1), 50);
  };
  const begin = (focus) => settled(() => {
    const turned = heading === "start";
    heading = "";
    if (turned) { document.getElementById("another").click(); return; }
    const before = history.state || {}, again = open === session();
    remember(session());
    seen.clear();
    open = session();
    const reloaded = !focus && before.session === open && before.view !== "start" && document.getElementById("tab-" + before.view);
    current = early || (reloaded ? before.view : "findings");
    early = null;
    if (focus && !again) history.replaceState({ view: "start", n: before.n || 0 }, "");
    if (focus && !again) history.pushState({ view: current, session: open, n: (before.n || 0) + 1 }, "");
    else history.replaceState({ ...before, view: current, session: open }, "");
    mark();
    shade();
    tell("opened");
    if (current !== "findings") turnTo(current);
    else if (focus) focusVerdict();
  });

  document.addEventListener("click", (event) => {
    if (!event.target.closest) return;
    if (event.target.closest("#theme-switch")) {
      const dark = document.body.classList.toggle("dark");
      keep("theme", dark ? "dark" : "light");
    }
    const link = event.target.closest(".copy-link");
    if (link) api.copy(link.closest("p").querySelector("input.link").value).then((done) => { if (done) link.textContent = link.dataset.copied; });
    const jump = event.target.closest("[data-show]");
    if (jump) { event.preventDefault(); show(jump.dataset.show, true, true); }
    if (event.target.closest("#way-back")) history.back();
  });
  /* What Gradio says of a connection that failed, in words of the page. */
  const SAID = [[/^Connection to the server was lost/, "lost"], [/^(Connection errored out|HTTP 5\d\d|.*(Failed to fetch|NetworkError|Load failed))/, "notReached"],
    [/exceed the maximum allowed size of ([^:]+)/, "uploadTooLarge"]];
  new MutationObserver(() => document.querySelectorAll(".toast-body .toast-text, .toast-body [class*=text]").forEach((place) => {
    const words = document.querySelector("#brand [data-lost]"), said = place.childElementCount ? "" : place.textContent.trim();
    const [pattern, key] = SAID.find(([one]) => one.test(said)) || [];
    if (words && key) place.textContent = words.dataset[key === "notReached" && api.uploadFailed() ? "uploadFailed" : key].replace("{limit}", pattern.exec(said)[1]);
  })).observe(document.documentElement, { childList: true, subtree: true });
  new MutationObserver(() => document.querySelectorAll("input.link[data-token]").forEach((input) => {
    input.value = `${location.origin}${location.pathname}#link=${input.dataset.token}`;
    input.removeAttribute("data-token");
  })).observe(document.documentElement, { childList: true, subtree: true });

  const api = {
    keep, kept, show, session, language, now, check, refill,
    on: (what, callback) => listeners[what].push(callback),
    starting: () => {
      applyTheme();
      const language = kept("language") || ((navigator.language || "en").toLowerCase().startsWith("zh") ? "zh" : "en");
      showLanguage(language);
      const link = location.hash.startsWith("#link=") ? "link:" + location.hash.slice(6) : "";
      if (link) history.replaceState(null, "", location.pathname + location.search);
      const wanted = link || remembered();
      takeTyped();
      document.body.classList.toggle("restoring", Boolean(wanted));
      return [wanted, language];
    },
    restored: () => {
      document.body.classList.remove("restoring");
      if (session()) begin(false); else { remember(""); putTyped(); }
    },
    /* The server could not say: what is remembered stays. */
    unrestored: () => {
      document.body.classList.remove("restoring");
      const place = document.getElementById("status"), told = document.querySelector("#brand [data-not-restored]");
      if (!remembered() || !place || !told) return;
      const words = document.createElement("p");
      words.className = "problem";
      words.setAttribute("role", "alert");
      words.textContent = told.dataset.notRestored;
      place.append(words);
    },
    given: () => [session(), language()],
    /* What is really asked for, which may be later than the wish to look. */
    sending: (name) => { const asked = filling.get(name); if (asked) asked.of = now() + epoch; return api.given(); },
    emptying: () => { emptying = 2; return api.given(); },
    emptied: () => {
      if (emptying === 2) emptying = 0;
      else setTimeout(() => { if (emptying === 1) press("empty"); }, 500);
      if (!emptying && session()) setTimeout(putTyped, 0);
    },
    setLanguage: (language) => {
      keep("language", showLanguage(language));
      seen.clear();
      press("retext");
      setTimeout(() => { mark(); if (session()) look(current); tell("language", language); }, 60);
      return language;
    },
    opened: () => begin(true),
    filled,
    closed: () => {
      remember(""); seen.clear(); current = "findings"; open = ""; early = null;
      filling.forEach((asked, name) => takesInput(name, true));
      const turned = heading === "report";
      heading = "";
      if (turned) { setTimeout(goBack, 100); return; }
      history.replaceState({ view: "start", n: (history.state || {}).n || 0 }, "");
      tell("closed");
      window.scrollTo(0, 0);
    },
    unanswered: () => "",
    uploadFailed: () => false,
    openLine: () => {},
    openPlot: () => {},
  };
  return api;
})();
