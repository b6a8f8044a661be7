/** Make an input as high as its text, as far as its style lets it. */
export function fit(box: HTMLTextAreaElement | null): void {
  if (box) {
    box.style.height = "auto";
    box.style.height = `${box.scrollHeight + box.offsetHeight - box.clientHeight}px`;
  }
}
