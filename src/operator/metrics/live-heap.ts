/**
 * Memory of live objects, as Go reports it: what remained after the last full garbage collection. The heap in use is
 * much larger, because it also has garbage, and V8 collects rarely while memory is free.
 */
import { constants, PerformanceObserver } from "node:perf_hooks";

const FULL = constants.NODE_PERFORMANCE_GC_MAJOR;

/** Bytes after the last full collection. Undefined: there was none since the first call of `liveHeapBytes`. */
let afterCollection: number | undefined;
let isObserved = false;

/** Bytes of live objects. Until the first full collection, it is all of the heap in use. */
export function liveHeapBytes(): number {
  if (!isObserved) observe();
  isObserved = true;
  return afterCollection ?? process.memoryUsage().heapUsed;
}

function observe(): void {
  const observer = new PerformanceObserver((list) => {
    const isFull = list.getEntries().some((entry) => kindOf(entry) === FULL);
    // The observer is called some moments after the collection. Objects that were allocated since then are counted too.
    if (isFull) afterCollection = process.memoryUsage().heapUsed;
  });
  observer.observe({ entryTypes: ["gc"] });
}

function kindOf(entry: object): number | undefined {
  return (entry as { readonly detail?: { readonly kind?: number } }).detail?.kind;
}
