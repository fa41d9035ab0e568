// docs/demo.svg: the moving picture of the README, drawn from a recording of `npm run demo`.
import { type Recording, readRecording, RECORDING_FILE } from "../test/demo/recording";
import type { Told } from "../test/demo/timeline";

const WIDTH = 620;
const MARGIN = 20;
const FONT_SIZE = 14;
const LINE = 20;
/** Width of a character of a monospaced font, of its size. */
const CHARACTER = 0.6 * FONT_SIZE;
/** Where the bars begin, and the words of a line. */
const BARS_X = 130;
const WORDS_X = 74;
const BARS_Y = 62;
const BAR = 20;
const WORDS_Y = 160;
/** Seconds of the picture while the recording plays, and while its end stands still. */
const PLAY_S = 14;
const HOLD_S = 8;
const MAX_ROWS = 2;

/** Colours on a light and on a dark page. */
const COLOURS = {
  card: ["#ffffff", "#0d1117"],
  edge: ["#d0d7de", "#30363d"],
  plain: ["#1f2328", "#e6edf3"],
  faint: ["#59636e", "#9198a1"],
  good: ["#1a7f37", "#3fb950"],
  bad: ["#cf222e", "#f85149"],
  busy: ["#9a6700", "#d29922"],
} as const;

interface Bar {
  readonly from: number;
  readonly to: number;
  readonly tone: Told["tone"];
  readonly label: string;
}

/** The output of `npm run generate`. */
export function demoPicture(): { path: string; from: string; text: () => Promise<string> } {
  const text = (): Promise<string> => Promise.resolve(drawPicture(readRecording(RECORDING_FILE)));
  return { path: "docs/demo.svg", from: "test/demo/recording.json", text };
}

/**
 * Draws a recording: two bars show what Kubernetes sees and what the API server answers, lines what was told.
 * Without animation, or if the reader prefers none, it shows the end.
 *
 * @throws Error if the recording lacks a step of the story
 */
export function drawPicture({ told, ending }: Recording): string {
  const end = Math.max(...told.map(({ seconds }) => seconds));
  const rejected = secondsOf(told, "the controller logs its first 401");
  const stays = secondsOf(told, "stays Running and Ready");
  const evicted = secondsOf(told, "PodEvicted");
  const ready = secondsOf(told, " is Ready");
  const leads = secondsOf(told, "the new pod leads");
  if (!(rejected <= stays && stays < evicted && evicted <= ready && ready <= leads))
    throw new Error("expected a 401, a pod that stays Ready, its eviction, a new pod, its work; got another order");
  const rows = told.map(line => ({ line, words: wrap(shorten(line.what)) }));
  const height = WORDS_Y + rows.reduce((sum, { words }) => sum + words.length, 0) * LINE + MARGIN;
  const bars = [
    drawBars(0, "its pod", end, [
      { from: 0, to: evicted, tone: "good", label: "Running, Ready" },
      { from: ready, to: end, tone: "good", label: "a new pod, Ready" },
    ]),
    drawBars(1, "its requests", end, [
      { from: rejected, to: evicted, tone: "bad", label: "401" },
      { from: ready, to: leads, tone: "busy", label: "waits to lead" },
      { from: leads, to: end, tone: "good", label: "OK" },
    ]),
  ];
  let y = WORDS_Y;
  const lines = rows.map(({ line, words }, index) => {
    const drawn = drawLine(line, words, y, index);
    y += words.length * LINE;
    return drawn;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="title words">
<title id="title">A controller dies silently, and the operator heals it</title>
<desc id="words">${told.map(({ seconds, what }) => `${seconds} s: ${escape(shorten(what)).replace(/\.$/, "")}.`).join(" ")} ${escape(ending)}</desc>
<style>
${style(rows.map(({ line }) => line.seconds / end))}
</style>
<rect class="card" x="0.5" y="0.5" width="${WIDTH - 1}" height="${height - 1}" rx="8"/>
<text class="plain title" x="${MARGIN}" y="${MARGIN + 16}">A controller dies silently, and is healed</text>
<text class="faint" x="${WIDTH - MARGIN}" y="${MARGIN + 16}" text-anchor="end">npm run demo, ${Math.round(end)} s</text>
${bars.join("\n")}
<svg x="${BARS_X}" y="${BARS_Y - 4}" width="${WIDTH - MARGIN - BARS_X + 1}" height="${2 * LINE + BAR + 12}">
<g class="time"><rect class="cover" width="${WIDTH}" height="100%"/><line class="now" y2="100%"/></g>
</svg>
${lines.join("\n")}
</svg>
`;
}

function secondsOf(told: readonly Told[], words: string): number {
  const found = told.find(({ what }) => what.includes(words));
  if (found === undefined) throw new Error(`expected a line with "${words}" in the recording, found none`);
  return found.seconds;
}

/** Leaves out the hash of a ReplicaSet, and what is said twice. */
function shorten(what: string): string {
  return what
    .replaceAll(/\b([a-z-]+)-[0-9a-f]{8,10}-([a-z0-9]{5})\b/g, "$1-$2")
    .replace(/^(\w+ on Pod (\S+)): Pod \2 /, "$1: it ");
}

function wrap(text: string): string[] {
  const most = Math.floor((WIDTH - MARGIN - WORDS_X) / CHARACTER);
  const rows: string[] = [];
  for (const word of text.split(" ")) {
    const last = rows.at(-1);
    if (last === undefined || last.length + 1 + word.length > most) rows.push(word);
    else rows[rows.length - 1] = `${last} ${word}`;
  }
  if (rows.length <= MAX_ROWS) return rows;
  const last = rows[MAX_ROWS - 1]!;
  return [...rows.slice(0, MAX_ROWS - 1), `${last.length + 2 > most ? last.replace(/ \S*$/, "") : last} …`];
}

function drawBars(row: number, label: string, end: number, bars: readonly Bar[]): string {
  const y = BARS_Y + row * (BAR + 14);
  const x = (seconds: number): number => round(BARS_X + ((WIDTH - MARGIN - BARS_X) * seconds) / end);
  const drawn = bars.map(({ from, to, tone, label }) => {
    const width = round(x(to) - x(from));
    const text = `<text class="on" x="${x(from) + 6}" y="${y + 15}">${label}</text>`;
    return `<rect class="${tone}" x="${x(from)}" y="${y}" width="${width}" height="${BAR}" rx="3"/>${text}`;
  });
  return [`<text class="plain" x="${MARGIN}" y="${y + 15}">${label}</text>`, ...drawn].join("\n");
}

function drawLine({ seconds, tone }: Told, words: readonly string[], y: number, index: number): string {
  const spans = words.map((row, at) => `<tspan x="${WORDS_X}" dy="${at === 0 ? 0 : LINE}">${escape(row)}</tspan>`);
  return `<text class="row r${index} ${tone}" y="${y}"><tspan class="faint" x="${MARGIN + 40}" text-anchor="end">${seconds.toFixed(1)}s</tspan>${spans.join("")}</text>`;
}

/** @param shares of the recording after which each line appears */
function style(shares: readonly number[]): string {
  const loop = PLAY_S + HOLD_S;
  const percent = (share: number): number => round((100 * PLAY_S * share) / loop);
  const colours = (which: 0 | 1): string =>
    Object.entries(COLOURS)
      .map(([name, both]) => `--${name}:${both[which]}`)
      .join(";");
  return [
    `svg{${colours(0)};font:${FONT_SIZE}px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}`,
    `@media (prefers-color-scheme:dark){svg{${colours(1)}}}`,
    ".card{fill:var(--card);stroke:var(--edge)}.cover{fill:var(--card)}.title{font-weight:bold}.on{fill:var(--card);font-size:12px;font-weight:bold}",
    ...["plain", "faint", "good", "bad", "busy"].map(tone => `.${tone}{fill:var(--${tone})}`),
    ".now{stroke:var(--plain);stroke-width:2}.time{transform:translateX(100%)}",
    "@media (prefers-reduced-motion:no-preference){",
    `.time{animation:time ${loop}s linear infinite}.row{animation:${loop}s linear infinite}`,
    ...shares.map((_, index) => `.r${index}{animation-name:r${index}}`),
    "}",
    `@keyframes time{0%{transform:translateX(0)}${percent(1)}%,100%{transform:translateX(100%)}}`,
    ...shares.map((share, index) => {
      const at = percent(share);
      return `@keyframes r${index}{0%,${at}%{opacity:0}${round(at + 1)}%,98%{opacity:1}100%{opacity:0}}`;
    }),
  ].join("\n");
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
