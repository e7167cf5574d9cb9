/**
 * The ways of disrupting nodes, in the order they are tried; the first that has a command wins. Drift,
 * replacing expiry and consolidation of used nodes join here as a file each.
 */
import { emptiness } from "./emptiness.ts";
import type { Method } from "./method.ts";

export const METHODS: readonly Method[] = [emptiness];
