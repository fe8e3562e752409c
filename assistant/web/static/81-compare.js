/* Compare: any metric of both runs, drawn below those that tell most. */
(() => {
  document.addEventListener("change", async (event) => {
    const list = event.target.closest ? event.target.closest("select.side-more") : null;
    if (!list || !list.value) return;
    const place = list.closest("p");
    let figure = place.nextElementSibling;
    if (!figure || !figure.matches("figure.side-chart")) {
      figure = document.createElement("figure");
      figure.className = "chart side-chart watched";
      const canvas = document.createElement("div"), caption = document.createElement("figcaption");
      canvas.className = "canvas";
      canvas.setAttribute("role", "img");
      caption.className = "caption";
      figure.append(canvas, caption);
      place.after(figure);
    }
    const wanted = list.value, canvas = figure.querySelector(".canvas"), caption = figure.querySelector("figcaption");
    try {
      const answer = await fetch(list.dataset.src + "&" + new URLSearchParams({ metric: wanted }));
      if (!answer.ok) throw new Error(String(answer.status));
      const drawn = await answer.json();
      if (list.value !== wanted) return;
      canvas.hidden = !drawn.data.length;
      if (drawn.data.length) await window.runwhy.draw(canvas, drawn);
      if (list.value !== wanted) return;
      canvas.setAttribute("aria-label", drawn.label);
      caption.textContent = drawn.caption;
      figure.classList.remove("failed");
    } catch {
      if (list.value === wanted) figure.classList.add("failed");
    }
  });
})();
