// The plan of a fit, its confirmation, and its progress.
import { budget, call, el, figure, key, labelled, lines, number, scatter, say, table } from "./parts.js";

const STEPS = 100;

export async function plan(current, id) {
  const [one, state] = await Promise.all([call(`/api/datasets/${id}`), call("/api/state")]);
  const head = el("h1", {}, `Plan a fit of ${one.name}`);
  if (one.problem) return [head, el("p", { class: "alert" }, one.problem)];
  if (!one.schema || !one.registered) {
    location.hash = `#/declare/${id}`;
    return [head];
  }
  const { left, total, spent } = one.budget;
  const top = Math.min(Math.max(left.epsilon, 0.1), 10);
  const low = Math.min(0.01, top / 10);
  const k = el("input", { type: "number", min: "1", max: "1000", value: "5" });
  const auto = el("input", { type: "checkbox" });
  const n = el("input", { type: "number", min: "1", value: "10000" });
  const epsilon = el("input", { type: "number", min: "0", step: "any", value: number(Math.min(1, top / 2), 2) });
  const slider = el("input", { type: "range", min: "0", max: String(STEPS), step: "1", "aria-label": "ε of this fit" });
  const delta = el("input", { type: "number", min: "0", step: "any", value: "0" });
  const method = el("select", {}, state.methods.map((name) => el("option", { value: name }, name)));
  const purpose = el("input", { type: "text", class: "wide", maxLength: 200 });
  const chart = el("div");
  const rows = el("div");
  const simulation = el("div", { "aria-live": "polite" });
  const taken = el("div");
  const wrong = el("p", { class: "alert", role: "alert" });
  const spend = el("button", { class: "main" });
  let [draw, asked] = [0, 0];

  const settings = () => ({ k: auto.checked ? "auto" : Number(k.value), epsilon: Number(epsilon.value), delta: Number(delta.value), method: method.value, purpose: purpose.value });
  const place = () => { slider.value = String(Math.round((Math.log(Math.max(Number(epsilon.value), low) / low) / Math.log(top / low)) * STEPS)); };
  const label = () => {
    spend.textContent = `Spend ε = ${number(epsilon.value, 4)} of ${number(left.epsilon, 6)} left`;
    slider.setAttribute("aria-valuetext", `ε = ${number(epsilon.value, 4)}`);
    taken.replaceChildren(budget(spent.epsilon, total.epsilon, Number(epsilon.value)));
  };
  const simulate = async (address, mine) => {
    try {
      const made = await call(`/api/datasets/${id}/simulation?${address}&draw=${draw}`);
      if (mine !== asked) return;
      simulation.replaceChildren(figure(scatter({ raster: made.raster, true: made.true, private: made.private, alt: "Made-up rows as shades, true centres as circles, private centres as dots" }),
        `Made-up clouds, ${number(made.rows, 6)} rows: circles are their true centres, dots what a fit would release.`));
    } catch (error) { if (mine === asked) simulation.replaceChildren(el("p", { class: "alert" }, error.message)); }
  };
  const refresh = async () => {
    const mine = ++asked;
    label();
    const address = new URLSearchParams({ k: k.value || "1", n: n.value || "1", epsilon: epsilon.value || "0", delta: delta.value || "0", method: method.value });
    try {
      const found = await call(`/api/datasets/${id}/plan?${address}`);
      if (mine !== asked) return;
      const names = Object.keys(found.errors);
      chart.replaceChildren(lines(found.epsilons, found.errors, Number(epsilon.value), { x: "ε of the fit", y: "predicted error", chosen: method.value, alt: `Predicted error of ${names.length} methods against ε; the table below has the numbers at the chosen ε` }), key(names));
      rows.replaceChildren(...(found.drowned ? [el("p", { class: "alert" }, "Even the best method would do no better than always answering the middle: take more rows, a larger ε, fewer columns or fewer clusters.")] : []),
        table(["method", "predicted error", "noise", "passes", "note"], found.methods.map((row) => [row.method === found.best ? el("strong", {}, `${row.method} (best)`) : row.method, number(row.error, 2), number(row.noise, 2), row.fits ? String(row.passes) : "–", row.why_not || row.note]), [1, 2, 3]));
      await simulate(address, mine);
    } catch (error) {
      if (mine === asked) rows.replaceChildren(el("p", { class: "alert" }, error.message));
    }
  };
  let timer = 0;
  const soon = () => { label(); clearTimeout(timer); timer = setTimeout(refresh, 150); };
  slider.addEventListener("input", () => {
    const value = low * (top / low) ** (Number(slider.value) / STEPS);
    epsilon.value = Number(slider.value) === STEPS ? String(Math.min(left.epsilon, top)) : String(Number(value.toPrecision(2)));
    soon();
  });
  epsilon.addEventListener("input", () => { place(); soon(); });
  for (const input of [k, n, delta, method]) input.addEventListener("input", soon);
  auto.addEventListener("change", () => { k.disabled = auto.checked; });
  let asking = false;
  spend.addEventListener("click", async () => {
    if (asking) return;
    asking = true;
    wrong.textContent = "";
    const wanted = settings();
    try {
      const quote = await call(`/api/datasets/${id}/quote`, wanted);
      if (current()) confirm(quote, one, wanted);
    } catch (error) { wrong.textContent = error.message; }
    asking = false;
  });
  place();
  label();
  refresh();
  const controls = el("section", { class: "card" }, el("h2", {}, "The fit"),
    el("div", { class: "row" }, labelled("Clusters", k), el("label", { class: "line" }, auto, "choose for me"), labelled("Rows, roughly", n, "your guess; not read from the file"), labelled("Method", method), total.delta > 0 ? labelled("δ of this fit", delta) : null),
    el("div", { class: "row" }, labelled("ε of this fit", epsilon)), slider,
    taken, el("p", { class: "soft small" }, `Left: ε ${number(left.epsilon, 6)} of ${number(total.epsilon, 6)}. Protects ${one.budget.protects}.`),
    labelled("What it is for (kept in the ledger)", purpose), el("p", {}, spend), wrong);
  return [head, el("p", { class: "soft" }, "All of this is computed from public numbers and made-up rows. Nothing is read or spent before you confirm."),
    el("div", { class: "two" }, el("div", {}, controls), el("section", { class: "card" }, el("h2", {}, "How noisy it would look"), simulation, el("button", { onclick: () => { draw += 1; refresh(); } }, "Make other data"))),
    el("section", { class: "card" }, el("h2", {}, "Predicted error against ε"), chart, el("p", { class: "small soft" }, "Error: mean squared distance of a centre in the cube [−1, 1]^d. Lower is better."), rows),
    el("details", { class: "card" }, el("summary", {}, "What was declared"), el("ul", {}, (one.notes || []).map((note) => el("li", {}, note))))];
}

function confirm(quote, one, asked) {
  const go = el("button", { class: "main" }, `Spend ε = ${number(quote.epsilon, 4)}`);
  const wrong = el("p", { class: "alert", role: "alert" });
  const title = el("h2", { id: "ask" }, `Spend ε = ${number(quote.epsilon, 4)} on ${one.name}?`);
  const box = el("dialog", { "aria-labelledby": "ask" }, title,
    el("dl", {}, el("dt", {}, "Left before"), el("dd", {}, `ε = ${number(quote.before, 6)} of ${number(quote.total, 6)}`),
      el("dt", {}, "This fit"), el("dd", {}, `ε = ${number(quote.epsilon, 6)}${quote.delta ? `, δ = ${number(quote.delta)}` : ""}, ${asked.method}, ${asked.k === "auto" ? "k chosen" : `k = ${asked.k}`}`),
      el("dt", {}, "Left after"), el("dd", {}, `${quote.exact ? "" : "at least "}ε = ${number(quote.after, 6)}`),
      el("dt", {}, "Protected"), el("dd", {}, quote.protects)),
    el("p", {}, `Who was 50\u00a0% sure that somebody is in the data may be ${number(quote.chance * 100)}\u00a0% sure after this fit alone.`),
    quote.epsilon > 10 ? el("p", { class: "alert" }, "An ε above 10 protects next to nothing.") : null,
    el("p", { class: "small" }, "It is charged before a row is read, and never given back."), wrong,
    el("div", { class: "row" }, go, el("button", { autofocus: true, onclick: () => box.close() }, "Cancel")));
  go.addEventListener("click", async () => {
    try {
      const found = await call("/api/spend", { request: quote.request });
      box.close();
      location.hash = `#/job/${found.request}`;
    } catch (error) { wrong.textContent = error.message; }
  });
  box.addEventListener("close", () => box.remove());
  document.getElementById("main").append(box);
  box.showModal();
}

const WORDS = { waiting: "Waiting for another fit to end", running: "Running", released: "Released", refused: "Refused", failed: "Ended without a release" };

export async function job(current, id) {
  const title = el("h1", {}, "Fit");
  const bar = el("progress", { "aria-label": "Progress of the fit" });
  const text = el("p", {});
  const after = el("div");
  const poll = async () => {
    const found = await call(`/api/jobs/${id}`);
    title.textContent = `Fit of ${found.name}, ε = ${number(found.epsilon, 4)}`;
    text.textContent = `${WORDS[found.state]}${found.state === "running" && found.passes ? `: pass ${found.passes} over the rows` : ""}`;
    if (found.state === "released") {
      say("Released");
      location.replace(`#/release/${found.release}`);
      return;
    }
    if (found.state === "refused" || found.state === "failed") {
      bar.hidden = true;
      after.replaceChildren(el("p", { class: "alert", role: "alert" }, found.message), el("p", {}, el("a", { href: `#/plan/${found.dataset}` }, "Back to the plan")));
      return;
    }
    setTimeout(() => { if (current()) poll().catch((error) => after.replaceChildren(el("p", { class: "alert", role: "alert" }, error.message))); }, 250);
  };
  await poll();
  return [title, el("div", { class: "card" }, bar, text, after), el("p", { class: "soft" }, "You may leave or reload this page: the fit goes on, and its release is kept in the ledger.")];
}
