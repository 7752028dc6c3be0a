// A line of the source and the steps that come from it light up together.
const marked = document.querySelectorAll("[data-line]");
function light(line) {
  for (const item of marked) item.classList.toggle("on", line !== null && item.dataset.line === line);
}
for (const item of marked) {
  item.tabIndex = 0;
  item.addEventListener("mouseenter", () => light(item.dataset.line));
  item.addEventListener("mouseleave", () => light(null));
  item.addEventListener("focus", () => light(item.dataset.line));
  item.addEventListener("blur", () => light(null));
}
