/** Number of concurrent calls that a small API server can handle. */
const AT_ONCE = 16;

/** Runs a function for each number below `count`, a few at a time. */
export async function forEach(count: number, work: (i: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}
