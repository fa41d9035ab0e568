// `npm run -s classify` and `npm run -s replay`: one command alone, which starts faster than the plugin.
import { Command } from "commander";
import { defineClassify } from "./classify/command";
import { defineReplay } from "./replay/command";
import { endOnError, endOnFailedOutput } from "./streams";

const [name = "", ...args] = process.argv.slice(2);
const call = `npm run -s ${name} --`;
const define = name === "replay" ? defineReplay : defineClassify;

endOnFailedOutput();
void define(new Command(call), { call }).parseAsync(args, { from: "user" }).catch(endOnError);
