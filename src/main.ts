/** The operator, joined together. */
export interface Operator {
  readonly enqueue: (key: string) => void;
  start(): void;
}

/** The composition root. */
export function createOperator(): Operator {
  return { enqueue: () => undefined, start: () => undefined };
}
