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
  /* Opening a log empties the panels: what is asked for before that is done would be wiped out. */
  const emptied = () => { const turns = document.querySelector("#talk .turns"); return Boolean(turns) && turns.dataset.session === session(); };
  const look = (name, tries = 200) => {
    if (seen.has(name)) return;
    if (!emptied() && tries) { setTimeout(() => { if (current === name) look(name, tries - 1); }, 50); return; }
    const button = document.getElementById("viewed-" + name);
    if (button) { seen.add(name); busy(name, 1); button.click(); }
  };
  /* A panel that is being filled takes no input: the server's answer would undo what was chosen in the meantime. */
  const filling = new Map();
  const busy = (name, more) => {
    const panel = document.getElementById("panel-" + name), left = Math.max(0, (filling.get(name) || 0) + more);
    filling.set(name, left);
    if (panel) panel.inert = left > 0 && Boolean(panel.querySelector("input, textarea"));
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
  const leave = (name, jump) => {
    const at = history.state || {};
    places.set(at.n || 0, document.activeElement);
    history.replaceState({ ...at, view: current, session: open, top: window.scrollY }, "");
    history.pushState({ view: name, session: open, n: (at.n || 0) + 1, jump }, "");
  };
  window.addEventListener("popstate", (event) => {
    const at = event.state;
    if (!at || !at.view) return;
    if (at.view === "start") { if (session()) document.getElementById("another").click(); return; }
    if (!session()) { const back = document.getElementById("back"); if (back && back.offsetParent) back.click(); return; }
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
  const settled = (callback, tries = 400) => {
    if (session() && document.querySelector("#report #tabs")) callback();
    else if (tries) setTimeout(() => settled(callback, tries - 1), 50);
  };
  const begin = (focus) => settled(() => {
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
  new MutationObserver(() => document.querySelectorAll("input.link[data-token]").forEach((input) => {
    input.value = `${location.origin}${location.pathname}#link=${input.dataset.token}`;
    input.removeAttribute("data-token");
  })).observe(document.documentElement, { childList: true, subtree: true });

  const api = {
    keep, kept, show, session,
    on: (what, callback) => listeners[what].push(callback),
    starting: () => {
      applyTheme();
      const language = kept("language") || ((navigator.language || "en").toLowerCase().startsWith("zh") ? "zh" : "en");
      showLanguage(language);
      const link = location.hash.startsWith("#link=") ? "link:" + location.hash.slice(6) : "";
      if (link) history.replaceState(null, "", location.pathname + location.search);
      const wanted = link || remembered();
      document.body.classList.toggle("restoring", Boolean(wanted));
      return [wanted, language];
    },
    restored: () => {
      document.body.classList.remove("restoring");
      if (session()) begin(false); else remember("");
    },
    setLanguage: (language) => {
      keep("language", showLanguage(language));
      seen.clear();
      setTimeout(() => { mark(); if (session()) look(current); tell("language", language); }, 60);
      return language;
    },
    opened: () => begin(true),
    filled: (name) => busy(name, -1),
    closed: () => {
      remember(""); seen.clear(); current = "findings"; open = ""; early = null;
      history.replaceState({ view: "start", n: (history.state || {}).n || 0 }, "");
      tell("closed");
      window.scrollTo(0, 0);
    },
    openLine: () => {},
    openPlot: () => {},
  };
  return api;
})();
