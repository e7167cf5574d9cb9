/**
 * Exports spans with OpenTelemetry's SDK, which reads the environment variables itself: endpoint, headers, sampler,
 * batches, resource. If its queue is full, further spans are dropped. Only `open-spans.ts` loads this file.
 */
import {
  type Context,
  diag,
  ROOT_CONTEXT,
  SpanStatusCode,
  TraceFlags,
  trace,
} from "@opentelemetry/api";
import { OTLPTraceExporter as JsonExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtobufExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from "@opentelemetry/resources";
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  type SpanExporter,
} from "@opentelemetry/sdk-trace-base";
import type { Clock } from "../../base/clock.ts";
import type { LogLimiter } from "../../base/log-limiter.ts";
import { spanIdOf, type TraceSpan } from "../../core/spans/span.ts";
import type { Protocol, SpanExport } from "./span-export.ts";

interface OtlpOptions {
  readonly protocol: Protocol;
  readonly version: string;
  readonly clock: Pick<Clock, "after">;
  readonly limiter: LogLimiter;
}

/** The longest wait for a collector when the program ends, in milliseconds. */
const CLOSE_WITHIN_MS = 3_000;

/** Creates the export. It opens no connection before the first span. */
export function otlpExport({ protocol, version, clock, limiter }: OtlpOptions): SpanExport {
  const tell = (message: string) => limiter.tell("warn", "sdk", message);
  const quiet = () => undefined;
  diag.setLogger(
    { error: tell, warn: tell, info: quiet, debug: quiet, verbose: quiet },
    { suppressOverrideMessage: true },
  );
  const ids = { traceId: "", spanId: "" };
  const exporter = protocol === "http/json" ? new JsonExporter() : new ProtobufExporter();
  const provider = new BasicTracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ "service.name": "karpenter", "service.version": version }))
      .merge(detectResources({ detectors: [envDetector] })),
    idGenerator: { generateTraceId: () => ids.traceId, generateSpanId: () => ids.spanId },
    spanProcessors: [new BatchSpanProcessor(telling(exporter, limiter))],
  });
  const tracer = provider.getTracer("karpenter", version);

  function record(span: TraceSpan): void {
    ids.traceId = span.traceId;
    ids.spanId = span.spanId;
    const { startMs: startTime, attributes, problem } = span;
    const links = span.links.map((traceId) => ({ context: rootOf(traceId) }));
    const made = tracer.startSpan(span.name, { startTime, attributes, links }, contexts(span));
    if (problem !== undefined) made.setStatus({ code: SpanStatusCode.ERROR, message: problem });
    made.end(span.endMs);
    sampled.set(span.spanId, made.spanContext().traceFlags);
  }

  /** What the sampler decided for the first span of each trace. Its child spans get the same decision. */
  const sampled = new Map<string, TraceFlags>();

  function contexts({ traceId, parentId }: TraceSpan): Context {
    if (parentId === undefined) return ROOT_CONTEXT;
    const traceFlags = sampled.get(parentId) ?? TraceFlags.SAMPLED;
    return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId: parentId, traceFlags });
  }

  return {
    send: (spans) => {
      for (const span of spans) record(span);
      sampled.clear();
    },
    close: async () => {
      const late = new Promise<void>((resolve) => {
        clock.after(CLOSE_WITHIN_MS, resolve);
      });
      await Promise.race([provider.shutdown().catch(quiet), late]);
      limiter.close();
    },
  };
}

function rootOf(traceId: string) {
  return { traceId, spanId: spanIdOf(traceId, ""), traceFlags: TraceFlags.SAMPLED };
}

/** Wraps an exporter so that a failing collector is logged at most once a minute. */
function telling(exporter: SpanExporter, limiter: LogLimiter): SpanExporter {
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        if (result.error !== undefined)
          limiter.tell("warn", "export", "traces could not be exported", {
            error: result.error.message,
            spans: spans.length,
          });
        // The failure is already logged, so the processor must not log it again.
        done(result.error === undefined ? result : { code: 0 });
      }),
    shutdown: () => exporter.shutdown(),
  };
}
