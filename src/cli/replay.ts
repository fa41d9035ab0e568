// `npm run -s replay`: the command `replay` alone.
import { Command } from "commander";
import { defineReplay } from "./replay/command";
import { endOnError, endOnFailedOutput } from "./streams";

const CALL = "npm run -s replay --";

endOnFailedOutput();
void defineReplay(new Command(CALL), { call: CALL }).parseAsync().catch(endOnError);
