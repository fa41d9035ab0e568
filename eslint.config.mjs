import { createNodeResolver, importX } from "eslint-plugin-import-x";
import { readdirSync } from "node:fs";
import jsdoc from "eslint-plugin-jsdoc";
import tseslint from "typescript-eslint";

// Who may import whom. The same picture stands in docs/architecture.md.
const layer = (target, allowed, message) => ({
  target,
  from: ".",
  except: ["./node_modules", ...allowed],
  message,
});
/** The rooms of one folder, each with the rooms that it may use; every room may use itself. */
const rooms = (folder, uses) =>
  Object.entries(uses).map(([room, others]) => {
    const all = [room, ...others, "testing"].map(name => `./src/${folder}/${name}`);
    return {
      target: `./src/${folder}/${room}`,
      from: `./src/${folder}`,
      except: all.map(path => path.replace(`./src/${folder}`, ".")),
      message: `${folder}/${room} imports only ${[room, ...others].join(", ")} of ${folder}.`,
    };
  });
/** Makes one file the only one of a folder that these import. */
const door = (folder, file, target) => ({
  target,
  from: folder,
  except: [`./${file}`, "./testing"],
  message: `Import only ${file} of ${folder.replace("./", "")} here.`,
});
const remedies = readdirSync(new URL("src/remedies", import.meta.url), { withFileTypes: true })
  .filter(entry => entry.isDirectory() && !["kit", "testing"].includes(entry.name))
  .map(({ name }) => `./src/remedies/${name}`);
const clientLibraries = [
  "@kubernetes/*",
  "kubernetes-fluent-client",
  "kubernetes-fluent-client/*",
  "pepr",
  "prom-client",
  "pino",
  "node:fs*",
  "node:http*",
  "node:https",
  "node:net",
  "node:child_process",
];
const noTime = [
  {
    selector: "CallExpression[callee.object.name='Date'][callee.property.name='now']",
    message: "Time enters as `now` or through the Clock port.",
  },
  {
    selector: "NewExpression[callee.name='Date'][arguments.length=0]",
    message: "Time enters as `now` or through the Clock port.",
  },
  {
    selector: "CallExpression[callee.name=/^(setTimeout|setInterval|setImmediate)$/]",
    message: "Timers come from the Clock port.",
  },
  {
    selector: "MemberExpression[object.name='process'][property.name='env']",
    message: "Only src/main.ts and src/cli read the environment.",
  },
  {
    selector: "MemberExpression[object.name='Math'][property.name='random']",
    message: "Randomness comes from the Random port.",
  },
];

// `pepr build` lints first and ignores the result. `npm run check:lint` lints everything, so `npm run build` (scripts/build.ts) has it read one file.
const building =
  process.env["CONTROLLER_RESILIENCE_BUILD"] === "1" ? [{ ignores: ["**/*.{ts,mjs,mts}", "!pepr.ts"] }] : [];

export default tseslint.config(
  ...building,
  {
    ignores: ["dist/", "node_modules/", "coverage/", "src/api/generated/", "test/fixtures/"],
  },
  tseslint.configs.strictTypeChecked,
  {
    languageOptions: { parserOptions: { project: "./tsconfig.check.json", tsconfigRootDir: import.meta.dirname } },
    plugins: { "import-x": importX, jsdoc },
    settings: {
      "import-x/resolver-next": [createNodeResolver({ extensions: [".ts", ".js", ".json"] })],
    },
    rules: {
      complexity: ["error", 10],
      "max-depth": ["error", 3],
      "max-lines": ["error", { max: 400, skipBlankLines: true, skipComments: true }],
      "max-lines-per-function": ["error", { max: 40, skipBlankLines: true, skipComments: true }],
      "max-params": ["error", 4],
      "import-x/no-duplicates": "error",
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true, allowBoolean: true }],
      "@typescript-eslint/no-extraneous-class": "off",
      // The compiler finds these.
      "@typescript-eslint/no-unused-vars": "off",
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
    },
  },
  {
    files: ["src/**/*.ts", "capabilities/**/*.ts"],
    ignores: ["**/*.test.ts"],
    rules: {
      "no-restricted-syntax": ["error", ...noTime],
      "import-x/no-restricted-paths": [
        "error",
        {
          zones: [
            layer("./src/api", ["./src/api"], "api imports nothing else of this project."),
            layer("./src/core", ["./src/core", "./src/api"], "core imports only the API's types."),
            layer(
              "./src/restarts",
              ["./src/core", "./src/api", "./src/restarts"],
              "restarts imports core and api only.",
            ),
            layer("./src/logs", ["./src/core", "./src/api", "./src/logs"], "logs imports core and api only."),
            layer(
              "./src/evidence",
              ["./src/core", "./src/api", "./src/evidence"],
              "evidence imports core and api only.",
            ),
            layer(
              "./src/remedies/kit",
              ["./src/core", "./src/api", "./src/restarts", "./src/remedies/kit"],
              "kit imports core, api and restarts only.",
            ),
            ...remedies.map(remedy =>
              layer(
                remedy,
                [
                  ...["./src/core", "./src/api", "./src/logs", "./src/evidence", "./src/restarts"],
                  ...["./src/remedies/kit", remedy],
                ],
                "A remedy imports core, api, logs, evidence, restarts and kit, and no other remedy.",
              ),
            ),
            layer(
              "./src/engine",
              ["./src/core", "./src/api", "./src/restarts", "./src/engine"],
              "engine imports core, api and restarts; the registry is handed in.",
            ),
            ...rooms("engine", {
              loop: [],
              lead: [],
              object: [],
              write: [],
              notify: [],
              pass: ["loop", "write", "object", "notify"],
              "cluster-wide": ["loop", "write", "notify"],
            }),
            door("./src/restarts", "ledger.ts", "./src/engine"),
            layer(
              "./src/cluster",
              ["./src/core", "./src/api", "./src/evidence", "./src/cluster"],
              "cluster imports core, evidence and client libraries.",
            ),
            ...rooms("cluster", {
              http: [],
              watch: ["http", "read"],
              read: ["http", "watch", "measure"],
              write: ["http", "read"],
              measure: ["http", "watch", "read"],
              pepr: ["http", "read"],
              notify: ["http"],
              audit: [],
            }),
            layer(
              "./src/telemetry",
              ["./src/core", "./src/api", "./src/telemetry"],
              "telemetry imports core and its libraries.",
            ),
            layer(
              "./capabilities",
              ["./src/core", "./src/api", "./capabilities"],
              "capabilities import core, api and a queue handle.",
            ),
          ],
        },
      ],
    },
  },
  {
    // Elsewhere a doc comment has to say something that the name does not.
    files: ["src/api/**/*.ts", "src/core/**/*.ts"],
    ignores: ["**/*.test.ts", "src/core/testing/**"],
    rules: {
      "jsdoc/require-jsdoc": [
        "error",
        {
          publicOnly: true,
          require: { ClassDeclaration: true, FunctionDeclaration: true, MethodDefinition: true },
          contexts: [
            "TSInterfaceDeclaration",
            "TSTypeAliasDeclaration",
            "ExportNamedDeclaration > VariableDeclaration",
          ],
          checkConstructors: false,
        },
      ],
    },
  },
  {
    files: ["src/{core,logs,evidence,restarts,remedies,engine}/**/*.ts"],
    ignores: ["**/*.test.ts"],
    rules: {
      "@typescript-eslint/no-restricted-imports": [
        "error",
        {
          patterns: [
            {
              group: clientLibraries,
              allowTypeImports: true,
              message: "No I/O here: adapters live in src/cluster and src/telemetry.",
            },
          ],
        },
      ],
    },
  },
  {
    // The only places where real time, randomness and the environment enter.
    files: ["src/main.ts", "src/cli/**/*.ts", "src/cluster/system.ts"],
    rules: { "no-restricted-syntax": "off" },
  },
  {
    // Its one function lists the parts of the operator.
    files: ["src/assemble.ts"],
    rules: { "max-lines-per-function": ["error", { max: 60, skipBlankLines: true, skipComments: true }] },
  },
  {
    // A test that runs finds by itself what most rules with types look for; these find assertions and clean-up that nothing awaits.
    files: ["**/*.test.ts", "test/**/*.ts", "src/**/testing/**/*.ts"],
    rules: {
      ...tseslint.configs.disableTypeChecked.rules,
      "@typescript-eslint/await-thenable": "error",
      "@typescript-eslint/no-floating-promises": "error",
      "@typescript-eslint/no-misused-promises": "error",
      "@typescript-eslint/return-await": ["error", "error-handling-correctness-only"],
    },
  },
  {
    files: ["**/*.test.ts", "test/**/*.ts", "scripts/**/*.ts"],
    rules: {
      "max-lines-per-function": "off",
      "max-lines": ["error", { max: 500, skipBlankLines: true, skipComments: true }],
      "@typescript-eslint/no-non-null-assertion": "off",
    },
  },
  {
    // These files are part of no tsconfig, so rules that need types are off.
    files: ["**/*.mjs", "**/*.mts"],
    extends: [tseslint.configs.disableTypeChecked],
    languageOptions: {
      globals: { console: "readonly", process: "readonly", setInterval: "readonly", URL: "readonly" },
    },
    rules: {
      "no-undef": "error",
      "@typescript-eslint/no-unused-vars": "error",
      eqeqeq: "error",
      "prefer-const": "error",
    },
  },
);
