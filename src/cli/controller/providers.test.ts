import { describe, expect, it } from "vitest";
import { proxiesOf } from "./providers.ts";

describe("proxies from the environment", () => {
  it("are read from variables in upper or lower case, and an empty value means no proxy", () => {
    const environment = {
      HTTPS_PROXY: "http://proxy:3128",
      https_proxy: "http://other:1",
      HTTP_PROXY: "",
      no_proxy: ".internal,10.0.0.1",
    };
    expect(proxiesOf(environment)).toEqual({
      https: "http://proxy:3128",
      except: ".internal,10.0.0.1",
    });
    expect(proxiesOf({})).toEqual({});
  });
});
