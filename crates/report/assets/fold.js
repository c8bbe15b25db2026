// Tables on a narrow screen: the style sheet folds each row into a card, in which a cell shows the heading of its column.
const fold = () => {
  unfolding();
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

// A link to a folded section unfolds it, and paper shows every section.
const unfolding = () => {
  const unfold = (element) => {
    for (let at = element; at; at = at.parentElement) if (at.localName === "details") at.open = true;
  };
  const show = (hash) => {
    const target = hash.length > 1 && document.getElementById(hash.slice(1));
    if (!target) return;
    unfold(target);
    target.scrollIntoView();
  };
  for (const link of document.querySelectorAll('a[href^="#"]')) link.addEventListener("click", () => show(link.hash));
  onbeforeprint = () => document.querySelectorAll("details.fold").forEach(unfold);
  show(location.hash);
};
