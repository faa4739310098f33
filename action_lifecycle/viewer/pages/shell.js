// SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
// SPDX-License-Identifier: Apache-2.0

// A key clicks the element whose data-key it is, or focuses the one whose data-focus-key it is.
(() => {
  const OFF = "action_lifecycle_no_single_keys";
  const off = () => { try { return localStorage.getItem(OFF) === "1"; } catch { return false; } };
  const visible = (found) => [...found].find((element) => element.offsetParent !== null);
  const typing = (target) =>
    target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key !== "Escape" && (event.key.length !== 1 || off())) return;
    if (typing(event.target)) return;
    if (document.querySelector(".q-dialog")) return;
    const key = CSS.escape(event.key);
    const clicked = visible(document.querySelectorAll(`[data-key="${key}"]`));
    const focused = visible(document.querySelectorAll(`[data-focus-key="${key}"]`));
    if (clicked) clicked.click();
    else if (focused) (focused.querySelector("input") || focused).focus();
    else return;
    event.preventDefault();
  });

  document.addEventListener("change", (event) => {
    if (!event.target.matches("[data-single-keys]")) return;
    try { localStorage.setItem(OFF, event.target.checked ? "0" : "1"); } catch { /* private */ }
  });
  new MutationObserver(() => {
    const box = document.querySelector("[data-single-keys]:not([data-set])");
    if (box) { box.checked = !off(); box.dataset.set = ""; }
  }).observe(document.documentElement, { childList: true, subtree: true });

  // After a sign-in the same place is shown again.
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-sign-in]");
    if (link) link.href = "/sign-in?next=" + encodeURIComponent(location.pathname + location.search);
  });
})();
