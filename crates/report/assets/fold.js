// Tables on a narrow screen: the style sheet folds each row into a card, in which a cell shows the heading of its column.
const fold = () => {
  for (const table of document.querySelectorAll(".scroll table")) {
    const headings = [...table.querySelectorAll("thead th")].map((heading) => {
      // A heading of two lines is one line of a card; the axis of a column of drawings is left out.
      const words = [...heading.childNodes].map((node) => node.textContent.trim()).filter(Boolean).join(" ");
      return heading.classList.contains("drawn") ? "" : words;
    });
    for (const row of table.querySelectorAll("tbody tr")) {
      let column = 0;
      for (const cell of row.children) {
        if (cell.colSpan === 1 && headings[column]) cell.dataset.label = headings[column];
        column += cell.colSpan;
      }
    }
    table.parentElement.classList.add("folds");
  }
};
