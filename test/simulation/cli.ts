// `npm run simulate`: runs the real operator in simulated clusters, and checks what it promises.
import { run } from "./command";

void run(process.argv.slice(2)).then(code => {
  process.exitCode = code;
});
