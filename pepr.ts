import { PeprModule } from "pepr";
import { controllerResilienceCapability } from "./capabilities/controller-resilience";
import cfg from "./package.json";
import { createOperator } from "./src/main";

const operator = createOperator();

// Pepr's HTTPS server is never started: this project has no webhooks, and the server needs a TLS key and installs a SIGTERM handler
// that exits before the loop has stopped. The watches work without it.
new PeprModule(cfg, [controllerResilienceCapability(operator.enqueue)], { deferStart: true });

operator.start();
