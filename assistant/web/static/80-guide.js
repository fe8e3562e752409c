/* The guide's buttons: which option was taken on which page goes to the server, which answers with the next page. */
(() => {
  let taken = ["", ""];
  document.addEventListener("click", (event) => {
    const button = event.target.closest ? event.target.closest("#guide [data-guide]") : null;
    if (!button) return;
    const page = button.closest(".guide");
    if (page.getAttribute("aria-busy") === "true") return;
    page.setAttribute("aria-busy", "true");
    taken = [page.dataset.depth, button.dataset.guide];
    document.getElementById("guide-go").click();
  });
  window.runwhy.guided = (depth, choice, session, language) => [...taken, session, language];
  window.runwhy.guideShown = () => setTimeout(() => {
    const page = document.querySelector("#guide .guide"); /* the same one still, if the server did not answer */
    if (page) page.removeAttribute("aria-busy");
    window.runwhy.check("guide");
    const title = document.getElementById("guide-title");
    if (!title) return;
    title.focus({ preventScroll: true });
    if (title.getBoundingClientRect().top < 0) title.scrollIntoView({ block: "start" });
  }, 30);
})();
