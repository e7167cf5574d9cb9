/** The parts that templates of devices are made of. */
import type { Device } from "../../../apis/resource/kinds.ts";
import type {
  AttributeBinding,
  DevicePoolTemplate,
} from "../../../core/cloudprovider/dynamic-resources.ts";

/** A group of two or more devices; fewer need no binding. */
export function bindingOf(
  attribute: string,
  of: { readonly driver: string; readonly pool: string },
  devices: readonly Device[],
): readonly AttributeBinding[] {
  if (devices.length < 2) return [];
  return [{ attribute, devices: devices.map(({ name }) => ({ ...of, device: name })) }];
}

/** No pool without devices. */
export function poolOf(
  driver: string,
  pool: string,
  devices: readonly Device[],
): readonly DevicePoolTemplate[] {
  return devices.length === 0 ? [] : [{ driver, pool, devices }];
}
