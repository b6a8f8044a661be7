// What an editor gives to the page. The test reads `posted`, fills `answers`, and tells by `tell`.
const theme = new URLSearchParams(location.search).get("theme") ?? "dark";
document.documentElement.className = theme;
addEventListener("DOMContentLoaded", () => {
  document.body.className = `vscode-${theme === "contrast" ? "high-contrast" : theme}`;
});

window.posted = [];
window.answers = {};
window.tell = (...messages) => {
  for (const message of messages) {
    dispatchEvent(new MessageEvent("message", { data: message }));
  }
};
window.acquireVsCodeApi = () => ({
  getState: () => JSON.parse(sessionStorage.getItem("state") ?? "null") ?? undefined,
  setState: (state) => sessionStorage.setItem("state", JSON.stringify(state)),
  postMessage: (message) => {
    window.posted.push(message);
    const answer = message.type === "request" ? window.answers[message.method] : undefined;
    if (answer) {
      setTimeout(() => window.tell({ type: "answer", id: message.id, ...answer }));
    }
  },
});
