import { PeprModule } from "pepr";
import { controllerResilienceCapability } from "./capabilities/controller-resilience";
import cfg from "./package.json";
import { createOperator } from "./src/main";

const operator = createOperator();

// Never started: Pepr's own HTTPS server would only serve webhooks, which there are none of, and would bring a TLS key and a
// SIGTERM handler that ends the process before the loop has stopped. The watches run without it.
operator.start(() => {
  new PeprModule(cfg, [controllerResilienceCapability(operator.enqueue)], { deferStart: true });
});
