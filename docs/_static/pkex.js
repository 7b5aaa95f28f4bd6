// What the theme's pages lack for those who do not see them or use no mouse.
document.addEventListener("DOMContentLoaded", () => {
  const each = (selector, change) => document.querySelectorAll(selector).forEach(change);
  each('.caption[role="heading"]', (caption) => caption.setAttribute("aria-level", "2"));
  each("pre", (code) => code.setAttribute("tabindex", "0")); // wide code scrolls by keyboard
  each(".table-wrapper", (table) => table.setAttribute("tabindex", "0")); // as do wide tables
  each("aside.sidebar-drawer", (drawer) => drawer.setAttribute("aria-label", "Pages"));
  each("aside.toc-drawer", (drawer) => drawer.setAttribute("aria-label", "On this page"));
  each(".sig > dl", (terms) => { // parameters of a long signature: a list, as there are no terms
    const list = document.createElement("ul");
    for (const entry of terms.children) {
      const item = document.createElement("li");
      item.append(...entry.childNodes);
      list.append(item);
    }
    terms.replaceWith(list);
  });
  each(".sphx-glr-thumbcontainer a", (link) => link.setAttribute("aria-label", link.textContent.trim()));
});
