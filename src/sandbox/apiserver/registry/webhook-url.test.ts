import { describe, expect, it } from "vitest";
import { webhookUrlErrors } from "./webhook-url.ts";

const why = (url: string) => webhookUrlErrors("url", url).map(({ message }) => message);

describe("the URL of a webhook", () => {
  it.each(["https://h", "https://h:8443/path/x", "HTTPS://h", "https://[::1]:1/", "https://h/?#"])(
    "%s is accepted",
    (url) => {
      expect(why(url)).toEqual([]);
    },
  );

  it.each([
    ["http://h/x", "'https' is the only allowed URL scheme"],
    ["file:///etc/passwd", "host must be specified"],
    ["h/x", "'https' is the only allowed URL scheme"],
    ["https://", "host must be specified"],
    ["https:///x", "host must be specified"],
    ["https://user:pw@h/x", "user information is not permitted in the URL"],
    ["https://h/x?q=1", "query parameters are not permitted in the URL"],
    ["https://h/x#f", "fragments are not permitted in the URL"],
  ])("%s is refused", (url, text) => {
    expect(why(url).join()).toContain(text);
  });
});
