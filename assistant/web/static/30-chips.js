/* Number chips: one small card says where a number stands; a click leads there. */
(() => {
  let card = null, shownFor = null;
  const hide = () => { if (card) card.hidden = true; shownFor = null; };
  const place = (chip) => {
    if (!chip.dataset.about) return hide();
    if (!card) {
      card = document.createElement("div");
      card.id = "chip-card";
      card.setAttribute("role", "tooltip");
      document.body.appendChild(card);
    }
    card.textContent = chip.dataset.about;
    card.hidden = false;
    shownFor = chip;
    const at = chip.getBoundingClientRect(), size = card.getBoundingClientRect();
    const left = Math.min(Math.max(8, at.left), window.innerWidth - size.width - 8);
    const above = at.top - size.height - 8;
    card.style.left = left + "px";
    card.style.top = (above > 8 ? above : at.bottom + 8) + "px";
  };
  const chipOf = (event) => (event.target.closest ? event.target.closest(".num, .to-line") : null);
  document.addEventListener("pointerover", (event) => { const chip = chipOf(event); if (chip) place(chip); else if (shownFor && document.activeElement !== shownFor) hide(); });
  document.addEventListener("focusin", (event) => { const chip = chipOf(event); if (chip) place(chip); else hide(); });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  document.addEventListener("scroll", hide, true);
  document.addEventListener("click", (event) => {
    const chip = chipOf(event);
    if (!chip) return;
    const { line, metric } = chip.dataset, step = chip.dataset.step === undefined ? null : Number(chip.dataset.step);
    if (line) window.runwhy.openLine(Number(line), metric ? { metric, step } : null);
    else if (metric) window.runwhy.openPlot(metric, step);
  });
})();
