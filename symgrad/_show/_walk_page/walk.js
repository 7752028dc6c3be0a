"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { vertices, links, boxes, arrows, backward } = data;
  const at = (id) => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg";
  const PAD = 11, LINE = 18;

  // ---------------------------------------------------------------- steps

  // Forward: first what is given, then one op a step. Backward: the seed, then one vertex a step.
  const steps = [{ phase: "forward", given: true }];
  vertices.forEach((v, k) => {
    if (v.formula) steps.push({ phase: "forward", vertex: k });
  });
  const forward = steps.length;
  if (backward.length) {
    steps.push({ phase: "backward", seed: true });
    for (const k of backward) steps.push({ phase: "backward", vertex: k });
  }
  const computed = new Map(); // vertex -> the step after which its value is known
  steps.slice(0, forward).forEach((s, n) => s.vertex !== undefined && computed.set(s.vertex, n));
  const uses = vertices.map(() => []); // by operand
  const operands = vertices.map(() => []); // by user
  links.forEach((link, k) => {
    uses[link.a].push(k);
    operands[link.b].push(k);
  });
  const left = new Map(); // vertex -> the step in which its gradient goes on
  steps.slice(forward).forEach((s, n) => s.vertex !== undefined && left.set(s.vertex, forward + n));
  // What has arrived at a vertex after each step: [step, shown value], in the order of arrival.
  const arrived = vertices.map((v) => (v.output && v.gradient && backward.length ? [[forward, v.gradient]] : []));
  for (const k of backward) {
    for (const n of operands[k]) {
      if (links[n].total) arrived[links[n].a].push([left.get(k), links[n].total]);
    }
  }

  const gradientAt = (k, step) => {
    let found = null;
    for (const [n, shown] of arrived[k]) {
      if (n > step) break;
      found = shown;
    }
    // Once it goes on it is complete: as hooks have left it, which may be other than the sum.
    return left.has(k) && left.get(k) <= step ? vertices[k].gradient : found;
  };

  // ---------------------------------------------------------------- drawing

  const make = (tag, attributes, parent, text) => {
    const node = document.createElementNS(SVG, tag);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text !== undefined) node.textContent = text;
    if (parent) parent.append(node);
    return node;
  };
  const graph = at("graph");
  const defs = make("defs", {}, graph);
  const marker = make("marker", { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto-start-reverse", markerUnits: "userSpaceOnUse" }, defs);
  make("path", { d: "M0 0L8 4L0 8z" }, marker);
  const underlay = make("g", {}, graph);
  const overlay = make("g", {}, graph);

  const rowsOf = (box) => {
    const rows = [];
    const exit = box.exit === null ? null : vertices[box.exit];
    if (box.members.length > 1) {
      rows.push(["name", box.title]);
      for (const line of box.lines) rows.push(["small", line]);
    } else {
      rows.push(["name", exit.formula ? `${exit.label} = ${exit.short}` : exit.label]);
    }
    if (exit) {
      const head = box.members.length > 1 ? `${exit.label} = ` : "";
      if (exit.value && (head || exit.value.text !== exit.name)) rows.push(["value", head + exit.value.text]);
      if (exit.shape && !exit.whole) rows.push(["small", exit.shape]);
      if (exit.gradient) rows.push(["gradient", "gradient"]);
    }
    return rows;
  };
  // As wide as the widest text that a row will show.
  const ruler = make("text", {}, overlay);
  const width = (kind, text) => {
    ruler.setAttribute("class", kind);
    ruler.textContent = text;
    return ruler.getComputedTextLength();
  };
  const widest = (kind, text, box) => {
    if (kind !== "gradient") return width(kind, text);
    const all = arrived[box.exit].map(([, shown]) => shown.text);
    return Math.max(...[vertices[box.exit].gradient.text, ...all].map((t) => width(kind, `gradient ${t}`)));
  };

  const layout = new dagre.graphlib.Graph({ multigraph: true });
  layout.setGraph({ rankdir: "TB", nodesep: 34, ranksep: 40, edgesep: 16, marginx: 24, marginy: 24 });
  layout.setDefaultEdgeLabel(() => ({}));
  const drawn = boxes.map((box, n) => {
    const rows = rowsOf(box);
    const wide = Math.max(44, ...rows.map(([kind, text]) => widest(kind, text, box))) + 2 * PAD;
    layout.setNode(n, { width: Math.ceil(wide), height: rows.length * LINE + 2 * PAD - 4 });
    return { rows };
  });
  arrows.forEach((arrow, n) => {
    const text = arrow.label;
    const size = text ? { width: Math.ceil(width("slope", text)) + 8, height: 18, labelpos: "c" } : { width: 0, height: 0 };
    layout.setEdge(arrow.a, arrow.b, size, String(n));
  });
  ruler.remove();
  dagre.layout(layout);
  const whole = layout.graph();

  // A uniform cubic B-spline: smooth, and inside the hull of the layout's points.
  const curve = (points) => {
    const p = points;
    let d = `M${p[0].x} ${p[0].y}`;
    const mix = (a, b, u, v, w) => `${(u * a.x + v * b.x) / w} ${(u * a.y + v * b.y) / w}`;
    d += `L${mix(p[0], p[1], 5, 1, 6)}`;
    for (let k = 1; k < p.length; k++) {
      const next = p[Math.min(k + 1, p.length - 1)];
      const end = { x: (p[k - 1].x + 4 * p[k].x + next.x) / 6, y: (p[k - 1].y + 4 * p[k].y + next.y) / 6 };
      d += `C${mix(p[k - 1], p[k], 2, 1, 3)} ${mix(p[k - 1], p[k], 1, 2, 3)} ${end.x} ${end.y}`;
    }
    return `${d}L${p[p.length - 1].x} ${p[p.length - 1].y}`;
  };
  const arrowNodes = arrows.map((arrow, n) => {
    const edge = layout.edge(arrow.a, arrow.b, String(n));
    const constant = arrow.links.every((k) => vertices[links[k].a].kind === "constant");
    const group = make("g", { class: constant ? "arrow constant" : "arrow" }, underlay);
    make("path", { d: curve(edge.points), "marker-end": "url(#tip)" }, group);
    const text = arrow.label;
    if (text) make("text", { class: "halo", x: edge.x, y: edge.y + 4 }, group, text);
    return group;
  });
  boxes.forEach((box, n) => {
    const { x, y, width: w, height: h } = layout.node(n);
    const kind = box.members.length > 1 ? "folded" : vertices[box.exit].kind;
    const group = make("g", { class: `box ${kind}`, role: "img", transform: `translate(${x - w / 2} ${y - h / 2})` }, overlay);
    make("rect", { width: w, height: h, rx: kind === "constant" ? 2 : 8 }, group);
    const rows = drawn[n].rows;
    drawn[n].texts = rows.map(([cls, text], k) =>
      make("text", { class: cls, x: w / 2, y: PAD + LINE * k + 11 }, group, cls === "gradient" ? "" : text));
    drawn[n].group = group;
    const where = box.exit === null ? null : vertices[box.exit].where;
    make("title", {}, group, box.members.length > 1 ? box.title
      : `${vertices[box.exit].name}${vertices[box.exit].formula ? " = " + vertices[box.exit].formula : ""}${where ? ` (${data.files[where[0]]}:${where[1]})` : ""}`);
    group.addEventListener("click", () => {
      const k = box.members.find((m) => computed.has(m));
      if (k !== undefined) show(step >= forward && left.has(k) ? left.get(k) : computed.get(k));
    });
  });
  graph.setAttribute("viewBox", `0 0 ${whole.width} ${whole.height}`);

  // ---------------------------------------------------------------- size

  const stage = at("stage");
  let scale = 1;
  const resize = (wanted) => {
    scale = Math.min(Math.max(wanted, 0.1), 4);
    graph.setAttribute("width", Math.round(whole.width * scale));
    graph.setAttribute("height", Math.round(whole.height * scale));
  };
  const fit = () => {
    const narrow = (stage.clientWidth - 4) / whole.width;
    const low = (stage.clientHeight - 4) / whole.height;
    // Never so small that it cannot be read: then it scrolls.
    resize(Math.min(1.25, Math.max(Math.min(narrow, low), Math.min(narrow, 0.7), 0.45)));
  };

  // ---------------------------------------------------------------- the panel

  const element = (tag, cls, text) => {
    const node = document.createElement(tag);
    if (cls) node.className = cls;
    if (text !== undefined) node.textContent = text;
    return node;
  };
  const list = (pairs) => {
    const dl = element("dl");
    for (const [term, shown, cls, id] of pairs) {
      if (!shown) continue;
      dl.append(element("dt", "", term));
      const dd = element("dd", cls || "", typeof shown === "string" ? shown : shown.exact.length <= 60 ? shown.exact : shown.text);
      if (id) dd.id = id;
      if (shown.exact) dd.dataset.exact = shown.exact;
      dl.append(dd);
    }
    return dl;
  };
  const said = (...parts) => {
    const p = at("say");
    p.replaceChildren();
    parts.forEach((text, k) => p.append(k % 2 ? element("b", "", text) : text));
  };
  const names = (ks) => {
    const unique = [...new Set(ks)].map((k) => vertices[k].name);
    if (unique.length <= 1) return unique.join("");
    return `${unique.slice(0, -1).join(", ")} and ${unique[unique.length - 1]}`;
  };
  const card = (title, pairs) => {
    const node = element("div", "card");
    node.append(element("h2", "", title), list(pairs));
    return node;
  };

  const explain = (now) => {
    const facts = at("facts");
    facts.replaceChildren();
    const k = now.vertex;
    if (now.given) {
      const given = vertices.filter((v) => !v.formula);
      said(given.length ? "Given are the leaves and the constants. Forward, each step computes one value." : "Nothing is given.");
      const leaves = given.filter((v) => v.kind === "leaf").slice(0, 12);
      facts.append(list(leaves.map((v) => [v.name, v.value || v.shape])));
      return;
    }
    if (now.seed) {
      const ends = vertices.map((v, n) => n).filter((n) => vertices[n].output && vertices[n].gradient);
      said("Backward starts at ", names(ends), ": its gradient by itself. Each step sends one value's gradient back to its operands.");
      facts.append(list(ends.map((n) => [`gradient of ${vertices[n].name}`, vertices[n].gradient, "gradient"])));
      return;
    }
    const v = vertices[k];
    if (now.phase === "forward") {
      said("", v.name, " is computed: ", v.formula);
      facts.append(list([["op", v.op], ["value", v.value, "", "value"], ["shape", v.shape], ["level", String(v.level)]]));
      for (const n of operands[k]) {
        const link = links[n];
        const label = link.symbol && link.slope && link.symbol !== link.slope.text ? `${link.symbol} = ${link.slope.text}` : link.symbol || (link.slope && link.slope.text);
        if (vertices[link.a].kind !== "constant" && label) {
          facts.append(card(`∂${v.name}/∂${vertices[link.a].name}`, [["local derivative", label]]));
        }
      }
      return;
    }
    if (v.kind === "leaf") {
      const several = uses[k].filter((n) => links[n].part).length;
      said("The gradient has arrived at the leaf ", v.name, several > 1 ? `: the sum over ${several} uses. backward() adds it to .grad.` : ". backward() adds it to .grad.");
    } else {
      const behind = operands[k].filter((n) => links[n].part).map((n) => links[n].a);
      said("", v.name, behind.length ? " sends its gradient back to " : " has no operand that needs a gradient.", names(behind), behind.length ? ": times the local derivative, added to what is there." : "");
    }
    facts.append(list([["value", v.value], ["gradient", v.gradient, "gradient", "gradient"], ["in .grad now", v.held]]));
    for (const n of operands[k]) {
      const link = links[n];
      if (!link.part) continue;
      facts.append(card(`to ${vertices[link.a].name}`, [
        ["incoming gradient", v.gradient],
        ["local derivative", link.symbol || link.slope ? link.label || link.symbol : ""],
        ["sent back", link.part],
        ["accumulated", link.total, "gradient"],
      ]));
    }
  };

  const quote = (now) => {
    const figure = at("source");
    const where = now.vertex === undefined ? null : vertices[now.vertex].where;
    figure.hidden = !where;
    if (!where) return;
    const [file, line] = where;
    const owner = vertices[now.vertex].function;
    figure.firstElementChild.textContent = `${data.files[file]}, line ${line}${owner && owner !== "<module>" ? `, in ${owner}()` : ""}`;
    const rows = figure.lastElementChild;
    rows.replaceChildren();
    for (let n = line - 3; n <= line + 3; n++) {
      const text = data.code[file][n];
      if (text === undefined) continue;
      const row = element("li", n === line ? "now" : "");
      if (n === line) row.setAttribute("aria-current", "true");
      row.append(element("span", "", String(n)), text);
      rows.append(row);
    }
  };

  // ---------------------------------------------------------------- one step

  let step = 0;
  const known = (k, n) => (vertices[k].formula ? computed.get(k) <= n : true);
  const show = (wanted) => {
    step = Math.min(Math.max(wanted, 0), steps.length - 1);
    const now = steps[step];
    const back = now.phase === "backward";
    const fed = new Set();
    const lit = new Set();
    if (now.vertex !== undefined) {
      for (const n of operands[now.vertex]) {
        if (!back || links[n].part) lit.add(n);
        if (back && links[n].part) fed.add(vertices[links[n].a].box);
      }
    }
    boxes.forEach((box, n) => {
      const { group, texts, rows } = drawn[n];
      const here = now.vertex !== undefined && vertices[now.vertex].box === n;
      const first = box.members.find((m) => vertices[m].formula);
      const visible = first === undefined || known(first, step);
      group.classList.toggle("waiting", !visible);
      group.classList.toggle("now", here || Boolean(now.seed && box.exit !== null && vertices[box.exit].output));
      group.classList.toggle("back", back);
      group.classList.toggle("fed", fed.has(n) && !here);
      if (box.exit === null) return;
      const grad = gradientAt(box.exit, step);
      rows.forEach(([cls], k) => {
        if (cls === "gradient") texts[k].textContent = grad ? `gradient ${grad.text}` : "";
        if (cls === "value") texts[k].style.visibility = known(box.exit, step) ? "" : "hidden";
      });
      const v = vertices[box.exit];
      group.setAttribute("aria-label", `${v.name}${v.formula ? " = " + v.formula : ""}${v.value ? ", value " + v.value.text : ""}${grad ? ", gradient " + grad.text : ""}`);
      if (grad) group.dataset.gradient = grad.exact;
      else delete group.dataset.gradient;
    });
    arrows.forEach((arrow, n) => {
      const active = arrow.links.some((k) => lit.has(k));
      const visible = arrow.links.some((k) => known(links[k].b, step));
      arrowNodes[n].style.opacity = visible ? 1 : 0.12;
      arrowNodes[n].classList.toggle("now", active && !back);
      arrowNodes[n].classList.toggle("back", active && back);
    });
    const direction = at("direction");
    direction.textContent = back ? "backward" : "forward";
    direction.classList.toggle("back", back);
    at("count").textContent = `step ${step + 1} of ${steps.length}`;
    explain(now);
    quote(now);
    const slider = at("slider");
    slider.value = step;
    slider.setAttribute("aria-valuetext", `${now.phase}, step ${step + 1} of ${steps.length}: ${at("say").textContent}`);
    at("first").disabled = at("back").disabled = step === 0;
    at("next").disabled = at("last").disabled = step === steps.length - 1;
    document.body.dataset.step = step;
    if (now.vertex !== undefined) reveal(vertices[now.vertex].box);
  };
  const reveal = (n) => {
    const { x, y, width: w, height: h } = layout.node(n);
    const near = (low, high, size, scroll) => (low < scroll + 12 || high > scroll + size - 12 ? (low + high - size) / 2 : scroll);
    stage.scrollLeft = near((x - w / 2) * scale, (x + w / 2) * scale, stage.clientWidth, stage.scrollLeft);
    stage.scrollTop = near((y - h / 2) * scale, (y + h / 2) * scale, stage.clientHeight, stage.scrollTop);
  };

  // ---------------------------------------------------------------- controls

  let timer = null;
  const stop = () => {
    clearInterval(timer);
    timer = null;
    at("play").classList.remove("on");
    at("play").setAttribute("aria-label", "Play");
  };
  const go = (wanted) => {
    stop();
    show(wanted);
  };
  const play = () => {
    if (timer) return stop();
    if (step === steps.length - 1) show(0);
    at("play").classList.add("on");
    at("play").setAttribute("aria-label", "Pause");
    // A long computation passes in about a minute.
    const pace = Math.max(40, Math.min(900, 60000 / steps.length));
    timer = setInterval(() => (step === steps.length - 1 ? stop() : show(step + 1)), pace);
  };
  at("first").onclick = () => go(0);
  at("back").onclick = () => go(step - 1);
  at("next").onclick = () => go(step + 1);
  at("last").onclick = () => go(steps.length - 1);
  at("play").onclick = play;
  at("slider").oninput = (event) => go(Number(event.target.value));
  at("in").onclick = () => resize(scale * 1.25);
  at("out").onclick = () => resize(scale / 1.25);
  at("fit").onclick = fit;
  const keys = {
    ArrowRight: () => go(step + 1), ArrowLeft: () => go(step - 1), Home: () => go(0),
    End: () => go(steps.length - 1), " ": play, "+": () => resize(scale * 1.25),
    "-": () => resize(scale / 1.25), 0: fit,
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in keys)) return;
    if (event.key === " " && event.target instanceof HTMLButtonElement) return;
    event.preventDefault();
    keys[event.key]();
  });
  window.addEventListener("resize", fit);

  at("slider").max = steps.length - 1;
  const share = `${(100 * (forward - 0.5)) / Math.max(steps.length - 1, 1)}%`;
  at("slider").style.setProperty("--bar", backward.length
    ? `linear-gradient(90deg, var(--leaf-line) ${share}, var(--grad) ${share})` : "var(--leaf-line)");
  if (!backward.length) at("scale").lastElementChild.remove();
  at("name").textContent = data.title;
  const root = vertices.filter((v) => v.output);
  at("formula").textContent = root.length === 1 && root[0].formula ? `= ${root[0].short}` : "";
  at("notes").textContent = data.notes.join(". ");
  fit();
  show(0);
})();
