// The icons: strokes on a grid of 16, drawn with the colour of the text beside them.

import { s } from "./dom.js";

const PATHS = {
  overview: "M2.5 2.5h4.5v6H2.5zM9 2.5h4.5v3.5H9zM9 8.5h4.5v5H9zM2.5 11h4.5v2.5H2.5z",
  lane: "M2 8h9M8 4.5 11.5 8 8 11.5M14 3v10",
  jobs: "M3 3.5h10v6.5H9L6.5 13v-3H3z",
  events: "M9 1.5 3.5 9H8l-1 5.5L12.5 7H8z",
  subscriptions: "M3 8a5 5 0 0 1 5 5M3 3a10 10 0 0 1 10 10M3.5 12.5h.01",
  pools: "M8 2 14 5 8 8 2 5zM2 8l6 3 6-3M2 11l6 3 6-3",
  accounts: "M8 8a2.75 2.75 0 1 0 0-5.5A2.75 2.75 0 0 0 8 8zM2.5 14c.5-3 2.7-4.2 5.5-4.2s5 1.2 5.5 4.2",
  keys: "M6 10a3 3 0 1 1-.01-6A3 3 0 0 1 6 10zM8.5 8.3 13.5 13.3M11 11l1.5-1.5",
  audit: "M4 2.5h8v11H4zM6.5 5.5h3M6.5 8h3M6.5 10.5h2",
  check: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM5.3 8.2 7.2 10l3.5-4",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.5 10.5 14 14",
  theme: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 2v12M8 4.5h4M8 7h5.8M8 9.5h5.5M8 12h3.5",
  menu: "M2.5 4h11M2.5 8h11M2.5 12h11",
  help: "M5.8 6a2.2 2.2 0 1 1 3.3 2c-.8.5-1.1.800-1.1 1.6M8 12.3h.01",
  leave: "M6.5 2.5h-4v11h4M6 8h8M11 5l3 3-3 3",
  alert: "M8 2 14.5 13.5h-13zM8 6.5v3.2M8 11.6h.01",
  done: "M3 8.5 6.5 12 13 4.5",
  copy: "M5.5 5.5h8v8h-8zM3 10.5h-.5v-8h8V3",
  close: "M4 4l8 8M12 4l-8 8",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  play: "M5 3.5v9l7-4.5z",
  plus: "M8 3v10M3 8h10",
  back: "M10 3.5 5.5 8 10 12.5",
  next: "M6 3.5 10.5 8 6 12.5",
  download: "M8 2.5v7.5M5 7l3 3 3-3M3 13.5h10",
  wait: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 4.8V8l2.2 1.5",
  empty: "M2.5 9.5 4.5 3h7l2 6.5v4h-11zM2.5 9.5H6l.8 1.5h2.4L10 9.5h3.5",
};

export const icon = (name) =>
  s("svg", { class: "icon", viewBox: "0 0 16 16", "aria-hidden": "true", focusable: "false" }, s("path", { d: PATHS[name] }));
