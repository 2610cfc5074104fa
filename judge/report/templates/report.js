"use strict";
/* The case browser. Every word of a case becomes a text node: nothing here parses HTML. */
(() => {
  const PAGE_SIZE = 50;
  const FOLD = 4000;
  const $ = (id) => document.getElementById(id);
  const index = JSON.parse($("index").textContent);
  const units = index.units;
  const pages = new Map();
  const state = { found: units.map((_, place) => place), page: 0, open: -1, search: 0 };

  /* -- small helpers ------------------------------------------------------------------------------------------ */

  function el(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === true) made.setAttribute(name, "");
      else if (value !== false && value !== null) made.setAttribute(name, value);
    }
    for (const child of children.flat()) {
      if (child !== null && child !== "") made.append(child);
    }
    return made;
  }
  const bdi = (text) => el("bdi", {}, plain(text));
  const words = (name) => name.replaceAll("_", " ");
  const number = (value) => value.toFixed(3);

  /* A text as it is, or as the file keeps one that was too long: beginning, end, characters left out. */
  function parts(text) {
    if (typeof text === "string") return [text];
    if (text && text.$cut) {
      const [head, tail, left] = text.$cut;
      const note = `${left.toLocaleString("en")} characters are left out of this file. Whole: ${command()}`;
      return [head, el("span", { class: "cut" }, note), tail];
    }
    return [String(text)];
  }
  const plain = (text) => (text && text.$cut ? `${text.$cut[0]} … ${text.$cut[1]}` : String(text));
  const columnName = (column) => (column.judge ? `${column.title} by ${column.judge}` : column.title);
  const command = () => `${index.show} ${units[state.open].case}`;
  const block = (text) => el("div", { class: "text", dir: "auto" }, parts(text));

  function detail(place) {
    const [page, spot] = units[place].page;
    if (!pages.has(page)) pages.set(page, JSON.parse($(`page-${page}`).textContent));
    return pages.get(page)[spot];
  }

  /* -- filters ------------------------------------------------------------------------------------------------ */

  /* Only a judge calls an answer wrong; any other metric is named. */
  const decidingName = () => columnNames(index.deciding);
  const columnNames = (places) => places.map((place) => columnName(index.columns[place])).join(" or ");
  const MARKS = { wrong: index.judged ? "wrong" : `0 in ${decidingName()}`, unscored: "unscored", disagree: "judged differently by the judges", ...index.sides };

  function counted(values) {
    const counts = new Map();
    for (const value of values) counts.set(value, (counts.get(value) || 0) + 1);
    return counts;
  }

  function fillSelect(id, values) {
    const counts = counted(values);
    $(id).append(el("option", { value: "" }, `all (${units.length})`));
    for (const [value, count] of counts) $(id).append(el("option", { value }, `${value} (${count})`));
    $(id).disabled = counts.size < 2;
  }

  function chips() {
    const box = el("div", { class: "chips" });
    const marks = counted(units.flatMap((unit) => unit.marks));
    const flags = counted(units.flatMap((unit) => unit.flags));
    const add = (kind, name, label, count, title) => {
      const input = el("input", { type: "checkbox", "data-kind": kind, value: name });
      box.append(el("label", { class: "chip", title }, input, bdi(label), ` ${count}`));
    };
    for (const name of Object.keys(MARKS)) if (marks.has(name)) add("marks", name, MARKS[name], marks.get(name), name === "wrong" ? `${decidingName()} is 0` : null);
    for (const [name, count] of flags) add("flags", name, words(name), count, index.flags[name] || null);
    $("marks").append(box);
    $("marks").hidden = !box.childElementCount;
  }

  function fits(unit, wanted) {
    if (wanted.setting && unit.setting !== wanted.setting) return false;
    if (wanted.status && unit.status !== wanted.status) return false;
    return wanted.ticked.every(([kind, name]) => unit[kind].includes(name));
  }

  function wanted() {
    const ticked = [...$("marks").querySelectorAll("input:checked")].map((box) => [box.dataset.kind, box.value]);
    return { setting: $("setting").value, status: $("status").value, ticked };
  }

  async function filter() {
    const turn = (state.search += 1);
    const rules = wanted();
    const query = $("search").value.trim().toLowerCase();
    const fitting = units.flatMap((unit, place) => (fits(unit, rules) ? [place] : []));
    const found = query ? await searched(fitting, query, turn) : fitting;
    if (found === null) return;
    state.found = found;
    state.page = 0;
    drawList();
  }

  /* Those of the units whose id or texts hold the query; null when another search has begun meanwhile. */
  async function searched(fitting, query, turn) {
    const found = [];
    let parsed = -1;
    for (const place of fitting) {
      if (units[place].page[0] !== parsed) {
        parsed = units[place].page[0];
        await new Promise((resume) => setTimeout(resume));
        if (turn !== state.search) return null;
      }
      if (units[place].case.toLowerCase().includes(query) || holds(detail(place), query)) found.push(place);
    }
    return found;
  }

  function holds(value, query) {
    if (typeof value === "string") return value.toLowerCase().includes(query);
    if (value && typeof value === "object") return Object.values(value).some((inner) => holds(inner, query));
    return false;
  }

  /* -- list --------------------------------------------------------------------------------------------------- */

  function drawList() {
    const last = Math.max(0, Math.ceil(state.found.length / PAGE_SIZE) - 1);
    const shown = state.found.slice(state.page * PAGE_SIZE, (state.page + 1) * PAGE_SIZE);
    $("list").replaceChildren(...shown.map(listItem));
    $("list").scrollTop = 0;
    $("count").textContent = `${state.found.length} of ${units.length} units`;
    $("page").textContent = `${state.page + 1} of ${last + 1}`;
    $("previous").disabled = state.page === 0;
    $("next").disabled = state.page >= last;
  }

  function listItem(place) {
    const unit = units[place];
    const epoch = unit.epoch > 1 ? ` · epoch ${unit.epoch}` : "";
    const about = [unit.setting, words(unit.status)].join(" · ") + epoch;
    const button = el("button", { type: "button", "data-place": place, "aria-current": String(place === state.open) },
      el("span", { class: "id" }, bdi(unit.case)), el("span", { class: "value" }, verdict(unit)),
      el("span", { class: "about" }, bdi(about)));
    button.addEventListener("click", () => open(place, true));
    return el("li", {}, button);
  }

  /* The deciding score in a word or a number; any other is named above the list. */
  function verdict(unit) {
    const scores = index.leading.map((place) => unit.scores[place]).filter((score) => score !== null);
    const said = scores.map((score) => (typeof score === "number" ? verdictWord(score) : "unscored"));
    return new Set(said).size === 1 ? said[0] : said.join(" / ");
  }
  const verdictWord = (score) => (index.judged && score === 1 ? "right" : index.judged && score === 0 ? "wrong" : number(score));

  /* -- one case ----------------------------------------------------------------------------------------------- */

  function open(place, focus) {
    state.open = place;
    const unit = units[place];
    const said = detail(place);
    const back = el("button", { type: "button", class: "back" }, "Back to the list");
    back.addEventListener("click", close);
    $("case").replaceChildren(back, ...heading(unit, said), scores(unit, said), ...said.text.map(part),
      ...said.judges.map((judge) => judgeBlock(judge, said)), el("p", { class: "sub" }, "In the terminal: ", el("code", {}, command())));
    for (const button of $("list").querySelectorAll("button")) {
      button.setAttribute("aria-current", String(Number(button.dataset.place) === place));
    }
    $("browser").classList.add("open");
    history.replaceState(null, "", `#case-${place}`);
    if (focus) $("case").focus({ preventScroll: true });
    if (focus && $("case").getBoundingClientRect().top < 0) $("case").scrollIntoView();
  }

  function close() {
    $("browser").classList.remove("open");
    const current = $("list").querySelector(`[data-place="${state.open}"]`);
    if (current) current.focus();
  }

  function heading(unit, said) {
    const epoch = unit.epoch > 1 ? `, epoch ${unit.epoch}` : "";
    const made = [
      el("h3", {}, bdi(unit.case)),
      el("p", { class: "sub" }, "Setting ", bdi(unit.setting), epoch, " · ended as ", bdi(words(unit.status)),
        index.scored.includes(unit.status) ? "" : " (unscored)"),
    ];
    if (said.detail) made.push(el("p", { dir: "auto" }, parts(said.detail)));
    for (const side of Object.keys(index.sides)) {
      if (unit.marks.includes(side)) made.push(el("p", { class: "sub" }, `Dated ${index.sides[side]}.`));
    }
    for (const flag of unit.flags) {
      made.push(el("p", { class: "sub" }, "Flag ", el("strong", {}, bdi(words(flag))), index.flags[flag] ? `: ${index.flags[flag]}` : ""));
    }
    return made;
  }

  function scores(unit, said) {
    const rows = index.columns.flatMap((column, place) => {
      const score = unit.scores[place];
      if (score === null) return [];
      const shown = typeof score === "number" ? number(score) : `unscored: ${words(score)}`;
      return [el("tr", {}, el("th", { scope: "row" }, bdi(columnName(column))), el("td", { class: "n" }, bdi(shown)))];
    });
    const why = said.unscored.filter((sentence) => sentence && sentence !== said.detail);
    return el("details", { class: "part", open: true }, el("summary", {}, "Scores"),
      el("table", {}, el("caption", {}, "Scores of this unit"), el("tbody", {}, rows)),
      why.map((sentence) => el("p", { class: "sub", dir: "auto" }, parts(sentence))));
  }

  function part([title, text]) {
    const long = typeof text !== "string" || text.length > FOLD || plain(title).includes("thinking");
    return el("details", { class: "part", open: !long }, el("summary", {}, bdi(title)), block(text));
  }

  /* -- what a judge said -------------------------------------------------------------------------------------- */

  const YES_NO = { factuality: ["correct", "wrong"], match: ["found", "not found"], accuracy: ["correct", "wrong"] };
  const TITLES = { match: "Reference steps", accuracy: "Answer" };

  function judgeBlock(judge, said) {
    const kinds = [...counted(judge.judgements.map((one) => one.kind)).keys()];
    const about = (kind) => judge.judgements.filter((one) => one.kind === kind);
    const made = el("section", { class: "judge" }, el("h4", {}, "Judged by ", bdi(judge.name)));
    for (const kind of kinds.filter((kind) => !["effectiveness", "factuality"].includes(kind))) {
      made.append(items(heads(kind, about(kind)), about(kind).map((one) => [one]), said, judge.name));
    }
    const steps = stepGroups(about("effectiveness"), about("factuality"));
    const by = judge.splitter ? ` · split by ${plain(judge.splitter)}` : "";
    if (steps.length) made.append(items(`Steps (${steps.length})${by}`, steps, said, judge.name));
    for (const [kind, why] of Object.entries(judge.missing)) {
      made.append(el("p", { class: "sub", dir: "auto" }, `Missing, ${words(kind)}: ${words(plain(why.reason))} `, parts(why.detail)));
    }
    return made;
  }

  /* Effectiveness and factuality of one step stand together. */
  function stepGroups(effectiveness, factuality) {
    const groups = new Map();
    for (const one of [...effectiveness, ...factuality]) groups.set(one.item, [...(groups.get(one.item) || []), one]);
    return [...groups.keys()].sort((a, b) => a - b).map((item) => groups.get(item));
  }

  function heads(kind, judgements) {
    const name = TITLES[kind] || words(kind);
    if (kind === "accuracy" || typeof judgements[0].label !== "boolean") return name;
    const hits = judgements.filter((one) => one.label).length;
    return `${name} (${hits} of ${judgements.length} ${labelWord(kind, true)})`;
  }

  const labelWord = (kind, label) =>
    typeof label === "boolean" ? (YES_NO[kind] || ["yes", "no"])[label ? 0 : 1] : plain(label);

  const labelClass = (label) =>
    typeof label === "boolean" ? (label ? "good" : "bad")
      : ["reasoning", "citation", "repetition", "redundancy"].includes(label) ? label : "other";

  function items(title, groups, said, judge) {
    const list = el("ol", { class: "items" }, groups.map((group) => item(group, said, judge, groups.length === 1)));
    return el("details", { class: "part", open: true }, el("summary", {}, bdi(title)), list);
  }

  function item(group, said, judge, alone) {
    const first = group[0];
    const same = (one, other) => other.kind === one.kind && other.item === one.item && Object.hasOwn(other.labels, plain(judge));
    const differing = group.flatMap((one) => said.disagree.filter((other) => same(one, other)));
    const labels = el("div", { class: "labels" },
      alone ? "" : el("span", { class: "number" }, `${first.item + 1}.`),
      group.map((one) => el("span", { class: `label ${labelClass(one.label)}` }, labelWord(one.kind, one.label))),
      differing.map((one) => el("span", { class: "differ" }, bdi(difference(one)))));
    const reasons = group.filter((one, place) => one.rationale && (place === 0 || plain(one.rationale) !== plain(first.rationale)));
    return el("li", {}, labels, first.text ? block(first.text) : "",
      reasons.map((one) => el("div", { class: "text why", dir: "auto" }, "because: ", parts(one.rationale))),
      group.flatMap((one) => path(one)));
  }

  const difference = (one) =>
    `judges differ (${Object.entries(one.labels).map(([judge, label]) => `${judge}: ${labelWord(one.kind, label)}`).join(", ")})`;

  function path(one) {
    if (!one.path.length) return [];
    const count = `${one.path.length} ${one.path.length === 1 ? "entry" : "entries"}`;
    return [el("details", {}, el("summary", { class: "sub" }, `How ${words(one.kind)} was reached (${count})`), one.path.map(tree))];
  }

  function tree(value) {
    if (value === null || typeof value !== "object" || value.$cut) return block(value === null ? "–" : value);
    const entries = Array.isArray(value) ? value.map((inner, place) => [String(place + 1), inner]) : Object.entries(value);
    return el("dl", { class: "tree" }, entries.flatMap(([key, inner]) => [el("dt", {}, bdi(words(key))), el("dd", {}, tree(inner))]));
  }

  /* -- start -------------------------------------------------------------------------------------------------- */

  const THEMES = ["auto", "light", "dark"];

  function theme() {
    const now = document.documentElement.dataset.theme || "auto";
    const next = THEMES[(THEMES.indexOf(now) + 1) % THEMES.length];
    if (next === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
    $("theme").textContent = `Theme: ${next}`;
  }

  function turn(by) {
    state.page += by;
    drawList();
  }

  function start() {
    let waiting = 0;
    fillSelect("setting", units.map((unit) => unit.setting));
    fillSelect("status", units.map((unit) => unit.status));
    chips();
    $("theme").addEventListener("click", theme);
    $("previous").addEventListener("click", () => turn(-1));
    $("next").addEventListener("click", () => turn(1));
    $("filters").addEventListener("submit", (event) => event.preventDefault());
    $("filters").addEventListener("change", filter);
    $("search").addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(filter, 200);
    });
    $("beside").textContent = `Beside each unit: ${columnNames(index.leading)}`;
    $("beside").hidden = index.judged || !index.leading.length;
    $("filters").hidden = false;
    $("browser").hidden = false;
    drawList();
    const named = /^#case-(\d+)$/.exec(location.hash);
    if (named && Number(named[1]) < units.length) open(Number(named[1]), false);
  }

  start();
})();
