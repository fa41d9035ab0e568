import { createHash } from "node:crypto";
import { CHECKS, countOf, nameOf, type Finding, SEVERITIES, type Severity } from "./finding";
import { type Report, summaryOf } from "./report";

/** Formats a report as one page that needs nothing else: no network, no file. */
export function formatHtml(report: Report): string {
  const { findings, unread, time } = report;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-${SCRIPT_HASH}'; base-uri 'none'; form-action 'none'">
<title>Controller resilience audit</title>
<style>${STYLE}</style>
</head>
<body>
<header>
<h1>Controller resilience audit</h1>
<p>${escape(summaryOf(report))} <time datetime="${escape(time)}">${escape(time)}</time></p>
</header>
<section class="counts">${SEVERITIES.map(severity => counter(severity, findings)).join("")}</section>
${unread.length === 0 ? "" : `<section class="incomplete"><h2>Incomplete</h2><ul>${unread.map(({ what, why, unknown }) => `<li><b>${escape(what)}</b>: ${escape(why)}. Unknown: ${escape(unknown)}.</li>`).join("")}</ul></section>`}
<form>
<input id="text" type="search" placeholder="Filter by any text" aria-label="Filter by any text">
${select("severity", "all severities", SEVERITIES)}
${select("check", "all checks", [...new Set(findings.map(({ check }) => check))])}
${select("namespace", "all namespaces", [...new Set(findings.map(({ namespace }) => namespace))].filter(Boolean).sort())}
<output id="shown"></output>
</form>
<table>
<thead><tr>${["Severity", "Check", "Object", "Why", "What to do"].map((title, i) => `<th scope="col"><button type="button" data-column="${i}">${title}</button></th>`).join("")}</tr></thead>
<tbody>
${findings.map(row).join("\n")}
</tbody>
</table>
<script>${SCRIPT}</script>
</body>
</html>
`;
}

function counter(severity: Severity, findings: readonly Finding[]): string {
  const count = countOf(findings.filter(one => one.severity === severity).length, severity);
  return `<div class="${severity}">${count.replace(/^\d+/, "<b>$&</b>")}</div>`;
}

function select(id: string, all: string, values: readonly string[]): string {
  const options = values.map(value => `<option>${escape(value)}</option>`).join("");
  return `<select id="${id}" aria-label="${all}"><option value="">${all}</option>${options}</select>`;
}

function row(finding: Finding): string {
  const { severity, check, namespace, why, wayOut, command } = finding;
  const cells = [
    `<td data-sort="${SEVERITIES.indexOf(severity)}"><span class="${severity}">${severity}</span></td>`,
    `<td title="${escape(CHECKS[check])}">${check}</td>`,
    `<td><code>${escape(nameOf(finding))}</code></td>`,
    `<td>${escape(why)}</td>`,
    `<td>${escape(wayOut)}${command === undefined ? "" : ` <code>${escape(command)}</code>`}</td>`,
  ];
  const data = `data-severity="${severity}" data-check="${check}" data-namespace="${escape(namespace)}"`;
  return `<tr ${data}>${cells.join("")}</tr>`;
}

/** Names of objects and conditions of a cluster are written by others. */
function escape(text: string): string {
  const entities: Readonly<Record<string, string>> = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "'": "&#39;",
  };
  return text.replaceAll(/[&<>"']/g, character => entities[character] ?? "");
}

const STYLE = `
:root { color-scheme: light dark; --bg: #fff; --fg: #1c2430; --soft: #5b6675; --line: #dde2e8; --head: #f4f6f8;
  --critical: #b3261e; --warning: #8a5a00; --notice: #1f5fa8; }
@media (prefers-color-scheme: dark) { :root { --bg: #14181d; --fg: #e3e8ee; --soft: #9aa6b4; --line: #2c343d; --head: #1b2127;
  --critical: #ff8a80; --warning: #ffc45c; --notice: #8ab8f5; } }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 1200px; padding: 24px; background: var(--bg); color: var(--fg); font: 15px/1.45 system-ui, sans-serif }
h1 { font-size: 22px; margin: 0 } header p { color: var(--soft); margin: 4px 0 16px }
.counts { display: flex; gap: 12px; margin-bottom: 16px } .counts div { border: 1px solid var(--line); border-radius: 8px; padding: 8px 16px }
.counts b { font-size: 22px; margin-right: 4px } .critical { color: var(--critical) } .warning { color: var(--warning) } .notice { color: var(--notice) }
.incomplete { border-left: 4px solid var(--warning); padding: 4px 16px; margin-bottom: 16px } h2 { font-size: 16px; margin: 4px 0 }
form { display: flex; flex-wrap: wrap; gap: 8px; margin-bottom: 12px; align-items: center }
input, select { font: inherit; padding: 6px 8px; border: 1px solid var(--line); border-radius: 6px; background: var(--bg); color: inherit }
input { flex: 1 1 220px } output { color: var(--soft) }
table { border-collapse: collapse; width: 100% } th { background: var(--head); text-align: left; position: sticky; top: 0 }
th button { all: unset; cursor: pointer; font-weight: 600; padding: 8px; display: block } th button:focus-visible { outline: 2px solid var(--notice) }
th[aria-sort=ascending] button::after { content: " \\25B2" } th[aria-sort=descending] button::after { content: " \\25BC" }
td { border-top: 1px solid var(--line); padding: 8px; vertical-align: top } td:nth-child(3) { min-width: 230px } code { font-size: 13px; overflow-wrap: anywhere }
td span { font-weight: 600 } @media print { form { display: none } }
@media (max-width: 800px) { body { padding: 12px } table, tbody, tr, td { display: block } thead tr { display: flex; flex-wrap: wrap }
  tr[hidden] { display: none } tbody tr { border-top: 1px solid var(--line); padding: 8px 0 } td, td:nth-child(3) { border: 0; padding: 2px 8px; min-width: 0 } }`;

const SCRIPT = `
const body = document.querySelector("tbody"), rows = [...body.rows];
const fields = ["severity", "check", "namespace"].map(id => document.getElementById(id));
const text = document.getElementById("text"), shown = document.getElementById("shown");
function filter() {
  const words = text.value.toLowerCase().split(/\\s+/);
  let count = 0;
  for (const row of rows) {
    const fits = fields.every(({ id, value }) => value === "" || row.dataset[id] === value)
      && words.every(word => row.textContent.toLowerCase().includes(word));
    row.hidden = !fits;
    if (fits) count++;
  }
  shown.textContent = count + " of " + rows.length;
}
for (const field of [text, ...fields]) field.addEventListener("input", filter);
document.querySelector("form").addEventListener("submit", event => event.preventDefault());
for (const button of document.querySelectorAll("th button")) button.addEventListener("click", () => {
  const head = button.parentElement, up = head.getAttribute("aria-sort") !== "ascending";
  for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", up ? "ascending" : "descending");
  const key = row => { const cell = row.cells[button.dataset.column]; return cell.dataset.sort ?? cell.textContent; };
  rows.sort((a, b) => (up ? 1 : -1) * key(a).localeCompare(key(b), undefined, { numeric: true }));
  body.append(...rows);
});
filter();`;

/** Only this script may run, even if a text of the cluster were not escaped. */
const SCRIPT_HASH = createHash("sha256").update(SCRIPT).digest("base64");
