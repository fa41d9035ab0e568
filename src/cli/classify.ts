// `npm run -s classify`: the command `classify` alone.
import { Command } from "commander";
import { defineClassify } from "./classify/command";
import { endQuietlyOnClosedPipe } from "./streams";

const CALL = "npm run -s classify --";

endQuietlyOnClosedPipe();
void defineClassify(new Command(CALL), { call: CALL }).parseAsync();
