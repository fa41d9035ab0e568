// Runs in each worker before a test file: a worker whose vitest was killed ends, and with it the processes that are bound to it. vitest lets no
// worker exit by itself.
function endWithVitest(): void {
  process.kill(process.pid, "SIGKILL");
}

// A worker runs several files.
if (!process.listeners("disconnect").some(({ name }) => name === endWithVitest.name))
  process.once("disconnect", endWithVitest);
