/** The schema of EC2NodeClass options that are copied unchanged to the launch template. */
import { boolean, integer, type JsonSchema, object, rules, text } from "./schema.ts";

/** The schemas, by name of the field in `spec`. */
export function instanceOptions(): Record<string, JsonSchema> {
  return {
    connectionTracking: object(
      "Idle time-outs of tracked connections, in seconds.",
      {
        tcpEstablishedTimeout: integer("TCP.", { format: "int32", minimum: 60, maximum: 432000 }),
        udpStreamTimeout: integer("UDP streams.", { format: "int32", minimum: 60, maximum: 180 }),
        udpTimeout: integer("UDP.", { format: "int32", minimum: 30, maximum: 60 }),
      },
      rules([
        "has(self.tcpEstablishedTimeout) || has(self.udpStreamTimeout) || has(self.udpTimeout)",
        "at least one of tcpEstablishedTimeout, udpStreamTimeout, or udpTimeout must be set",
      ]),
    ),
    cpuOptions: object("Processor options. Instance types that cannot have them are not used.", {
      coreCount: integer("Cores that instances use; absent: all.", { format: "int32", minimum: 1 }),
      nestedVirtualization: text("enabled or disabled.", { enum: ["enabled", "disabled"] }),
      threadsPerCore: integer("Threads of each core; 1 turns multithreading off.", {
        format: "int32",
        minimum: 1,
        maximum: 2,
      }),
    }),
    enclaveOptions: object(
      "Nitro Enclaves. Instance types without them are not used.",
      { enabled: boolean("Whether instances can run enclaves.") },
      { required: ["enabled"] },
    ),
  };
}
