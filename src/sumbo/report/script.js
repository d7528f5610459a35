"use strict";
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const tip = document.getElementById("tip");
  let pinned = null;

  function place(event) {
    const box = tip.getBoundingClientRect();
    let x = event.clientX + 14, y = event.clientY + 14;
    if (x + box.width > innerWidth - 8) x = Math.max(8, event.clientX - box.width - 14);
    if (y + box.height > innerHeight - 8) y = Math.max(8, event.clientY - box.height - 14);
    tip.style.left = x + "px";
    tip.style.top = y + "px";
  }
  function show(text, event) {
    tip.textContent = text;
    tip.style.display = "block";
    place(event);
  }
  function hide() { tip.style.display = "none"; }

  function shown(v) {
    if (v === null || v === undefined) return "–";
    return typeof v === "number" ? String(Number(v.toPrecision(6))).replace("-", "−") : String(v);
  }
  // What one evaluation was: its number, value, and the parameters that matter most.
  function described(i) {
    const value = data.columns[data.names.length][i];
    const lines = ["Evaluation " + (i + 1) + ": " + (data.status[i] === "failed" ? "failed" : shown(value))];
    if (data.status[i] === "infeasible") lines[0] += " (breaks a constraint)";
    for (const k of data.order.slice(0, 8)) lines.push(data.names[k] + " = " + shown(data.columns[k][i]));
    if (data.names.length > 8) lines.push("… " + (data.names.length - 8) + " more in the table");
    if (data.times[i]) lines.push(data.times[i] + " UTC");
    return lines.join("\n");
  }
  function mark(i, on) {
    for (const e of document.querySelectorAll('[data-i="' + i + '"]')) e.classList.toggle("hot", on);
  }
  function select(i) {
    if (pinned !== null) mark(pinned, false);
    pinned = pinned === i ? null : i;
    if (pinned !== null) mark(pinned, true);
  }

  document.addEventListener("pointerover", function (event) {
    const e = event.target.closest && event.target.closest("[data-i]");
    if (!e) return;
    mark(Number(e.dataset.i), true);
    if (e.tagName.toLowerCase() === "circle") show(described(Number(e.dataset.i)), event);
  });
  document.addEventListener("pointerout", function (event) {
    const e = event.target.closest && event.target.closest("[data-i]");
    if (!e) return;
    const i = Number(e.dataset.i);
    if (i !== pinned) mark(i, false);
    hide();
  });
  document.addEventListener("click", function (event) {
    const e = event.target.closest && event.target.closest("[data-i]");
    if (e) select(Number(e.dataset.i));
  });

  // Curves and maps: the nearest value under the pointer, in the picture's own pixels.
  function nearest(list, v) {
    let best = 0;
    for (let k = 1; k < list.length; k++) if (Math.abs(list[k] - v) < Math.abs(list[best] - v)) best = k;
    return best;
  }
  function inside(svg, event) {
    const box = svg.getBoundingClientRect(), view = svg.viewBox.baseVal;
    return [(event.clientX - box.left) * view.width / box.width, (event.clientY - box.top) * view.height / box.height];
  }
  function follow(svg, text) {
    svg.addEventListener("pointermove", function (event) {
      if (event.target.closest("[data-i]")) return;
      show(text(inside(svg, event)), event);
    });
    svg.addEventListener("pointerleave", hide);
  }
  for (const svg of document.querySelectorAll("svg[data-h]")) {
    const rows = JSON.parse(svg.dataset.h), xs = rows.map((r) => r[0]);
    const dot = document.createElementNS("http://www.w3.org/2000/svg", "circle");
    dot.setAttribute("r", "4");
    dot.setAttribute("fill", "none");
    svg.appendChild(dot);
    follow(svg, function (at) {
      const row = rows[nearest(xs, at[0])];
      dot.setAttribute("cx", row[0]);
      dot.setAttribute("cy", row[1]);
      dot.setAttribute("fill", "#1b2127");
      return row[2];
    });
    svg.addEventListener("pointerleave", () => dot.setAttribute("fill", "none"));
  }
  for (const svg of document.querySelectorAll("svg[data-g]")) {
    const g = JSON.parse(svg.dataset.g);
    follow(svg, function (at) {
      const i = nearest(g.y, at[1]), j = nearest(g.x, at[0]);
      return g.n[0] + " = " + g.a[j] + "\n" + g.n[1] + " = " + g.b[i] + "\nprediction " + g.v[i][j];
    });
  }

  // The table: sorting by a column, and the file of all evaluations.
  const table = document.querySelector(".all table");
  if (table) {
    const body = table.tBodies[0], heads = Array.from(table.tHead.rows[0].cells);
    heads.forEach(function (head, column) {
      const button = head.querySelector("button");
      if (!button) return;
      button.addEventListener("click", function () {
        const up = head.getAttribute("aria-sort") !== "ascending";
        heads.forEach((h) => h.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const which = data.sort[column];
        const list = which === -1 ? data.status.map((_, i) => i) : which === -2 ? data.status : data.columns[which];
        const key = (tr) => list[Number(tr.dataset.i)];
        const rows = Array.from(body.rows);
        rows.sort(function (a, b) {
          const p = key(a), q = key(b);
          if (p === null || q === null) return (p === null) - (q === null);
          const sign = typeof p === "number" && typeof q === "number" ? p - q : String(p).localeCompare(String(q));
          return up ? sign : -sign;
        });
        rows.forEach((r) => body.appendChild(r));
      });
    });
  }
  function cell(v) {
    if (v === null || v === undefined) return "";
    const text = v === true ? "True" : v === false ? "False" : String(v);
    return /[",\n\r]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
  }
  const download = document.getElementById("csv");
  if (download) download.addEventListener("click", function () {
    const lines = [data.head.map(cell).join(",")];
    for (let i = 0; i < data.status.length; i++) lines.push(data.columns.map((c) => cell(c[i])).join(","));
    const blob = new Blob([lines.join("\n") + "\n"], { type: "text/csv" });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = "evaluations.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });

  // Paper has nothing to click: what is folded is opened while the page is printed.
  const folded = Array.from(document.querySelectorAll("details:not([open])"));
  addEventListener("beforeprint", () => folded.forEach((d) => { d.open = true; }));
  addEventListener("afterprint", () => folded.forEach((d) => { d.open = false; }));

  // A live page reads itself again, and stays where it was.
  if (data.reload) {
    const key = "sumbo " + location.pathname;
    try {
      const y = sessionStorage.getItem(key);
      if (y) scrollTo({ top: Number(y), behavior: "instant" });
    } catch (error) { /* no storage: begin at the top */ }
    setInterval(function () {
      if (document.hidden || pinned !== null || tip.style.display === "block") return;
      try { sessionStorage.setItem(key, String(scrollY)); } catch (error) { /* likewise */ }
      location.reload();
    }, 1000 * data.reload);
  }
})();
