import { describe, expect, it } from "vitest";
import { proxiesOf } from "./providers.ts";

describe("the environment's proxies", () => {
  it("are read in capital and in small letters, and an empty one is none", () => {
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
