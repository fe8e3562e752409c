/* Language and theme are the visitor's: taken from the browser, remembered in it. */
window.runwhy = (() => {
  const keep = (key, value) => { try { localStorage.setItem("runwhy." + key, value); } catch { /* private window */ } };
  const kept = (key) => { try { return localStorage.getItem("runwhy." + key); } catch { return null; } };
  const show = (language) => { document.documentElement.lang = language === "zh" ? "zh-CN" : "en"; return language; };
  const applyTheme = () => {
    const theme = kept("theme");
    if (theme) document.body.classList.toggle("dark", theme === "dark");
  };
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

  return {
    language: () => {
      applyTheme();
      return show(kept("language") || ((navigator.language || "en").toLowerCase().startsWith("zh") ? "zh" : "en"));
    },
    setLanguage: (language) => { keep("language", show(language)); return language; },
    toggleTheme: () => {
      const dark = document.body.classList.toggle("dark");
      keep("theme", dark ? "dark" : "light");
    },
    showAnswer: () => setTimeout(() => {
      const asked = [...document.querySelectorAll("#conversation .user.message, #conversation .user-row")].pop();
      if (!asked) return;
      let box = asked.parentElement;
      while (box && box.id !== "conversation" && box.scrollHeight <= box.clientHeight + 4) box = box.parentElement;
      if (box && box.id !== "conversation") box.scrollTop += asked.getBoundingClientRect().top - box.getBoundingClientRect().top - 12;
    }, 120),
    showTop: () => {
      window.scrollTo(0, 0);
      let tries = 0;
      const focus = () => {
        const verdict = document.getElementById("verdict");
        if (verdict) verdict.focus({ preventScroll: true });
        else if (tries++ < 40) setTimeout(focus, 50);
      };
      focus();
    },
  };
})();
