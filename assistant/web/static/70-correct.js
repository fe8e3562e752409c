/* "This is verl 0.6": what was recognised, corrected. A version can be named for verl only. */
(() => {
  let said = ["", ""];
  const adjust = (form) => { form.querySelector(".version").hidden = form.framework.value !== "verl"; };
  document.addEventListener("toggle", (event) => { if (event.target.querySelectorAll) event.target.querySelectorAll("form.correct").forEach(adjust); }, true);
  document.addEventListener("change", (event) => { const form = event.target.closest && event.target.closest("form.correct"); if (form) adjust(form); });
  document.addEventListener("submit", (event) => {
    if (!event.target.matches || !event.target.matches("form.correct")) return;
    event.preventDefault();
    const { framework, era } = event.target;
    said = [framework.value, framework.value === "verl" ? era.value : ""];
    document.getElementById("correct").click();
  });
  window.runwhy.corrected = (framework, era, session, language) => [...said, session, language];
})();
