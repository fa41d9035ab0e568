const SMALLEST = 16;

/** A first-in-first-out buffer on one array: both ends cost the same at any length, unlike Array.shift. */
export class RingBuffer<T> {
  /** Length is a power of two, so that positions wrap by a mask. */
  #slots: (T | undefined)[] = new Array<T | undefined>(SMALLEST).fill(undefined);
  #head = 0;
  #length = 0;

  /** Puts one at the end. */
  push(value: T): void {
    if (this.#length === this.#slots.length) this.#resize(this.#slots.length * 2);
    this.#slots[(this.#head + this.#length) & (this.#slots.length - 1)] = value;
    this.#length++;
  }

  /** Takes the oldest; undefined when there is none. */
  shift(): T | undefined {
    if (this.#length === 0) return undefined;
    const value = this.#slots[this.#head];
    this.#slots[this.#head] = undefined;
    this.#head = (this.#head + 1) & (this.#slots.length - 1);
    this.#length--;
    // A burst must not hold its memory for ever.
    if (this.#slots.length > SMALLEST && this.#length <= this.#slots.length >> 3) this.#resize(this.#slots.length >> 1);
    return value;
  }

  #resize(size: number): void {
    const slots = new Array<T | undefined>(size).fill(undefined);
    for (let i = 0; i < this.#length; i++) slots[i] = this.#slots[(this.#head + i) & (this.#slots.length - 1)];
    this.#slots = slots;
    this.#head = 0;
  }
}
