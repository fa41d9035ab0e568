/** So many calls at once, which is what a small API server bears. */
const AT_ONCE = 16;

/** Does something for each number below `count`, a few at a time. */
export async function forEach(count: number, work: (i: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}
