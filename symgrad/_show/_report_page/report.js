// A line of the source and the steps that come from it light up together; a click keeps them lit.
const marked = document.querySelectorAll("[data-line]");
let kept = null;
function light(line) {
  for (const item of marked) {
    item.classList.toggle("on", line !== null && item.dataset.line === line);
    item.classList.toggle("kept", kept !== null && item.dataset.line === kept);
    item.setAttribute("aria-pressed", String(item.dataset.line === kept));
  }
}
function keep(line) {
  kept = kept === line ? null : line;
  light(kept);
}
for (const item of marked) {
  const line = item.dataset.line;
  item.tabIndex = 0;
  item.addEventListener("mouseenter", () => light(line));
  item.addEventListener("mouseleave", () => light(kept));
  item.addEventListener("focus", () => light(line));
  item.addEventListener("blur", () => light(kept));
  item.addEventListener("click", () => keep(line));
  item.addEventListener("keydown", (event) => {
    if (event.key === "Escape") keep(kept);
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    keep(line);
  });
}
