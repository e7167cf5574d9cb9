/**
 * Opens the export of traces over OTLP, if OpenTelemetry's environment variables enable it. Otherwise nothing is
 * loaded. A failure is logged and never stops the controller.
 */
import type { Clock } from "../../base/clock.ts";
import { firstLineOf } from "../../base/error-text.ts";
import type { Logger } from "../../base/log.ts";
import { LogLimiter } from "../../base/log-limiter.ts";
import { PROTOCOLS, type Protocol, type SpanExport } from "./span-export.ts";

export interface SpanDoors {
  readonly clock: Pick<Clock, "elapsedMs" | "after">;
  readonly log: Logger;
  /** Version of this program. */
  readonly version: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** What to do if the packages for the export, which are optional, are not installed. */
const REMEDY = "; install the program again without --omit=optional";

/** Opens the export of traces. Undefined: traces are off, or cannot be exported. */
export async function openSpans(
  env: Environment,
  { clock, log, version }: SpanDoors,
): Promise<SpanExport | undefined> {
  if (!isWanted(env)) return undefined;
  const protocol = protocolOf(env);
  if (protocol === undefined) {
    log.error("traces are not exported", {
      setting: "OTEL_EXPORTER_OTLP_PROTOCOL",
      error: `"${protocolIn(env)}" is not supported; set ${PROTOCOLS.join(" or ")}`,
    });
    return undefined;
  }
  try {
    const { otlpExport } = await import("./otlp.ts");
    return otlpExport({ protocol, version, clock, limiter: new LogLimiter(log, clock, 1) });
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === "ERR_MODULE_NOT_FOUND";
    const remedy = isMissing ? REMEDY : "";
    log.error("traces are not exported", { error: `${firstLineOf(error)}${remedy}` });
    return undefined;
  }
}

function isWanted(env: Environment): boolean {
  if (env["OTEL_SDK_DISABLED"]?.toLowerCase() === "true") return false;
  const exporters = (env["OTEL_TRACES_EXPORTER"] ?? "otlp").split(",").map((one) => one.trim());
  const endpoint =
    env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] || env["OTEL_EXPORTER_OTLP_ENDPOINT"] || "";
  return endpoint.trim() !== "" && (exporters.includes("otlp") || exporters.includes(""));
}

function protocolIn(env: Environment): string {
  const given = env["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"] || env["OTEL_EXPORTER_OTLP_PROTOCOL"];
  return given?.trim() || PROTOCOLS[0];
}

function protocolOf(env: Environment): Protocol | undefined {
  return PROTOCOLS.find((one) => one === protocolIn(env));
}
