/**
 * Assigns nodePorts to Services. A port without a nodePort gets one that a hash of the Service selects, so it
 * is the same in every run. Two Services never share a nodePort.
 * upstream: kubernetes pkg/registry/core/service/storage/alloc.go
 */
import type { KubeObject } from "../../../apis/meta.ts";
import type { Admission } from "../admission/admission-request.ts";
import type { Call, Engine } from "../engine.ts";
import { isOpenToNodes } from "../registry/service-rules.ts";
import { invalid } from "../request/status.ts";
import { invalid as invalidField } from "../schema/field-error.ts";

const FIRST_PORT = 30_000;
const LAST_PORT = 32_767;

interface Port {
  readonly name?: string;
  readonly protocol?: string;
  readonly port: number;
  readonly nodePort?: number;
}

interface Service extends KubeObject {
  readonly spec?: {
    readonly type?: string;
    readonly externalTrafficPolicy?: string;
    readonly healthCheckNodePort?: number;
    readonly ports?: readonly Port[];
  };
}

/**
 * The Service with a nodePort for each port, if it is of a type that has them. A port that stays keeps its
 * nodePort.
 */
export function withNodePorts(
  call: Call,
  object: KubeObject,
  old: KubeObject | undefined,
): KubeObject {
  const service = object as Service;
  const { spec } = service;
  if (spec === undefined || !isOpenToNodes(spec)) return object;
  const before = (old as Service | undefined)?.spec ?? {};
  const taken = takenPorts(call.engine, service);
  for (const own of [before, spec]) addPorts(taken, own);
  const had = new Map((before.ports ?? []).map((port) => [keyOf(port), port.nodePort]));
  /** In a new Service, TCP and UDP ports of the same number share one nodePort. */
  const shared = new Map<number, number>();
  if (old === undefined)
    for (const { port, nodePort } of spec.ports ?? []) if (nodePort) shared.set(port, nodePort);
  const key = `${service.metadata.namespace}/${service.metadata.name}`;
  const give = (what: string): number => {
    const port = freePort(taken, `${key}/${what}`);
    taken.add(port);
    return port;
  };
  const ports = (spec.ports ?? []).map((port) => {
    if (port.nodePort) return port;
    const nodePort = had.get(keyOf(port)) ?? shared.get(port.port) ?? give(keyOf(port));
    if (old === undefined) shared.set(port.port, nodePort);
    return { ...port, nodePort };
  });
  const checksHealth = spec.type === "LoadBalancer" && spec.externalTrafficPolicy === "Local";
  const health = checksHealth
    ? {
        healthCheckNodePort:
          spec.healthCheckNodePort || before.healthCheckNodePort || give("health"),
      }
    : {};
  return { ...service, spec: { ...spec, ports, ...health } } as KubeObject;
}

/** Throws 422 for an invalid or used nodePort. Must run in the same turn as the write. */
export function checkNodePorts(call: Call, { object, subresource = "" }: Admission): void {
  const { definition, engine } = call;
  if (definition.group !== "" || definition.kind !== "Service" || subresource !== "") return;
  const service = object as Service | undefined;
  if (service === undefined) return;
  const taken = takenPorts(engine, service);
  (service.spec?.ports ?? []).forEach(({ nodePort }, index) => {
    if (!nodePort) return;
    const isPossible = nodePort >= FIRST_PORT && nodePort <= LAST_PORT;
    if (isPossible && !taken.has(nodePort)) return;
    const problem = isPossible
      ? "provided port is already allocated"
      : `provided port is not in the valid range. The range of valid ports is ${FIRST_PORT}-${LAST_PORT}`;
    const field = `spec.ports[${index}].nodePort`;
    throw invalid(definition, service.metadata.name, [invalidField(field, nodePort, problem)]);
  });
}

function keyOf({ protocol = "TCP", port }: Port): string {
  return `${protocol}/${port}`;
}

/** The nodePorts of all other Services. */
function takenPorts({ store }: Engine, { metadata }: Service): Set<number> {
  const taken = new Set<number>();
  for (const other of store.list("services").objects as readonly Service[]) {
    const { name, namespace } = other.metadata;
    if (name === metadata.name && namespace === metadata.namespace) continue;
    addPorts(taken, other.spec ?? {});
  }
  return taken;
}

function addPorts(
  taken: Set<number>,
  { ports = [], healthCheckNodePort }: NonNullable<Service["spec"]>,
): void {
  for (const { nodePort } of ports) if (nodePort) taken.add(nodePort);
  if (healthCheckNodePort) taken.add(healthCheckNodePort);
}

/** The free port to which a hash of `key` leads, so that the same scenario gives the same ports. */
function freePort(taken: ReadonlySet<number>, key: string): number {
  const count = LAST_PORT - FIRST_PORT + 1;
  let hash = 2_166_136_261;
  for (const character of key) hash = Math.imul(hash ^ character.charCodeAt(0), 16_777_619) >>> 0;
  for (let step = 0; step < count; step++) {
    const port = FIRST_PORT + ((hash + step) % count);
    if (!taken.has(port)) return port;
  }
  return FIRST_PORT;
}
