// Runs in each worker before a test file: a worker whose vitest was killed ends, and with it the processes that are bound to it. vitest lets no
// worker exit by itself.
process.once("disconnect", () => process.kill(process.pid, "SIGKILL"));
