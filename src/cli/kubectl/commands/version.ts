import type { Command } from "commander";
import cfg from "../../../../package.json";
import { addClusterCommand, type Shell } from "../command";
import { Exit } from "../io";

/** `version`: of this program, and whether the cluster serves the API that it knows. */
export function registerVersion(program: Command, shell: Shell): void {
  addClusterCommand(program, shell, {
    usage: "version",
    summary: "show the versions of this plugin and of the operator's API",
    description: "Show the version of this plugin, and the versions of the operator's API that the cluster serves.",
    examples: [["version -o json", "for a script"]],
    formats: ["json", "yaml", "wide"],
    async run(session, { output }) {
      const served = await session.servedVersions();
      if (output === "json" || output === "yaml") await session.output.data({ client: cfg.version, served }, output);
      else await session.output.text(`client: ${cfg.version}\nserved: ${served.join(", ") || "none, not installed"}\n`);
      return Exit.ok;
    },
  });
}
