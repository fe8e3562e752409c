/* Plots: the library is fetched when the first plot comes into view, and never from elsewhere.
   <figure class="chart" data-src="/session/…/figure?…"> is drawn by itself; runwhy.draw(element, figure) draws what a script has.
   A click on a point whose customdata is [text, line] leads to that line of the log. */
(() => {
  let library = null;
  const plotly = () => {
    library = library || new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = document.body.dataset.plotly || "/static/plotly.js";
      script.onload = () => resolve(window.Plotly);
      script.onerror = () => { library = null; reject(new Error("plotly")); };
      document.head.appendChild(script);
    });
    return library;
  };
  const draw = async (element, figure) => {
    const Plotly = await plotly();
    if (!element.isConnected) return;
    await Plotly.react(element, figure.data, figure.layout, { displayModeBar: false, responsive: true, ...(figure.config || {}) });
    if (element.dataset.linked) return;
    element.dataset.linked = "yes";
    element.on("plotly_click", (event) => {
      const point = event.points && event.points[0], about = point && point.customdata;
      const line = Array.isArray(about) ? Number(about[1]) : NaN;
      if (line > 0) window.runwhy.openLine(line);
    });
  };
  window.runwhy.draw = draw;

  const load = async (figure) => {
    const place = figure.querySelector(".canvas") || figure;
    try {
      const answer = await fetch(figure.dataset.src);
      if (!answer.ok) throw new Error(String(answer.status));
      const drawn = await answer.json();
      await draw(place, drawn);
      if (drawn.label) place.setAttribute("aria-label", drawn.label);
      const caption = figure.querySelector("figcaption");
      if (caption && drawn.caption) caption.textContent = drawn.caption;
      figure.classList.add("drawn");
    } catch {
      figure.classList.add("failed");
    }
  };
  const inView = new IntersectionObserver((entries) => entries.forEach((entry) => {
    if (!entry.isIntersecting) return;
    inView.unobserve(entry.target);
    load(entry.target);
  }), { rootMargin: "300px" });
  const watch = (root) => root.querySelectorAll && root.querySelectorAll("figure.chart[data-src]:not(.watched)").forEach((figure) => {
    figure.classList.add("watched");
    inView.observe(figure);
  });
  new MutationObserver((changes) => changes.forEach((change) => change.addedNodes.forEach((node) => {
    if (node.nodeType === 1) watch(node.parentElement || node);
  }))).observe(document.documentElement, { childList: true, subtree: true });
})();
