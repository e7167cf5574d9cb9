/** VitePress' own theme, and a switch between the versions that lie beside this one. */
import DefaultTheme from "vitepress/theme";
import "./style.css";
import VersionSwitch from "./VersionSwitch.vue";

export default {
  extends: DefaultTheme,
  enhanceApp({ app }: { app: { component(name: string, what: unknown): void } }): void {
    app.component("VersionSwitch", VersionSwitch);
  },
};
