// `npm run -s classify`: the command `classify` alone.
import { Command } from "commander";
import { defineClassify } from "./classify/command";
import { endOnError, endOnFailedOutput } from "./streams";

const CALL = "npm run -s classify --";

endOnFailedOutput();
void defineClassify(new Command(CALL), { call: CALL }).parseAsync().catch(endOnError);
