/** Builds the parts of device templates: bindings and pools. */
import type { Device } from "../../../apis/resource/kinds.ts";
import type {
  AttributeBinding,
  DevicePoolTemplate,
} from "../../../core/cloudprovider/dynamic-resources.ts";

/** The binding of these devices. Empty: there are fewer than two, so none is needed. */
export function bindingOf(
  attribute: string,
  of: { readonly driver: string; readonly pool: string },
  devices: readonly Device[],
): readonly AttributeBinding[] {
  if (devices.length < 2) return [];
  return [{ attribute, devices: devices.map(({ name }) => ({ ...of, device: name })) }];
}

/** The pool of these devices. Empty: there are none. */
export function poolOf(
  driver: string,
  pool: string,
  devices: readonly Device[],
): readonly DevicePoolTemplate[] {
  return devices.length === 0 ? [] : [{ driver, pool, devices }];
}
