// The site of the documentation, built by `npm run docs`. Its pages are the Markdown files of the repository, with the links that GitHub shows.
import { cpSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig, type DefaultTheme, type MarkdownRenderer, type SiteConfig } from "vitepress";
import { slugOf } from "../../test/docs/links";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** The pages of the sidebar, by who reads them, as in the last table of README.md. A folder stands for all its pages. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  Start: ["README.md", "docs/install.md", "docs/adopting.md", "docs/cluster-wide.md", "docs/gitops.md"],
  Remedies: pagesIn("docs/remedies"),
  "When you are paged": [
    "docs/paged.md",
    "docs/observability.md",
    "docs/why-not-restarted.md",
    "docs/runbook-runaway.md",
    "docs/cli.md",
    "docs/notifications.md",
    "docs/metrics.md",
  ],
  Reference: [
    "docs/api.md",
    "docs/settings.md",
    "deploy/chart/README.md",
    "docs/upgrading.md",
    "docs/uninstall.md",
    "CHANGELOG.md",
  ],
  Review: ["docs/security.md", "docs/reliability.md", "docs/detection.md", "docs/measurements.md", "SECURITY.md"],
  Contribute: [
    "CONTRIBUTING.md",
    "docs/architecture.md",
    "docs/testing.md",
    "docs/simulation.md",
    "docs/lab.md",
    "docs/releasing.md",
    "docs/facts",
    "docs/adr",
    "ROADMAP.md",
    "SUPPORT.md",
    "CODE_OF_CONDUCT.md",
  ],
};

/** Paths of the pages in a folder, from the root of the repository; of a page, its own path. */
function pagesIn(path: string): string[] {
  if (path.endsWith(".md")) return [path];
  return readdirSync(join(root, path), { withFileTypes: true })
    .filter(entry => entry.name.endsWith(".md") || entry.isDirectory())
    .flatMap(entry => pagesIn(`${path}/${entry.name}`));
}

const pages = new Set(Object.values(GROUPS).flat().flatMap(pagesIn));
const lost = pagesIn("docs").filter(page => !pages.has(page));
if (lost.length > 0) throw new Error(`expected each page of docs/ in GROUPS, got none for ${lost.join(", ")}`);

// Copied to a folder of the site, since a page finds the modules of the site only from below it.
const sources = join(root, "site/.pages");
rmSync(sources, { recursive: true, force: true });
for (const path of [...pages, "docs/demo.svg", "docs/images"])
  cpSync(join(root, path), join(sources, path), { recursive: true });

function entryOf(path: string): DefaultTheme.SidebarItem {
  const own = pagesIn(path);
  if (own.length > 1) return { text: path.replace("docs/", ""), collapsed: true, items: own.map(entryOf) };
  const [, title = path] = /^# (.*)$/m.exec(readFileSync(join(root, path), "utf8")) ?? [];
  return { text: title.replaceAll("`", ""), link: `/${path.replace(/README\.md$/, "").replace(/\.md$/, "")}` };
}

/** Files that are no pages, but that pages link to, such as examples. */
const files = new Set<string>();

/** Returns a link of a page as the site has it: to the README of a folder, or to a copy of a file that is no page. */
function linkOnSite(page: string, href: string): string {
  const [path = "", anchor] = href.split("#");
  const target = normalize(join(dirname(page), path)).replace(/\/$/, "");
  const suffix = anchor === undefined ? "" : `#${anchor}`;
  if (pages.has(target)) return path.replace(/README\.md$/, "index.md") + suffix;
  if (pages.has(`${target}/README.md`)) return path.replace(/\/?$/, "/") + suffix;
  // What is missing stays as it is, so that the build fails.
  if (statSync(join(root, target), { throwIfNoEntry: false })?.isFile() !== true) return href;
  files.add(target);
  return `/${target}`;
}

function followLinks(markdown: MarkdownRenderer): void {
  markdown.core.ruler.push("links", ({ tokens, env }) => {
    const { relativePath } = env as { relativePath: string };
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const href = token.type === "link_open" ? token.attrGet("href") : null;
      if (href === null || /^([a-z]+:|#)/i.test(href)) continue;
      const link = linkOnSite(relativePath, href);
      token.attrSet("href", link);
      if (link.startsWith("/")) token.attrSet("target", "_blank");
    }
  });
}

export default defineConfig({
  title: "controller-resilience",
  description: "Finds Kubernetes controllers that died silently, and heals them.",
  lang: "en",
  // No file: else browsers ask for favicon.ico, which is missing.
  head: [["link", { rel: "icon", href: "data:," }]],
  srcDir: sources,
  outDir: join(root, "dist/site"),
  // Where the site is below its host, such as /controller-resilience/.
  base: process.env["DOCS_BASE"] ?? "/",
  rewrites: page => page.replace(/(^|\/)README\.md$/, "$1index.md"),
  markdown: {
    anchor: { slugify: slugOf },
    config: followLinks,
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
  },
  themeConfig: {
    search: { provider: "local" },
    sidebar: Object.entries(GROUPS).map(([text, paths]) => ({ text, items: paths.map(entryOf) })),
    nav: [
      { text: "Install", link: "/docs/install" },
      { text: "API", link: "/docs/api" },
      { text: "When you are paged", link: "/docs/paged" },
    ],
    outline: [2, 3],
  },
  buildEnd: ({ outDir }: SiteConfig) => {
    for (const file of files) cpSync(join(root, file), join(outDir, file));
  },
});
