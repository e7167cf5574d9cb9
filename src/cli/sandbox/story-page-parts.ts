/** Style and script of a scenario's page. The script reads only numbers from attributes, and writes only text. */

/** The style sheet of the page. It is light or dark, as the reader's system is set. */
export const STORY_STYLE = [
  ":root{color-scheme:light dark;--text:#10161C;--dim:#46505A;--ground:#FFFFFF;--line:#E7EBF0;--node:#F3F5F8;--rate:#1C72A7}",
  "@media (prefers-color-scheme:dark){:root{--text:#E8EEF4;--dim:#B4C0CC;--ground:#0F1419;--line:#25303B;--node:#1A222B;--rate:#3EB9D7}}",
  "body{font:14px/1.5 system-ui,sans-serif;color:var(--text);background:var(--ground);margin:24px auto;max-width:1040px;padding:0 16px}",
  "h1{font-size:20px}h2{font-size:16px;margin-top:24px}svg{width:100%;height:auto}svg text{font-size:12px;fill:var(--dim)}",
  ".rate{fill:none;stroke:var(--rate);stroke-width:2}#cursor{stroke:var(--text)}",
  ".slider{position:sticky;top:0;background:var(--ground);display:flex;gap:12px;align-items:center;padding:8px 0}.slider input{flex:1}",
  "output{font-variant-numeric:tabular-nums}#map{display:flex;flex-wrap:wrap;gap:8px;min-height:80px}",
  ".node{border:1px solid var(--dim);border-radius:4px;background:var(--node);padding:8px;width:220px;overflow-wrap:anywhere}",
  ".node strong,.node span,.node em{display:block}.node span{color:var(--dim)}[hidden]{display:none!important}",
  ".scroll{overflow-x:auto}table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:2px 12px 2px 0;border-bottom:1px solid var(--line);vertical-align:top}",
].join("");

/** The script. `#12` in the page's address selects that moment. */
export const STORY_SCRIPT = `"use strict";
const byId = (id) => document.getElementById(id);
const slider = byId("at");
const moments = slider.dataset.moments.split(" ").map(Number);
const nodes = [...byId("map").children];
const rows = [...byId("events").children];
const since = (node, step, at) => node.dataset[step] !== undefined && Number(node.dataset[step]) <= at;
function show() {
  const at = moments[Number(slider.value)];
  let rate = 0;
  for (const node of nodes) {
    node.hidden = !since(node, "launched", at) || since(node, "ended", at);
    if (node.hidden) continue;
    rate += Number(node.dataset.price);
    const state = since(node, "leaving", at) ? "leaving" : since(node, "ready", at) ? "ready" : "coming up";
    node.querySelector("em").textContent = state;
  }
  for (const row of rows)
    row.hidden = Number(row.dataset.at) > at || (byId("decisions").checked && !row.classList.contains("decision"));
  byId("clock").textContent = new Date(at).toISOString().slice(11, 23);
  byId("rate").textContent = "$" + (rate / 1e6).toFixed(4) + "/h";
  const [first, last] = [moments[0], moments[moments.length - 1]];
  const x = String(Math.round(((at - first) / Math.max(1, last - first)) * 1000));
  byId("cursor").setAttribute("x1", x);
  byId("cursor").setAttribute("x2", x);
}
const begin = Number(location.hash.slice(1));
if (location.hash !== "" && Number.isInteger(begin)) slider.value = String(begin);
slider.addEventListener("input", show);
byId("decisions").addEventListener("input", show);
show();
`;
