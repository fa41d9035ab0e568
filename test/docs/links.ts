/** A link of a Markdown file to a file of this project. */
interface Link {
  /** Path as written; empty for an anchor of the same file. */
  readonly path: string;
  /** Without the `#`; undefined if the link has none. */
  readonly anchor: string | undefined;
}

/** Returns the links of a Markdown text that do not lead to another site, without those in code. */
export function internalLinks(markdown: string): Link[] {
  const prose = withoutFences(markdown).replace(/`+[^`]*`+/g, "");
  const inline = [...prose.matchAll(/\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/g)];
  const references = [...prose.matchAll(/^ {0,3}\[[^\]]+\]:\s+<?(\S+?)>?(?:\s|$)/gm)];
  return [...inline, ...references]
    .map(([, target]) => target ?? "")
    .filter(target => !/^[a-z][a-z0-9+.-]*:/i.test(target))
    .map(target => {
      const [path = "", anchor] = target.split("#");
      return { path: decodeURIComponent(path), anchor };
    });
}

/** Returns the anchors of the headings of a Markdown text, as GitHub forms them. */
export function anchors(markdown: string): Set<string> {
  const found = new Set<string>();
  for (const [, heading = ""] of withoutFences(markdown).matchAll(/^#{1,6}\s+(.*?)\s*#*$/gm)) {
    const slug = slugOf(heading);
    let unique = slug;
    for (let n = 1; found.has(unique); n++) unique = `${slug}-${n}`;
    found.add(unique);
  }
  return found;
}

/** Returns the anchor of a heading, without a number for repetitions. */
export function slugOf(heading: string): string {
  return heading
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replace(/\s/g, "-");
}

function withoutFences(markdown: string): string {
  return markdown.replace(/^( *)(```+|~~~+)[^\n]*\n[\s\S]*?^ *\2 *$/gm, "");
}
