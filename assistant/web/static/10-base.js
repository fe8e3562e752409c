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
  const wide = () => window.matchMedia("(min-width: 1081px)").matches;
  const tabs = () => [...document.querySelectorAll("#tabs [role=tab]")].filter((tab) => tab.offsetParent);
  const mark = () => {
    const report = document.getElementById("report");
    if (!report) return;
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
  const look = (name) => {
    if (seen.has(name)) return;
    const button = document.getElementById("viewed-" + name);
    if (button) { seen.add(name); button.click(); }
  };
  const show = (name, focus) => {
    if (name === "ask" && wide()) {
      const question = document.querySelector("#question textarea");
      if (question) question.focus();
      return;
    }
    current = name;
    mark();
    look(name);
    const tab = document.getElementById("tab-" + name);
    if (tab) { tab.scrollIntoView({ block: "nearest", inline: "nearest" }); if (focus) tab.focus(); }
    tell("view", name);
  };
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
  const settled = (callback, tries = 40) => {
    if (session() && document.querySelector("#report #tabs")) callback();
    else if (tries) setTimeout(() => settled(callback, tries - 1), 50);
  };
  const begin = (focus) => settled(() => {
    remember(session());
    seen.clear();
    current = "findings";
    mark();
    tell("opened");
    if (focus) focusVerdict();
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
    if (jump) { event.preventDefault(); show(jump.dataset.show, true); }
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
    closed: () => { remember(""); seen.clear(); current = "findings"; tell("closed"); window.scrollTo(0, 0); },
    openLine: () => {},
    openPlot: () => {},
  };
  return api;
})();
