// The pages, by the part of the address behind the #.
import { call, el, enter, say } from "./parts.js";
import { compare, datasets, declare, learn, releases } from "./pages.js";
import { job, plan } from "./spending.js";
import { release } from "./release.js";

const PAGES = { "": datasets, declare, plan, job, release, releases, compare, learn };
const main = document.getElementById("main");
let turn = 0;

async function show() {
  const mine = ++turn;
  const [name = "", ...rest] = location.hash.replace(/^#\/?/, "").split("/");
  const page = PAGES[name] || datasets;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.getAttribute("href") === `#/${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const current = () => mine === turn;
  try {
    const inside = await page(current, ...rest.map(decodeURIComponent));
    if (!current()) return;
    main.replaceChildren(...inside);
    const title = main.querySelector("h1");
    document.title = `${title ? title.textContent : "Studio"} – sfumato studio`;
    say(title ? title.textContent : "");
    main.focus();
    window.scrollTo(0, 0);
  } catch (error) {
    if (current()) main.replaceChildren(...(error.status === 401 ? door(error) : failed(error)));
  }
}

function failed(error) {
  return [el("h1", {}, "That did not work"), el("p", { class: "alert", role: "alert" }, error.message), el("p", {}, el("a", { href: "#/" }, "All datasets"))];
}

function door(error) {
  const field = el("input", { type: "password", id: "key", class: "wide", autocomplete: "off" });
  const wrong = el("p", { class: "alert", role: "alert" });
  const form = el("form", { onsubmit: async (event) => {
    event.preventDefault();
    try {
      await enter(field.value.trim().replace(/^.*#key=/, ""));
      show();
    } catch (refused) { wrong.textContent = refused.message; }
  } }, el("label", { for: "key" }, "The link of the terminal, or the key in it"), field, el("p", {}, el("button", { class: "main" }, "Enter")), wrong);
  return [el("h1", {}, "This browser has no key"), el("p", {}, error.message), el("div", { class: "card" }, form)];
}

async function begin() {
  const given = location.hash.match(/^#key=([0-9a-f]+)$/);
  if (given) {
    history.replaceState(null, "", "/#/");
    try { await enter(given[1]); } catch { /* the page says what is missing */ }
  }
  window.addEventListener("hashchange", show);
  document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
  await show();
}

begin();
