/**
 * The devices of instance types as their DRA drivers will publish them (data/aws/dra-devices.json). The file names its
 * sources. It is read on first use, because the gates for it are off by default.
 */
import { readFileSync } from "node:fs";
import type { DeviceAttribute } from "../../../apis/resource/kinds.ts";

/** A device of an instance type, with attributes in the form of the API. */
interface DeviceRow {
  readonly name: string;
  readonly attributes: Readonly<Record<string, DeviceAttribute>>;
  readonly capacity: Readonly<Record<string, string>>;
}

/** The devices of each driver, in the order of the hardware. */
type DevicesByDriver = Readonly<Record<string, readonly DeviceRow[] | undefined>>;

interface DataFile {
  readonly meta: { readonly attributeTypes: Readonly<Record<string, keyof DeviceAttribute>> };
  readonly types: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          readonly {
            readonly name: string;
            readonly attributes: Readonly<Record<string, string | number | boolean>>;
            readonly capacity?: Readonly<Record<string, string>>;
          }[]
        >
      >
    >
  >;
}

let loaded: Readonly<Record<string, DevicesByDriver | undefined>> | undefined;

/** The devices of a type by driver; empty if it has none. */
export function devicesOf(instanceType: string): DevicesByDriver {
  loaded ??= load();
  return loaded[instanceType] ?? {};
}

function load(): Readonly<Record<string, DevicesByDriver>> {
  const path = new URL("../../../../data/aws/dra-devices.json", import.meta.url);
  const { meta, types } = JSON.parse(readFileSync(path, "utf8")) as DataFile;
  const attribute = (name: string, value: string | number | boolean): DeviceAttribute => ({
    [meta.attributeTypes[name] ?? "string"]: value,
  });
  return mapValues(types, (drivers) =>
    mapValues(drivers, (devices) =>
      devices.map(({ name, attributes, capacity = {} }) => ({
        name,
        attributes: Object.fromEntries(
          Object.entries(attributes).map(([key, value]) => [key, attribute(key, value)]),
        ),
        capacity,
      })),
    ),
  );
}

function mapValues<A, B>(
  record: Readonly<Record<string, A>>,
  make: (value: A) => B,
): Readonly<Record<string, B>> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, make(value)]));
}
