// SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
// SPDX-License-Identifier: Apache-2.0
document.querySelectorAll('table.sortable th').forEach(function (head) {
  head.tabIndex = 0;
  function sort() {
    var table = head.closest('table'), body = table.tBodies[0], at = head.cellIndex;
    var up = head.getAttribute('aria-sort') === 'ascending' ? -1 : 1;
    function key(row) {
      var cell = row.cells[at];
      return 'v' in cell.dataset ? Number(cell.dataset.v) : cell.textContent.trim();
    }
    Array.from(body.rows).sort(function (a, b) {
      var x = key(a), y = key(b);
      return up * (typeof x === 'number' && typeof y === 'number'
        ? x - y : String(x).localeCompare(String(y), undefined, {numeric: true}));
    }).forEach(function (row) { body.appendChild(row); });
    table.querySelectorAll('th').forEach(function (other) { other.removeAttribute('aria-sort'); });
    head.setAttribute('aria-sort', up === 1 ? 'ascending' : 'descending');
  }
  head.addEventListener('click', sort);
  head.addEventListener('keydown', function (event) { if (event.key === 'Enter') { sort(); } });
});
