// The kubectl plugin, and the program of the package's `bin`.
import { main } from "./kubectl/program";
import { CLOSED_PIPE } from "./kubectl/terminal";
import { endOnFailedOutput } from "./streams";

endOnFailedOutput(CLOSED_PIPE);
// classify and replay set an exit code of their own.
void main(process.argv.slice(2), process).then(code => (process.exitCode ??= code));
