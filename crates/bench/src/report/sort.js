// A click on the head of a column sorts the table by it: numbers downwards first, words upwards.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.querySelectorAll("thead th")], body = table.tBodies[0];
  heads.forEach((head, column) => {
    const sort = () => {
      const rows = [...body.rows], key = row => row.cells[column].dataset.value ?? row.cells[column].textContent.trim();
      const numbers = rows.some(row => row.cells[column].dataset.value);
      const down = head.ariaSort ? head.ariaSort === "ascending" : numbers;
      heads.forEach(other => other.ariaSort = null);
      head.ariaSort = down ? "descending" : "ascending";
      const compare = numbers ? (a, b) => (key(a) || -Infinity) - (key(b) || -Infinity) : (a, b) => key(a).localeCompare(key(b));
      rows.sort((a, b) => down ? compare(b, a) : compare(a, b)).forEach(row => body.append(row));
    };
    head.tabIndex = 0;
    head.addEventListener("click", sort);
    head.addEventListener("keydown", event => { if (event.key === "Enter") sort(); });
  });
}
