/* Files on their way to the server: how far, and a way to stop. Gradio sends them by fetch, which tells neither. */
(() => {
  const runwhy = window.runwhy, plain = window.fetch.bind(window), MB = 1048576;
  let sending = null, failedAt = 0;
  const show = () => {
    document.body.toggleAttribute("data-uploading", Boolean(sending));
    if (!sending) return;
    document.querySelectorAll(".sending").forEach((place) => {
      const { name, done, total } = sending, words = place.querySelector("[data-words]"), told = { name, done: (done / MB).toFixed(1), total: (total / MB).toFixed(1) };
      words.textContent = words.dataset.words.replace(/\{(\w+)\}/g, (all, key) => (key in told ? told[key] : all));
      place.querySelector("progress").value = total ? done / total : 0;
    });
  };
  const send = (address, { method, headers, body }) => new Promise((resolve, reject) => {
    const request = new XMLHttpRequest(), files = [...body.values()].filter((one) => one instanceof File);
    const mine = { request, name: files.map((file) => file.name).join(", ").slice(0, 120), done: 0, total: files.reduce((sum, file) => sum + file.size, 0) };
    const over = () => { if (sending === mine) { sending = null; show(); } };
    request.open(method || "POST", address);
    new Headers(headers || {}).forEach((value, key) => request.setRequestHeader(key, value));
    request.upload.onprogress = (event) => { mine.done = Math.min(event.loaded, mine.total); if (sending === mine) show(); };
    request.onload = () => { over(); if (request.status >= 500) failedAt = Date.now(); resolve(new Response(request.responseText, { status: request.status, headers: { "content-type": request.getResponseHeader("content-type") || "text/plain" } })); };
    request.onerror = () => { over(); failedAt = Date.now(); reject(new TypeError("Failed to fetch")); };
    request.onabort = () => { over(); resolve(new Response("[]", { status: 200, headers: { "content-type": "application/json" } })); };
    sending = mine;
    show();
    request.send(body);
  });
  window.fetch = (to, more, ...rest) => {
    const address = String((to && to.url) || to);
    /* Gradio's own progress would hold a connection open for ever when an upload is stopped. */
    if (address.includes("/upload_progress")) return Promise.resolve(new Response('data: {"msg":"done"}\n\n', { headers: { "content-type": "text/event-stream" } }));
    return more && more.body instanceof FormData && /\/upload(\?|$)/.test(address) ? send(address, more) : plain(to, more, ...rest);
  };
  const stop = () => { if (sending) sending.request.abort(); };
  runwhy.uploadFailed = () => Date.now() - failedAt < 2000;
  document.addEventListener("click", (event) => { if (event.target.closest && event.target.closest(".cancel-upload, #go, #samples button, #back, #compare-go")) stop(); });
  /* Who opens another log meanwhile does not want to be taken from it when the files have come. */
  let shown = "";
  ["opened", "closed"].forEach((what) => runwhy.on(what, () => { if (runwhy.session() !== shown) { shown = runwhy.session(); stop(); } }));
})();
