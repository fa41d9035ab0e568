import { createHash } from "node:crypto";
import { count, oneLine } from "../../../core/text";
import { groupBy } from "../../../core/views";
import { CHECKS, countOf, type Finding, type Report, SEVERITIES } from "./finding";

/** Formats a report as one HTML page, which needs no network and no script, and allows none. */
export function formatHtml(report: Report): string {
  const { findings, unread, server, time, namespace, context, logs } = report;
  const scope = namespace === undefined ? "all namespaces" : `namespace ${namespace}`;
  // In their order.
  const groups = [...groupBy(findings, ({ severity, check }) => `${severity} ${check}`).values()];
  const counts = SEVERITIES.map(severity => {
    const found = findings.filter(one => one.severity === severity).length;
    return `<li class="${found === 0 ? "none" : severity}">${countOf(found, severity).replace(/^\d+/, "<b>$&</b>")}</li>`;
  });
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src '${STYLE_HASH}'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Audit of ${escape(context ?? server)}</title>
<style>${STYLE}</style>
</head>
<body>
<header>
<p>Controller resilience audit</p>
<h1>${escape(context ?? server)}</h1>
<p>${escape(scope)} of ${escape(server)}, ${escape(time.replace("T", " ").replace(/\.\d+Z$/, " UTC"))}</p>
</header>
<ul class="counts">${counts.join("")}</ul>
${unread.length === 0 ? "" : `<section class="warning"><h2>Incomplete <span>${count(unread.length, "read")} failed</span></h2>\n<ul>${unread.map(what => `<li>${escape(what)}</li>`).join("")}</ul></section>\n`}<main>
${findings.length === 0 ? emptyState(report) : groups.map(formatGroup).join("\n")}
</main>
<footer>${logs ? "" : "<p>No logs were read: with <code>--logs</code> the audit also finds controllers that get 401 or 403 responses now.</p>"}</footer>
</body>
</html>
`;
}

function emptyState({ unread }: Report): string {
  const where = unread.length === 0 ? "" : " in what could be read";
  return `<section class="well"><h2>No problem found${where}</h2><p>The audit looks at pods and their tokens, Leases, role bindings and objects of well-known kinds.</p></section>`;
}

/** Objects with the same reason and way out are listed together. */
function formatGroup(group: readonly Finding[]): string {
  const [{ severity, check }] = group as readonly [Finding];
  const same = groupBy(group, ({ why, wayOut }) => JSON.stringify([why, wayOut]));
  const rows = [...same.values()].map(formatRow);
  return `<section class="${severity}"><h2>${CHECKS[check]} <span>${countOf(group.length, severity)}</span></h2>\n${rows.join("\n")}\n</section>`;
}

function formatRow(findings: readonly Finding[]): string {
  const [{ why, wayOut }] = findings as readonly [Finding];
  const objects = findings.map(({ kind, namespace, name }) => {
    const place = namespace === "" ? "" : `<span>${escape(namespace)}/</span><wbr>`;
    return `<li>${escape(kind)} <b>${place}<span>${escape(name)}</span></b></li>`;
  });
  const commands = findings.flatMap(({ command }) => (command === undefined ? [] : `<code>${escape(command)}</code>`));
  return `<article><ul>${objects.join("")}</ul><div><p>${escape(why)}</p><p class="do">${escape(wayOut)}</p>${commands.join("")}</div></article>`;
}

/** Others write the names of objects, and texts that findings quote. */
function escape(text: string): string {
  return oneLine(text).replaceAll(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`);
}

const STYLE = `
:root { color-scheme: light dark; --page: #f6f8fa; --card: #fff; --text: #1f2328; --soft: #59636e; --line: #d1d9e0;
  --critical: #cf222e; --warning: #9a6700; --notice: #0969da; --well: #1a7f37 }
@media screen and (prefers-color-scheme: dark) { :root { --page: #0d1117; --card: #151b23; --text: #e6edf3; --soft: #9198a1;
  --line: #3d444d; --critical: #ff7b72; --warning: #d29922; --notice: #58a6ff; --well: #3fb950 } }
* { box-sizing: border-box; margin: 0; padding: 0 }
body { max-width: 1120px; margin: 0 auto; padding: 32px 24px; background: var(--page); color: var(--text);
  font: 15px/1.5 system-ui, sans-serif; overflow-wrap: anywhere }
header p, footer { color: var(--soft) }
h1 { font-size: 28px; line-height: 1.25 }
h2 { display: flex; flex-wrap: wrap; gap: 0 12px; font-size: 16px; padding: 12px 16px; border-bottom: 1px solid var(--line) }
h2 span { color: var(--mark); font-weight: 400 }
.critical { --mark: var(--critical) } .warning { --mark: var(--warning) } .notice { --mark: var(--notice) } .well { --mark: var(--well) } .none { --mark: var(--soft) }
ul { list-style: none }
.counts { display: grid; grid-template-columns: repeat(3, 1fr); gap: 16px; margin: 20px 0 }
.counts li, section { background: var(--card); border: 1px solid var(--line); border-radius: 8px }
.counts li { padding: 8px 16px; color: var(--soft) }
.counts b { display: block; font-size: 28px; line-height: 1.25; color: var(--mark) }
section { margin-bottom: 20px; border-left: 4px solid var(--mark) }
section > ul, section > p { padding: 12px 16px }
article { display: grid; grid-template-columns: 2fr 3fr; gap: 24px; padding: 12px 16px }
article + article { border-top: 1px solid var(--line) }
article > * { min-width: 0 }
article li { color: var(--soft) }
article b { color: var(--text) }
b span { display: inline-block; unicode-bidi: isolate }
p::first-letter { text-transform: uppercase }
.do { margin-top: 4px; color: var(--soft) }
code { font: 13px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace }
article code { display: block; margin-top: 8px; padding: 8px 12px; border-radius: 6px; background: var(--page);
  white-space: nowrap; overflow-x: auto; user-select: all }
@media (max-width: 720px) { body { padding: 16px 12px } article { grid-template-columns: 1fr; gap: 8px } .counts { gap: 8px } }
@media print { :root { --page: #fff } body { max-width: none; padding: 0; font-size: 12px } article, h2 { break-inside: avoid } h2 { break-after: avoid }
  article code { white-space: normal; border: 1px solid var(--line) } }
`;

/** The only style that the page's policy allows, even if a text of the cluster were not escaped. */
const STYLE_HASH = `sha256-${createHash("sha256").update(STYLE).digest("base64")}`;
