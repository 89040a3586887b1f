// The script of the console. Every page also works without it, except for live updates.
"use strict";

const all = (selector, root = document) => [...root.querySelectorAll(selector)];

function element(name, properties = {}, ...children) {
  const created = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in created) created[key] = value; else created.setAttribute(key, value);
  }
  created.append(...children);
  return created;
}

// Times in the zone of the browser.
function localTimes(root) {
  for (const time of all("time[datetime]", root)) {
    const date = new Date(time.dateTime);
    if (Number.isNaN(date.getTime())) continue;
    const isToday = date.toDateString() === new Date().toDateString();
    time.textContent = isToday ? date.toLocaleTimeString() : date.toLocaleString();
    time.title = time.dateTime;
  }
}

async function copy(text, button) {
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not allowed";
  }
  setTimeout(() => { button.textContent = label; }, 1500);
}

function copyButtons(root) {
  for (const block of all("pre[data-copy]", root)) {
    const text = block.textContent;
    const button = element("button", { type: "button", className: "copy", textContent: "Copy" });
    button.addEventListener("click", () => copy(text, button));
    block.prepend(button);
  }
  for (const link of all("a[data-copy-link]", root)) {
    link.textContent = "Copy link";
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      copy(link.href, link);
    });
  }
}

// Only one of a group of details is open.
function tabs() {
  for (const group of all("[data-tabs]")) {
    for (const tab of all("details", group)) {
      tab.addEventListener("toggle", () => {
        if (tab.open) for (const other of all("details[open]", group)) other.open = other === tab;
      });
    }
  }
}

// Filters a list while its search field changes.
function filters() {
  for (const field of all("input[data-filter]")) {
    const items = all(`[data-filtered=${field.dataset.filter}]`);
    const count = document.querySelector("[data-count]");
    // Entries that the server left out can only be found by the server.
    if (field.value) continue;
    field.addEventListener("input", () => {
      const words = field.value.toLowerCase().split(/\s+/);
      let shown = 0;
      for (const item of items) {
        const text = item.textContent.toLowerCase();
        item.hidden = !words.every((word) => text.includes(word));
        shown += item.hidden ? 0 : 1;
      }
      for (const group of all("section.group")) group.hidden = all("li:not([hidden])", group).length === 0;
      if (count) count.textContent = shown === 1 ? "1 operation" : `${shown} operations`;
    });
  }
}

function isTyping(target) {
  return target.matches("input, textarea, select") || target.isContentEditable;
}

function hotkeys() {
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.form) {
      event.preventDefault();
      const button = event.target.form.querySelector("[data-enter], button");
      if (button) event.target.form.requestSubmit(button);
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    const target = all("[data-hotkey]").find((one) => one.dataset.hotkey === event.key);
    if (!target) return;
    event.preventDefault();
    if (target.matches("a")) target.click(); else target.focus();
  });
}

// A second click must not send a call again.
function submits() {
  for (const form of all("form[data-submit]")) {
    form.addEventListener("submit", (event) => {
      if (form.dataset.sent) event.preventDefault();
      form.dataset.sent = "yes";
    });
  }
  addEventListener("pageshow", () => {
    for (const form of all("form[data-submit]")) delete form.dataset.sent;
  });
}

// Replaces a part of the page regularly while it is visible.
function refreshes() {
  const part = document.querySelector("[data-refresh]");
  if (!part) return;
  const refresh = async () => {
    if (document.hidden || part.contains(document.activeElement)) return;
    try {
      const response = await fetch(location.href, { headers: { accept: "text/html" } });
      if (!response.ok) return;
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const fresh = page.querySelector("[data-refresh]");
      if (fresh) part.replaceChildren(...fresh.childNodes);
    } catch { /* The server is restarting; the next attempt follows. */ }
  };
  setInterval(refresh, 1000 * Number(part.dataset.refresh));
}

// New calls in the history.
const MAX_CALLS = 500;

function duration(entry) {
  if (entry.ms < 1) return `${Math.round(entry.ms * 1000)} µs`;
  if (entry.ms < 10) return `${entry.ms.toFixed(1)} ms`;
  return entry.ms < 1000 ? `${Math.round(entry.ms)} ms` : `${(entry.ms / 1000).toFixed(1)} s`;
}

function callRow(entry) {
  const [kind, label] = entry.status === "result" ? ["ok", "result"]
    : entry.status === "error" ? ["error", entry.code === undefined ? "error" : `error ${entry.code}`]
    : ["cancelled", entry.status];
  const time = element("time", { dateTime: entry.time, textContent: entry.time });
  const link = element("a", { href: `/console/history/${Number(entry.sequence)}` }, time);
  const method = [entry.method ?? "(invalid request)", entry.operation].filter(Boolean).join(" ");
  const row = element("tr", { className: "new" },
    element("td", { className: "time" }, link),
    element("td", {}, element("code", { textContent: method })),
    element("td", { className: "minor", textContent: entry.endpoint }),
    element("td", { className: "minor", textContent: entry.principal ?? "" }),
    element("td", {}, element("span", { className: `tag ${kind}`, textContent: label })),
    element("td", { className: "number", textContent: duration(entry) }));
  localTimes(row);
  return row;
}

function live() {
  const button = document.querySelector("[data-live]");
  const rows = document.querySelector("[data-calls]");
  if (!button || !rows) return;
  const status = document.querySelector("[data-live-status]");
  let source = null;
  const show = (isOn, message) => {
    button.setAttribute("aria-pressed", String(isOn));
    button.textContent = isOn ? "Live" : "Paused";
    if (status) status.textContent = message;
  };
  const stop = () => { if (source) source.close(); source = null; show(false, "Live updates are paused."); };
  const start = () => {
    source = new EventSource(button.dataset.live);
    source.addEventListener("entry", (event) => {
      document.querySelector("[data-empty]")?.remove();
      rows.prepend(callRow(JSON.parse(event.data)));
      while (rows.rows.length > MAX_CALLS) rows.deleteRow(-1);
    });
    source.addEventListener("error", () => { if (source && source.readyState === EventSource.CLOSED) stop(); });
    show(true, "Live updates are on.");
  };
  button.hidden = false;
  button.addEventListener("click", () => (source ? stop() : start()));
  addEventListener("pagehide", () => { if (source) stop(); });
  start();
}

// The chat with the agent.
async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += value;
    for (let end; (end = rest.indexOf("\n\n")) >= 0; rest = rest.slice(end + 2)) {
      const lines = rest.slice(0, end).split("\n");
      const of = (field) => lines.filter((line) => line.startsWith(`${field}: `)).map((line) => line.slice(field.length + 2));
      const [name] = of("event");
      if (name) yield { name, data: JSON.parse(of("data").join("\n")) };
    }
  }
}

function chat() {
  const section = document.querySelector("[data-chat]");
  const form = document.querySelector("[data-compose]");
  if (!section || !form) return;
  const log = section.querySelector("[data-log]");
  const field = form.querySelector("textarea");
  let conversation = section.dataset.conversation;
  let running = null;

  const add = (node) => { log.append(node); log.scrollTop = log.scrollHeight; return node; };
  const failure = (message, reason) => add(element("div", { className: "notice error", role: "alert" },
    element("strong", { textContent: message }), reason ? element("p", { textContent: reason }) : ""));

  function pending(call) {
    const button = element("button", { type: "button", className: "danger", textContent: "Confirm" });
    const box = add(element("div", { className: "notice warning" },
      element("p", { textContent: `The agent wants to call ${call.tool}, which may change or delete data:` }),
      element("pre", { textContent: JSON.stringify(call.arguments, null, 2) }), button));
    button.addEventListener("click", () => { button.remove(); box.append("Confirmed."); turn({ confirm: call.confirm }); });
  }

  async function turn(message) {
    const button = form.querySelector("button");
    running = new AbortController();
    button.textContent = "Stop";
    const params = { ...message };
    if (conversation) params.conversation_id = conversation;
    const status = add(element("p", { className: "hint", textContent: "Thinking…" }));
    const steps = new Map();
    let answer = null;
    const tell = (text) => {
      answer ??= log.insertBefore(element("p", { className: "message" }), status);
      answer.textContent += text;
      log.scrollTop = log.scrollHeight;
    };
    try {
      const response = await fetch("/console/data/api", {
        method: "POST", signal: running.signal,
        headers: { "Content-Type": "application/json", Accept: "text/event-stream" },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "agent.chat", params }),
      });
      if (!response.headers.get("Content-Type")?.startsWith("text/event-stream")) {
        const { error } = await response.json();
        failure(error?.message ?? response.statusText, error?.data?.reason);
        return;
      }
      for await (const { name, data } of events(response)) {
        if (name === "status") status.textContent = data.text;
        if (name === "token") tell(data.text);
        if (name === "tool_call") {
          answer = null;
          const step = element("details", { className: "step running" }, element("summary", {},
            element("code", { textContent: data.tool }), ` ${JSON.stringify(data.arguments)} `, element("small")));
          steps.set(data.call_id, step);
          log.insertBefore(step, status);
        }
        if (name === "tool_result") {
          const step = steps.get(data.call_id);
          if (!step) continue;
          step.className = data.error ? "step failed" : "step";
          step.querySelector("small").textContent = `${data.ms} ms`;
          const text = JSON.stringify(data.error ?? data.result, null, 2) ?? "";
          step.append(element("pre", { textContent: text.length > 4000 ? `${text.slice(0, 4000)}…` : text }));
        }
        if (name === "response") {
          if (data.error) { failure(data.error.message, data.error.data?.reason); continue; }
          conversation = data.result.conversation_id;
          form.querySelector("[name=conversation]").value = conversation;
          history.replaceState(null, "", `/console/agent?conversation=${encodeURIComponent(conversation)}`);
          if (answer === null && data.result.response) tell(data.result.response);
          if (data.result.pending) pending(data.result.pending);
        }
      }
    } catch (error) {
      if (error.name === "AbortError") failure("Stopped"); else failure("The connection failed", error.message);
    } finally {
      status.remove();
      running = null;
      button.textContent = "Send";
      field.required = true;
      field.focus();
    }
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (running) { running.abort(); return; }
    const text = field.value.trim();
    if (!text) return;
    section.querySelector("[data-intro]")?.remove();
    add(element("p", { className: "message mine", textContent: text }));
    field.value = "";
    field.required = false;
    turn({ message: text });
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); form.requestSubmit(); }
  });
}

// Values that do not fit into their cells.
function titles() {
  for (const cell of all("table.data td")) if (cell.scrollWidth > cell.clientWidth) cell.title = cell.textContent;
}

localTimes(document);
titles();
copyButtons(document);
tabs();
filters();
hotkeys();
submits();
refreshes();
live();
chat();
document.querySelector(".side [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
document.querySelector("#answer, [data-shown]")?.scrollIntoView({ block: "nearest" });
