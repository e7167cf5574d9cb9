/** Starts the page of the console in the browser. */
import { render } from "preact";
import { App } from "./app.tsx";
import { start } from "./store.ts";
import "uplot/dist/uPlot.min.css";
import "./style.css";

const root = document.getElementById("app");
if (root !== null) render(<App />, root);
void start();
