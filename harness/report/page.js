
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const app = document.getElementById("app");
  // What a terminal, a bidirectional reader or an eye could be fooled by is shown as its number.
  const ODD = /([\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]+)/;

  const LONE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

  function el(tag, name, ...children) {
    const node = document.createElement(tag);
    if (name) node.className = name;
    for (const child of children) if (child !== null && child !== undefined) node.append(child);
    return node;
  }
  function shown(text) { // text only: nothing of the log becomes markup
    const out = document.createDocumentFragment();
    String(text).replace(LONE, (c) => "\\u" + c.charCodeAt(0).toString(16)).split(ODD).forEach((part, i) => {
      if (!part) return;
      if (i % 2 === 0) { out.append(part); return; }
      for (const c of part) {
        const code = c.codePointAt(0), hex = code.toString(16).toUpperCase().padStart(4, "0");
        const mark = el("span", "ctl", code < 256 ? "\\x" + hex.slice(2).toLowerCase() : "U+" + hex);
        mark.title = "U+" + hex;
        out.append(mark);
      }
    });
    return out;
  }
  function whole(cut) { // {text, tail, missing}
    const out = document.createDocumentFragment();
    out.append(shown(cut.text || ""));
    if (cut.missing) {
      out.append(el("span", "cut", `… ${cut.missing.toLocaleString("en")} characters are left out here; events.jsonl has them …`), shown(cut.tail || ""));
    }
    return out;
  }
  function seconds(s) {
    if (typeof s !== "number") return "";
    if (s < 0.0005) return "<1 ms";
    if (s < 0.0995) return Math.round(s * 1000) + " ms";
    if (s < 59.95) return s.toFixed(s < 9.995 ? 2 : 1) + " s";
    const whole = Math.round(s), h = Math.floor(whole / 3600), m = Math.floor(whole / 60) % 60, rest = whole % 60;
    return h ? `${h} h ${m} min` : rest ? `${m} min ${rest} s` : `${m} min`;
  }
  const bytes = (n) => n < 1024 ? n + " B" : n < 1048576 ? (n / 1024).toFixed(1) + " KiB" : (n / 1048576).toFixed(1) + " MiB";
  const fact = (k, ...v) => el("div", "fact", el("div", "k", k), el("div", "v", ...v));
  const plain = (v) => typeof v === "string" ? v : JSON.stringify(v);

  function diff(text) {
    const pre = el("pre", "diff"), parts = text.split("\n");
    if (parts[parts.length - 1] === "") parts.pop();
    for (const line of parts) {
      const kind = /^(diff |index |--- |\+\+\+ |new file|deleted file|old mode|new mode|similarity|rename )/.test(line) ? "f"
        : line.startsWith("@@") ? "h" : line.startsWith("+") ? "a" : line.startsWith("-") ? "d" : "";
      pre.append(el("span", kind, shown(line)));
    }
    return pre;
  }

  // --- the head ---
  const run = data.run, result = data.result, spent = result.spent || {};
  const TONE = { passed: "good", failed: "bad", broken: "warn", none: "info" };
  const verdict = result.verdict || "none", status = result.status || run.end || "unfinished";
  const badge = el("span", "badge " + (verdict === "none" && status !== "completed" ? "warn" : TONE[verdict] || "info"),
    verdict === "none" ? status.replaceAll("_", " ") : verdict);
  const began = typeof run.at === "string" ? run.at.replace("T", " ").replace(/(\.\d+)?Z$/, " UTC") : "";
  const short = (name) => plain(name).replace(/^([a-z]+:)?\/.*\/([^/]+\/[^/]+)$/, "$1…/$2"); // a long path by its end
  const sub = el("div", "sub parts");
  for (const part of [run.run, began, run.agent && "agent " + plain(run.agent), run.model && short(run.model)]) if (part) sub.append(el("span", "", shown(plain(part))));
  app.append(el("div", "head", el("div", "", el("h1", "", shown(run.task || result.task || run.run || "run")), sub), badge));
  if (data.fault) app.append(el("div", "alert bad", "The log cannot be read to its end: ", shown(data.fault)));
  else if (!result.status) app.append(el("div", "alert warn", "There is no result: the run goes on, or it was killed."));
  if (result.error) app.append(el("div", "alert bad say", shown(plain(result.error))));

  function budget(name, used, limit, show) {
    if (used === undefined || used === null) return null;
    const box = fact(name, show(used), limit ? " of " + show(limit) : "");
    if (limit) {
      const part = Math.min(1, used / limit), fill = el("i", part >= 1 ? "full" : "");
      fill.style.width = (100 * part).toFixed(1) + "%";
      box.append(el("div", "bar", fill));
    }
    return box;
  }
  const budgets = run.budgets || {}, number = (n) => Number(n).toLocaleString("en");
  function tally() {
    const box = el("div", "chips"), c = data.counts;
    for (const [n, word, tone] of [[c.denied, "denied", "bad"], [c.failed, "failed", "warn"], [c.asked, "asked", "info"]]) if (n) box.append(el("span", "chip " + tone, `${n} ${word}`));
    return box.childNodes.length ? box : "none";
  }
  const facts = el("section", "panel facts",
    fact("Status", status.replaceAll("_", " "), result.exit_code === undefined ? "" : `, exit ${result.exit_code}`),
    budget("Steps", spent.steps ?? data.counts.steps, budgets.steps, number),
    budget("Tool calls", spent.tool_calls ?? data.counts.calls, budgets.tool_calls, number),
    budget("Time", spent.wall_seconds ?? run.seconds, budgets.wall_seconds, seconds),
    budget("Tokens", spent.tokens, budgets.tokens, number),
    budget("Cost", spent.cost, budgets.cost, (n) => n.toFixed(4)),
    fact("Trouble", tally()),
    run.policy ? fact("Policy", shown(plain(run.policy.name || run.policy)), el("div", "mono sub", shown(String(run.policy.digest || "").slice(0, 19)))) : null,
    result.runner ? fact("Box", shown(`${result.runner}, level ${result.isolation || "unknown"}`)) : null,
    result.log ? fact("Head of the log", el("span", "mono", shown(String(result.log.head).slice(0, 16))), el("div", "sub", `${result.log.records} records`)) : null);
  app.append(facts);
  if (run.instruction) {
    const more = el("details", "panel"), head = el("summary", "", el("span", "what", el("b", "", "Instruction"), shown(plain(run.instruction).slice(0, 160))), el("span", "right"));
    more.style.marginTop = "14px";
    more.append(head, el("div", "body say", shown(plain(run.instruction))));
    app.append(more);
  }
  if (result.answer) app.append(el("h2", "", "Answer"), el("div", "panel answer say", shown(plain(result.answer))));
  if (data.verify.at !== undefined) {
    const v = data.verify, box = el("section", "panel");
    const body = el("div", "body");
    if (v.argv && v.argv.length) body.append(words(v.argv, -1));
    if (v.reason) body.append(el("div", "say", shown(plain(v.reason))));
    const items = (title, list, text) => {
      if (!Array.isArray(list) || !list.length) return;
      const box = el("ul", "items");
      for (const one of list) box.append(el("li", "", shown(text(one))));
      body.append(el("h3", "", title), box);
    };
    items("Not passed", v.missing, plain);
    items("Found in the way", v.findings, (f) => f && f.path ? `${plain(f.path)}: ${plain(f.reason)}${f.left_out ? ", left out" : ""}` : plain(f));
    if (v.reward !== undefined && v.reward !== null) body.append(el("h3", "", "Reward"), el("div", "mono", shown(plain(v.reward))));
    if (v.output) body.append(el("h3", "", "Output"), el("pre", "", shown(plain(v.output))));
    const line = el("header", "head"); line.style.padding = "10px 14px";
    line.append(el("span", "", "Verified in a fresh session"), el("span", "chip " + (TONE[v.verdict] || "info"), shown(v.verdict || "not finished")));
    box.append(line, body);
    app.append(el("h2", "", "Verification"), box);
  }

  // --- the timeline ---
  app.append(el("h2", "", "Timeline"));
  const tools = el("div", "tools"), search = el("input");
  search.type = "search"; search.placeholder = "Search in calls, outputs and answers"; search.setAttribute("aria-label", "Search");
  const FILTERS = { all: "All", denied: `Denied ${data.counts.denied}`, failed: `Failed ${data.counts.failed}`, asked: `Asked ${data.counts.asked}` };
  let filter = "all";
  const buttons = Object.entries(FILTERS).map(([key, label]) => {
    const b = el("button", "", label); b.type = "button"; b.dataset.filter = key;
    b.setAttribute("aria-pressed", String(key === filter));
    b.addEventListener("click", () => choose(key));
    return b;
  });
  const theme = el("button", "", "Theme"); theme.type = "button"; theme.id = "theme"; theme.title = "dark or light";
  theme.addEventListener("click", () => {
    const root = document.documentElement, dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
  tools.append(search, ...buttons, theme);
  app.append(tools);
  const list = el("div", "list"), none = el("div", "none", "Nothing matches."); none.hidden = true;
  app.append(list, none);

  const total = Math.max(run.seconds || 0, ...data.steps.flatMap((s) => [s.ended || 0, s.at]), 0.001);
  function lane(from, to, bad) {
    const bar = el("i", bad ? "bad" : "");
    bar.style.left = (100 * from / total).toFixed(2) + "%";
    bar.style.width = Math.max(0.15, 100 * Math.max(0, (to ?? from) - from) / total).toFixed(2) + "%";
    return el("div", "lane", bar);
  }
  function words(argv, at) {
    const box = el("div", "");
    argv.forEach((w, i) => box.append(el("span", "word" + (i === at ? " at" : ""), shown(w === "" ? "''" : plain(w)))));
    return box;
  }
  function argumentsOf(call) {
    try { return JSON.parse(call.arguments.text); } catch { return null; }
  }
  function brief(call) {
    const a = argumentsOf(call);
    if (a === null || typeof a !== "object") return call.arguments.text.slice(0, 300);
    if (Array.isArray(a.argv)) return a.argv.join(" ");
    if (typeof a.line === "string") return a.line;
    const rows = (t) => t === "" ? 0 : t.replace(/\n$/, "").split("\n").length;
    if (typeof a.old === "string" && typeof a.new === "string") return `${plain(a.path)}  −${rows(a.old)} +${rows(a.new)}`;
    if (typeof a.content === "string") return `${plain(a.path)}  ${bytes(a.content.length)}`;
    if (typeof a.patch === "string") return [...a.patch.matchAll(/^\+\+\+ (?:b\/)?(.+)$/gm)].map((m) => m[1]).join(", ");
    if (Array.isArray(a.plan)) return a.plan.map((part) => typeof part === "string" ? part : Array.isArray(part) ? part.map((s) => (Array.isArray(s) ? s : s.argv || []).join(" ")).join(" | ") : "cd " + plain(part.cd)).join(" ");
    return Object.entries(a).map(([k, v]) => ["path", "answer", "pattern"].includes(k) ? plain(v) : `${k}: ${plain(v)}`).join("  ").slice(0, 300);
  }
  function chips(call) {
    const out = [], v = call.verdict;
    if (v && v.decision !== "allow") out.push(el("span", "chip " + (v.decision === "deny" ? "bad" : "warn"), v.decision === "deny" ? "denied" : shown(v.decision)));
    if (call.answer) out.push(el("span", "chip " + (call.answer.answer === "allowed" ? "good" : "bad"), shown(plain(call.answer.answer))));
    if (call.ok === false && !(v && v.decision === "deny")) out.push(el("span", "chip bad", shown(failure(call))));
    if (call.ok === true && ending(call)) out.push(el("span", "chip warn", shown(ending(call))));
    if (call.ok === undefined) out.push(el("span", "chip warn", "no result"));
    if (call.origin !== "model") out.push(el("span", "chip", shown(plain(call.origin))));
    return out;
  }
  function ending(call) { // how the last program ended, "" where all is well or none ran
    const last = ((call.outcome || {}).outcomes || []).at(-1);
    if (!last) return "";
    const how = plain(last.ending || "").replaceAll("_", " ");
    if (how === "exited" && !last.code && call.outcome.problem) return "stopped";
    return how !== "exited" ? how : last.code ? "exit " + plain(last.code) : "";
  }
  const HOW = { wall_seconds: ["wall", seconds], cpu_seconds: ["CPU", seconds], peak_memory_bytes: ["peak memory", bytes], stdout_bytes: ["standard output", bytes], stderr_bytes: ["standard error", bytes] };
  function figures(o) { // one program: how it ended, then its figures
    const { ending: how = "", code, codes, ...rest } = o, good = how === "exited" && code === 0;
    const word = how === "exited" ? "exit " + plain(code) : plain(how).replaceAll("_", " ");
    const parts = Object.entries(rest).filter(([k, x]) => x !== null && !(k in HOW && !x) && plain(x) !== "[]")
      .map(([k, x]) => k in HOW && typeof x === "number" ? `${HOW[k][1](x)} ${HOW[k][0]}` : `${k.replaceAll("_", " ")} ${plain(x)}`);
    if (Array.isArray(codes) && codes.length > 1) parts.unshift("codes " + codes.map(plain).join(" "));
    return [el("span", "chip " + (good ? "good" : "warn"), shown(word)), " ", el("span", "soft", shown(parts.join(" · ")))];
  }
  function failure(call) {
    const code = (call.error || {}).code;
    return ending(call) || (code && code !== "RAISED" ? plain(code).toLowerCase().replaceAll("_", " ") : "failed");
  }
  function body(call) {
    const out = el("div", "body"), a = argumentsOf(call), v = call.verdict;
    if (v) {
      const line = [v.reason !== "ok" && v.reason, v.rule && "rule " + v.rule, v.runs_code && "runs code", v.isolation && "isolation " + plain(v.isolation)].filter(Boolean).map(plain).join(" · ");
      out.append(el("h3", "", "Verdict"), el("div", "", el("span", "chip " + ({ allow: "good", deny: "bad", ask: "warn" }[v.decision] || ""), shown(v.decision)), " ", shown(line)));
      if (v.message) out.append(el("div", "say", shown(v.message)));
      if (v.line) out.append(el("pre", "", shown(v.line)));
    }
    if (call.asked) out.append(el("h3", "", "Asked"), el("div", "say", whole(call.asked)), call.answer ? el("div", "", shown(`${plain(call.answer.answer)}, by ${plain(call.answer.by)}`)) : "no answer");
    out.append(el("h3", "", "Arguments"));
    if (a && Array.isArray(a.argv)) out.append(words(a.argv, v && v.decision !== "allow" && typeof v.word === "number" ? v.word : -1));
    else if (a && typeof a.patch === "string") out.append(diff(a.patch));
    else if (a && typeof a.old === "string" && typeof a.new === "string") out.append(el("div", "mono", shown(a.path)), diff(a.old.split("\n").map((l) => "-" + l).concat(a.new.split("\n").map((l) => "+" + l)).join("\n")));
    else if (a && typeof a === "object") for (const [k, val] of Object.entries(a)) {
      const text = typeof val === "string" ? val : JSON.stringify(val, null, 1);
      if (text.length <= 120 && !text.includes("\n")) out.append(el("div", "", el("span", "soft", shown(k)), " ", el("span", "word", shown(text))));
      else out.append(el("h3", "", shown(k)), el("pre", "", shown(text)));
    }
    else out.append(el("pre", "", whole(call.arguments)));
    if (call.outcome) {
      const { outcomes = [], ...rest } = call.outcome;
      const line = (o) => el("div", "mono", shown(Object.entries(o).map(([k, x]) => `${k.replaceAll("_", " ")} ${plain(x)}`).join(" · ")));
      out.append(el("h3", "", "Outcome"), ...outcomes.map((o) => el("div", "", ...figures(o))));
      if (Object.keys(rest).length) out.append(line(rest));
    }
    if (call.content) out.append(el("h3", "", "Result for the model"), el("pre", "", whole(call.content)));
    if (call.artifact) out.append(el("h3", "", "Artifact"), el("div", "mono", shown(plain(call.artifact))));
    if (call.contexts) out.append(el("h3", "", "Added context"), el("pre", "", shown(call.contexts.map(plain).join("\n"))));
    return out;
  }
  function drawCall(call) {
    const box = el("details"), from = call.at, to = call.ended;
    box.append(el("summary", "", el("span", "what", el("b", "", shown(call.name)), el("span", "mono", shown(brief(call)))),
      el("span", "right", ...chips(call), el("span", "secs", seconds(call.seconds ?? (to === undefined ? undefined : to - from)))),
      lane(from, to, call.ok === false)));
    box.addEventListener("toggle", () => { if (box.open && !box.dataset.drawn) { box.dataset.drawn = "1"; box.append(body(call)); } });
    const v = call.verdict || {};
    return { box, call, kinds: { denied: v.decision === "deny", failed: call.failed === true, asked: v.decision === "ask" },
      text: [call.name, call.arguments.text, (call.content || {}).text, (call.content || {}).tail, v.rule, v.reason, v.message].join("\n").toLowerCase() };
  }
  const drawn = [];
  function drawStep(step) {
    const box = el("section", "panel step");
    const meta = [step.model_seconds !== undefined && "model " + seconds(step.model_seconds), step.usage && Object.entries(step.usage).map(([k, x]) => `${k.replaceAll("_", " ")} ${x}`).join(", ")].filter(Boolean).join(" · ");
    box.append(el("header", "", el("span", "n", step.number === null ? "Outside of steps" : "Step " + step.number),
      step.status ? el("span", "chip " + (step.status === "completed" ? "info" : "warn"), shown(step.status.replaceAll("_", " "))) : null,
      step.cut ? el("span", "chip warn", "cut at the length limit") : null,
      el("span", "time", shown(meta ? meta + " · " : ""), "at ", seconds(step.at) || "0 s")));
    for (const try_ of step.attempts) if (!try_.ok) box.append(el("div", "said", el("span", "chip warn", `attempt ${try_.number} failed`), " ", shown(plain(try_.error || ""))));
    if (step.repairs) box.append(el("div", "said sub", "mended: ", shown(step.repairs.join("; "))));
    if (step.text && step.text.text) box.append(el("div", "said", el("div", "", whole(step.text))));
    const calls = step.calls.map(drawCall);
    for (const one of calls) box.append(one.box);
    list.append(box);
    drawn.push({ box, calls, text: ((step.text || {}).text || "").toLowerCase() });
  }
  function apply() {
    const needle = search.value.trim().toLowerCase();
    let any = false;
    for (const step of drawn) {
      const inText = needle !== "" && step.text.includes(needle);
      let some = false;
      for (const one of step.calls) {
        const fits = (filter === "all" || one.kinds[filter]) && (needle === "" || inText || one.text.includes(needle));
        one.box.hidden = !fits; some = some || fits;
      }
      const visible = some || (filter === "all" && (needle === "" || inText));
      step.box.hidden = !visible; any = any || visible;
    }
    none.hidden = any;
    if (drawn.length === 0) { none.textContent = "Nothing was done in this run."; none.hidden = false; }
  }
  function choose(key) {
    filter = key;
    for (const b of buttons) b.setAttribute("aria-pressed", String(b.dataset.filter === key));
    apply();
  }
  search.addEventListener("input", apply);

  // --- the rest ---
  const rest = el("div");
  app.append(rest);
  if (data.notes.length) {
    const box = el("div", "panel rows");
    for (const n of data.notes) box.append(el("div", "row", el("span", "chip wrap", shown(n.kind)), el("div", "say", whole(n)), el("span", "secs", seconds(n.at))));
    rest.append(el("h2", "", "Remarks of the harness"), box);
  }
  function files(text) { // a patch by its files: name, lines added and removed, text
    return text.split(/^(?=diff --git )/m).filter((part) => part.trim()).map((part) => {
      const lines = part.split("\n"), name = (part.match(/^\+\+\+ b\/(.+)$/m) || part.match(/^--- a\/(.+)$/m) || part.match(/^diff --git a\/(.+?) b\//) || [])[1];
      return { name: name || lines[0], text: part, added: lines.filter((l) => l.startsWith("+") && !l.startsWith("+++ ")).length, gone: lines.filter((l) => l.startsWith("-") && !l.startsWith("--- ")).length };
    });
  }
  if (data.patch.text) {
    const found = files(data.patch.text), box = el("div", "panel");
    found.forEach((file) => {
      const more = el("details"), lines = file.added + file.gone;
      more.append(el("summary", "", el("span", "what mono", shown(file.name)), el("span", "right", el("span", "chip good", "+" + file.added), el("span", "chip bad", "−" + file.gone))));
      const fill = () => { if (!more.dataset.drawn) { more.dataset.drawn = "1"; more.append(el("div", "body wide", diff(file.text))); } };
      more.addEventListener("toggle", () => { if (more.open) fill(); });
      if (found.length <= 5 && lines <= 200) { fill(); more.open = true; }
      box.append(more);
    });
    rest.append(el("h2", "", "Patch"), box);
    if (data.patch.missing) rest.append(el("div", "cut", "The patch is longer; patch.diff has all of it."));
  }
  if (data.artifacts.length) {
    const box = el("div", "panel rows");
    for (const a of data.artifacts) {
      if (a.text === undefined) { box.append(el("div", "row", el("span", "mono say", shown(a.name)), el("span", "secs", bytes(a.size)))); continue; }
      const more = el("details");
      more.append(el("summary", "", el("span", "what mono", shown(a.name)), el("span", "right secs", bytes(a.size))));
      more.addEventListener("toggle", () => { if (more.open && !more.dataset.drawn) { more.dataset.drawn = "1"; more.append(el("div", "body wide", el("pre", "", whole(a)))); } });
      box.append(more);
    }
    rest.append(el("h2", "", "Artifacts"), box);
  }
  const keys = el("p", "keys");
  for (const [k, what] of [["/", "search"], ["j", "next"], ["k", "previous"], ["Enter", "open"], ["d", "denied only"], ["f", "failed only"], ["a", "all"], ["t", "theme"]]) keys.append(el("kbd", "", k), " " + what + "  ");
  rest.append(keys);

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target === search) { if (event.key === "Escape") { search.value = ""; search.blur(); apply(); } return; }
    const move = { j: 1, k: -1 }[event.key];
    if (event.key === "/") { search.focus(); event.preventDefault(); }
    else if (move) {
      const open = [...list.querySelectorAll("summary")].filter((s) => s.parentElement.hidden === false && s.closest(".step").hidden === false);
      const next = open[Math.max(0, Math.min(open.length - 1, open.indexOf(document.activeElement) + move))];
      if (next) { next.focus(); next.scrollIntoView({ block: "nearest" }); }
    } else if (event.key === "t") theme.click();
    else if ({ d: 1, f: 1, a: 1 }[event.key]) choose({ d: "denied", f: "failed", a: "all" }[event.key]);
  });

  // A long run is drawn in pieces, so that the first of it is there at once.
  let next = 0;
  function draw() {
    const until = performance.now() + 40;
    while (next < data.steps.length && performance.now() < until) drawStep(data.steps[next++]);
    if (next < data.steps.length) { requestAnimationFrame(draw); return; }
    apply();
    document.documentElement.dataset.ready = "1";
  }
  draw();
})();
