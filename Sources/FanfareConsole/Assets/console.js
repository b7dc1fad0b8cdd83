"use strict";
// Progressive enhancement of the console: updates without a reload, the reader's time zone, keyboard shortcuts. Every
// page works without it. Only HTML from this server's own stream is inserted into the page.
(() => {
  const $ = (id) => document.getElementById(id);
  const html = window.trustedTypes
    ? trustedTypes.createPolicy("fanfare", { createHTML: (text) => text })
    : { createHTML: (text) => text };

  // ---- Times in the reader's zone, UTC in the tooltip
  //
  // The date format is the server's; the browser's language does not change it.
  const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
  const weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
  const two = (number) => String(number).padStart(2, "0");
  const clock = (at) => `${two(at.getHours())}:${two(at.getMinutes())}`;
  const exact = (at) => `${clock(at)}:${two(at.getSeconds())}`;
  const day = (at) => `${at.getDate()} ${months[at.getMonth()]}`;
  const date = (at) => `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  const forms = {
    minute: clock,
    clock,
    second: exact,
    day,
    weekday: (at) => `${weekdays[at.getDay()]} ${day(at)}`,
    short: (at) => `${day(at)} ${clock(at)}`,
    exact: (at) => `${day(at)} ${exact(at)}`,
    full: (at) => `${day(at)} ${at.getFullYear()}, ${exact(at)}`,
  };
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  // The calendar's days are days in the reader's zone: entries with a clock time move to the day on which they fall
  // there.
  const sortDays = (calendar) => {
    const days = new Map();
    for (const item of calendar.children) {
      const head = item.querySelector("h3 time");
      if (head) days.set(head.dateTime.slice(0, 10), item);
    }
    for (const time of calendar.querySelectorAll("time[data-form=clock]")) {
      const entry = time.closest("li");
      const list = days.get(date(new Date(time.dateTime)))?.querySelector("ul");
      if (!list || list === entry.parentNode) continue;
      const words = (item) => item.querySelector("time")?.textContent ?? "~";
      list.insertBefore(entry, [...list.children].find((other) => words(other) > words(entry)) ?? null);
    }
    for (const [key, item] of days) {
      item.classList.toggle("free", !item.querySelector("ul li"));
      item.classList.toggle("today", key === date(new Date()));
      if (key === date(new Date())) item.setAttribute("aria-current", "date");
      else item.removeAttribute("aria-current");
    }
  };
  const local = (root) => {
    for (const time of root.querySelectorAll("time[datetime]")) {
      const at = new Date(time.dateTime);
      if (isNaN(at) || !forms[time.dataset.form]) continue;
      time.textContent = forms[time.dataset.form](at);
      time.title = at.toISOString().replace("T", " ").replace(".000Z", " UTC");
    }
    for (const calendar of root.querySelectorAll(".calendar")) sortDays(calendar);
    const days = root.querySelector("#calendar-zone");
    if (days) days.textContent = zone;
    return root;
  };
  local(document);
  if ($("zone") && zone !== "UTC") $("zone").textContent = `${zone} time (hover for UTC)`;
  // Times in forms are in the reader's zone too; the address holds UTC.
  for (const input of document.querySelectorAll("input[type=datetime-local]")) {
    const at = new Date(`${input.value}Z`);
    if (!isNaN(at)) input.value = `${date(at)}T${exact(at)}`;
    for (const label of input.labels) label.textContent = label.textContent.replace(" (UTC)", "");
    input.form.addEventListener("formdata", ({ formData }) => {
      const at = new Date(input.value);
      if (!isNaN(at)) formData.set(input.name, at.toISOString().slice(0, 19));
    });
  }

  // ---- Patches a part of the page with new HTML, node by node: unchanged nodes stay, with focus and scroll position
  const alike = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && (a.id || "") === (b.id || "");
  const morph = (old, fresh) => {
    if (old.nodeType !== Node.ELEMENT_NODE) {
      if (old.data !== fresh.data) old.data = fresh.data;
      return;
    }
    if (old.isEqualNode(fresh)) return;
    for (const { name } of [...old.attributes]) {
      // Details that the reader opened stay open.
      if (!fresh.hasAttribute(name) && !(name === "open" && old.nodeName === "DETAILS")) old.removeAttribute(name);
    }
    for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    const stays = new Set([...fresh.children].map((child) => child.id));
    for (const child of [...old.children]) if (child.id && !stays.has(child.id)) child.remove();
    let place = old.firstChild;
    const drop = () => {
      const gone = place;
      place = place.nextSibling;
      gone.remove();
    };
    for (const next of [...fresh.childNodes]) {
      let found = place;
      if (next.id) {
        // An element with an id is matched by its id, wherever it moved, and keeps the reader's changes to it.
        found = [...old.children].find((child) => child.id === next.id);
        while (found && place && place !== found && !place.id) drop();
        if (found && found !== place) old.insertBefore(found, place);
      }
      if (found && alike(found, next)) {
        morph(found, next);
        place = found.nextSibling;
      } else {
        const added = document.importNode(next, true);
        old.insertBefore(added, place);
        if (added.nodeName === "TR") added.classList.add("fresh");
      }
    }
    while (place) drop();
  };
  const shown = new Map();
  const kept = new Map();
  const show = ({ id, html: text }) => {
    const old = $(id);
    if (!old || shown.get(id) === text) return;
    const part = document.createElement("template");
    part.innerHTML = html.createHTML(text);
    const fresh = part.content.firstElementChild;
    if (!fresh || fresh.id !== id) return;
    const active = document.activeElement;
    const row = active.matches("a[data-row]") && old.contains(active) && active.closest("[id]");
    if (row && row !== old && !fresh.querySelector(`#${CSS.escape(row.id)}`)) {
      // Replacing the focused row would take away the keyboard focus: the list is updated when the row loses it.
      if (!kept.size) active.addEventListener("blur", () => setTimeout(showKept), { once: true });
      return kept.set(id, { id, html: text });
    }
    kept.delete(id);
    shown.set(id, text);
    local(part.content);
    morph(old, fresh);
    // A row that was moved loses the focus.
    if (active.isConnected && active !== document.activeElement) active.focus({ preventScroll: true });
  };

  const showKept = () => {
    const parts = [...kept.values()];
    kept.clear();
    parts.forEach(show);
  };

  // ---- The stream: closed while the page is hidden; while paused, updates are kept until the reader resumes
  const path = document.body.dataset.stream;
  const live = $("live");
  let source = null;
  let pausedAt = null;
  let count = 0;
  const waiting = new Map();
  const words = (text, state) => {
    if ($("live-words").textContent !== text) $("live-words").textContent = text;
    live.className = `live ${state}`;
  };
  const tell = () => {
    if (pausedAt) words(`Paused at ${pausedAt}, ${count} ${count === 1 ? "update waits" : "updates wait"}`, "paused");
    else if (source && source.readyState === EventSource.OPEN) words("Live", "on");
    else words("Not connected", "away");
    $("live-button").textContent = pausedAt ? "Resume updates" : "Pause updates";
    // Screen readers do not announce a count that changes every second.
    $("live-words").setAttribute("aria-live", pausedAt && count ? "off" : "polite");
  };
  const connect = () => {
    if (source || document.hidden) return;
    source = new EventSource(path);
    source.onopen = tell;
    source.onerror = () => {
      // Browsers do not reconnect after an error response.
      if (source && source.readyState === EventSource.CLOSED) source = null, setTimeout(connect, 5000);
      tell();
    };
    source.addEventListener("part", (event) => {
      const part = JSON.parse(event.data);
      if (!pausedAt) return show(part);
      if ((waiting.get(part.id)?.html ?? shown.get(part.id)) === part.html) return;
      waiting.set(part.id, part);
      count += 1;
      tell();
    });
    // The session ended, or the page's address means another page now.
    source.addEventListener("reload", () => location.reload());
  };
  const disconnect = () => {
    if (source) source.close();
    source = null;
  };
  const pause = () => {
    pausedAt = pausedAt ? null : clock(new Date());
    if (!pausedAt) {
      waiting.forEach(show);
      waiting.clear();
      count = 0;
    }
    tell();
  };
  if (path && live && window.EventSource) {
    live.hidden = false;
    $("live-button").addEventListener("click", pause);
    document.addEventListener("visibilitychange", () => {
      document.hidden ? disconnect() : connect();
      tell();
    });
    addEventListener("pagehide", disconnect);
    addEventListener("pageshow", connect);
    connect();
    tell();
  }

  // ---- Keyboard shortcuts, which the reader may switch off
  const help = $("help");
  const on = $("help-on");
  const choice = (value) => {
    try {
      return value === undefined ? localStorage.getItem("keys") : localStorage.setItem("keys", value);
    } catch {
      return null;
    }
  };
  if ($("help-button")) {
    $("help-button").hidden = false;
    $("help-button").addEventListener("click", () => help.showModal());
    on.checked = choice() !== "off";
    on.addEventListener("change", () => choice(on.checked ? "on" : "off"));
  }
  const step = (by) => {
    const rows = [...document.querySelectorAll("a[data-row]")].filter((row) => row.offsetParent);
    const at = rows.indexOf(document.activeElement);
    const next = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(Math.max(at + by, 0), rows.length - 1)];
    if (next) next.focus();
  };
  let going = 0;
  document.addEventListener("keydown", (event) => {
    const { target, key } = event;
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing || help.open) return;
    if (target.closest("input, select, textarea, [contenteditable]")) {
      if (key === "Escape") target.blur();
      return;
    }
    if (!on || !on.checked) return;
    const did = () => event.preventDefault();
    if (Date.now() < going) {
      going = 0;
      const link = [...document.querySelectorAll("a[data-go]")].find((link) => link.dataset.go === key);
      if (link) return did(), link.click();
    }
    if (key === "/" && $("find")) did(), $("find").focus(), $("find").select();
    else if (key === "?") did(), help.showModal();
    else if (key === "j") step(1);
    else if (key === "k") step(-1);
    else if (key === "p" && source) pause();
    else if (key === "g") going = Date.now() + 1500;
  });

  // ---- A menu closes when the focus moves elsewhere
  const who = $("who");
  if (who) {
    document.addEventListener("click", (event) => who.contains(event.target) || who.removeAttribute("open"));
    who.addEventListener("keydown", (event) => {
      if (event.key === "Escape") who.removeAttribute("open"), who.querySelector("summary").focus();
    });
  }
})();
