// The kubectl plugin, and the program of the package's `bin`.
import { main } from "./kubectl/program";
import { CLOSED_PIPE } from "./kubectl/terminal";
import { endOnFailedOutput } from "./streams";

endOnFailedOutput(CLOSED_PIPE);
void main(process.argv.slice(2), process).then(code => {
  // Timers of what `plan` reads in the background are left. A failed output ends the program by itself.
  process.stdout.write("", error => {
    // classify and replay set an exit code of their own.
    if (!error) process.exit(process.exitCode ?? code);
  });
});
