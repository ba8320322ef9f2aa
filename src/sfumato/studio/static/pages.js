// Datasets, declaring one, all releases, two of them side by side, and the lesson.
import { bars, budget, call, el, figure, labelled, number, scatter, table } from "./parts.js";

export async function datasets() {
  const state = await call("/api/state");
  const cards = state.datasets.map((one) => {
    const inside = [el("h2", {}, one.name), el("p", { class: "soft small" }, one.files.join(", ") || "no file in this folder")];
    if (one.registered) {
      const { total, left, spent, protects } = one.budget;
      inside.push(el("p", {}, el("span", { class: "big" }, `ε ${number(left.epsilon, 6)}`), ` of ${number(total.epsilon, 6)} left`),
        budget(spent.epsilon, total.epsilon), el("p", { class: "soft small" }, `Protects ${protects}. Releases: ${one.releases}.`));
      if (one.budget.without_release.length) inside.push(el("p", { class: "small" }, `Charged without a release: ${one.budget.without_release.length}. It runs, or was interrupted and stays spent.`));
    } else inside.push(el("p", {}, "Not declared yet: it needs public facts about its columns, and a budget."));
    inside.push(el("p", {}, el("a", { class: "button", href: `#/${one.registered ? "plan" : "declare"}/${one.id}`, "aria-label": `${one.registered ? "Plan a fit" : "Declare"}: ${one.name}` }, one.registered ? "Plan a fit" : "Declare")));
    return el("section", { class: "card" }, inside);
  });
  const running = state.running.map((one) => el("p", { class: "card" }, `A fit of ${one.name} is running. `, el("a", { href: `#/job/${one.request}` }, "Watch it")));
  const empty = el("div", { class: "card" }, el("p", {}, "This folder has no table yet. Put a .csv, .tsv, .npy or .parquet file in it, or start the studio with --data FOLDER."), el("p", {}, "The ", el("a", { href: "#/learn" }, "lesson"), " needs no data."));
  return [el("h1", {}, "Datasets"), el("p", { class: "soft" }, `Files of the folder ${state.folder}; budgets are kept in ${state.ledger}. Nothing of a row is shown here.`),
    ...running, cards.length ? el("div", { class: "grid" }, cards) : empty];
}

const KINDS = {
  skip: ["leave it alone", []],
  number: ["number", [["lower", "Least possible", "number"], ["upper", "Largest possible", "number"]]],
  category: ["category", [["levels", "All possible levels, with commas", "text"]]],
  ordinal: ["levels in order", [["levels", "All levels from low to high, with commas", "text"]]],
  flag: ["yes or no", []],
  date: ["date", [["first", "First possible day", "date"], ["last", "Last possible day", "date"]]],
  cycle: ["cycle", [["period", "Period, such as 24 hours", "number"]]],
};

function column(name, known) {
  const kind = el("select", {}, Object.entries(KINDS).map(([value, [text]]) => el("option", { value, selected: value === (known?.kind || "skip") }, text)));
  const facts = el("div", { class: "row" });
  let inputs = {};
  const source = el("input", { type: "text", class: "wide", value: known?.source || "", maxLength: 500 });
  const origin = labelled("Where this is known from, without looking at the rows", source);
  const change = () => {
    inputs = {};
    facts.replaceChildren(...KINDS[kind.value][1].map(([fact, text, type]) => {
      const given = known?.[fact];
      inputs[fact] = el("input", { type, step: "any", value: Array.isArray(given) ? given.join(", ") : String(given ?? "") });
      return labelled(text, inputs[fact]);
    }));
    origin.hidden = kind.value === "skip" || kind.value === "flag";
  };
  kind.addEventListener("change", change);
  change();
  const read = () => {
    if (kind.value === "skip") return null;
    const found = { ...(known && known.kind === kind.value ? known : {}), kind: kind.value };
    for (const [fact, input] of Object.entries(inputs)) {
      if (fact === "levels") found.levels = input.value.split(",").map((level) => level.trim()).filter(Boolean);
      else if (input.type === "number") {
        if (input.value === "") throw Object.assign(new Error(`${name}: fill in “${input.labels[0].textContent}”.`), { input });
        found[fact] = Number(input.value);
      } else found[fact] = input.value;
    }
    if (source.value.trim()) found.source = source.value.trim(); else delete found.source;
    return found;
  };
  return { node: el("fieldset", { class: "column" }, el("legend", {}, name), el("div", { class: "row" }, labelled("Kind", kind), facts), origin), read };
}

export async function declare(current, id) {
  const one = await call(`/api/datasets/${id}`);
  if (one.problem) return [el("h1", {}, one.name), el("p", { class: "alert" }, one.problem), el("p", {}, el("a", { href: "#/" }, "All datasets"))];
  const columns = one.columns.map((name) => [name, column(name, one.schema?.columns[name])]);
  const groups = el("select", {}, el("option", { value: "" }, "no: one row is protected"), one.columns.map((name) => el("option", { value: name, selected: one.schema?.groups === name }, `yes, ${name} says whose rows they are`)));
  const most = el("input", { type: "number", min: "1", value: "1" });
  const rows = labelled("Rows used of each person", most);
  const reveal = () => { rows.hidden = !groups.value; };
  groups.addEventListener("change", reveal);
  reveal();
  const epsilon = el("input", { type: "number", min: "0", step: "any", value: "1" });
  const delta = el("input", { type: "number", min: "0", max: "0.5", step: "any", value: "0" });
  const wrong = el("p", { class: "alert", role: "alert" });
  const send = async (event) => {
    event.preventDefault();
    wrong.textContent = "";
    try {
      const found = {};
      for (const [name, each] of columns) {
        const facts = each.read();
        if (facts && name !== groups.value) found[name] = facts;
      }
      await call(`/api/datasets/${id}/declare`, { columns: found, groups: groups.value || null, max_rows_per_group: groups.value ? Number(most.value) : null, epsilon: Number(epsilon.value), delta: Number(delta.value) });
      location.hash = `#/plan/${id}`;
    } catch (error) {
      wrong.textContent = error.message;
      error.input?.focus();
    }
  };
  const total = el("fieldset", {}, el("legend", {}, "Budget of all fits together"), el("p", { class: "small" }, "ε about 1 is common; above 10 protects next to nothing. δ is 0, or less than one divided by the number of people. A budget never changes: not by a restart, not on request."),
    el("div", { class: "row" }, labelled("Total ε", epsilon), labelled("Total δ", delta)));
  return [el("h1", {}, `Declare ${one.name}`),
    el("p", {}, "Say what is public about each column: bounds and levels that you know from a manual, a law or common sense, not from these rows. Cells outside are clipped. The names of the columns are all that was read."),
    el("form", { onsubmit: send, noValidate: true }, columns.map(([, each]) => each.node),
      el("fieldset", {}, el("legend", {}, "Who is protected"), el("div", { class: "row" }, labelled("May one person have several rows?", groups), rows)),
      one.registered ? null : total, wrong, el("p", {}, el("button", { class: "main" }, "Declare, for good")))];
}

export async function releases() {
  const state = await call("/api/state");
  const pick = [];
  const go = el("button", { class: "main", disabled: true, onclick: () => { location.hash = `#/compare/${pick[0]}/${pick[1]}`; } }, "Compare two");
  const rows = state.releases.map((one) => {
    const box = el("input", { type: "checkbox", "aria-label": `Compare ${one.name} of ${one.at}`, onchange: (event) => {
      if (event.target.checked) pick.push(one.release); else pick.splice(pick.indexOf(one.release), 1);
      go.disabled = pick.length !== 2;
    } });
    return [box, el("a", { href: `#/release/${one.release}` }, one.name), el("span", { class: "keep" }, one.at.slice(0, 16).replace("T", " ")), one.method, one.guarantee];
  });
  if (!rows.length) return [el("h1", {}, "Releases"), el("p", {}, "Nothing was released yet. What is released once can be looked at for ever, for free.")];
  return [el("h1", {}, "Releases"), el("p", {}, "Looking again is free. Choose two to see them side by side."), table(["", "dataset", "time (UTC)", "method", "guarantee"], rows), el("p", {}, go)];
}

export async function compare(current, one, other) {
  const found = await call(`/api/compare/${one}/${other}`);
  const sides = found.sides.map((side) => {
    const picture = side.picture;
    return el("section", { class: "card" }, el("h2", {}, `${side.name}, ${side.at.slice(0, 16).replace("T", " ")}`), el("p", { class: "soft small" }, `${side.method}: ${side.guarantee}`),
      figure(scatter({ raster: picture.raster, private: picture.centers, numbered: true, x: picture.axes[picture.x], y: picture.axes[picture.y], alt: `${picture.centers.length} private centres of ${side.name}` }), ""),
      el("p", {}, el("a", { href: `#/release/${side.release}`, "aria-label": `Open the release of ${side.at}` }, "Open")));
  });
  const pairs = found.pairs
    ? [el("h2", {}, "Centres in pairs"), el("p", { class: "small soft" }, "Distances are in the cube from −1 to 1 that the bounds span. Noise alone makes two releases differ."),
      table(["left", "right", "distance", "noisy size left", "noisy size right"], found.pairs.map((pair) => [`cluster ${pair.one}`, `cluster ${pair.other}`, number(pair.distance), number(pair.sizes[0], 6), number(pair.sizes[1], 6)]), [2, 3, 4])]
    : [el("p", {}, "The two have different columns: their centres cannot be paired.")];
  return [el("h1", {}, "Two releases"), el("div", { class: "half" }, sides), el("div", { class: "card" }, pairs)];
}

export async function learn(current) {
  const state = await call("/api/state");
  const steps = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];
  const slider = el("input", { type: "range", min: "0", max: String(steps.length - 1), value: "6", step: "1" });
  const method = el("select", {}, state.methods.filter((name) => name !== "maxcover").map((name) => el("option", { value: name }, name)));
  const shown = el("div", { "aria-live": "polite" });
  const name = el("output", { class: "big" });
  let asked = 0;
  const again = async () => {
    const mine = ++asked;
    const epsilon = steps[Number(slider.value)];
    name.textContent = `ε = ${epsilon}`;
    slider.setAttribute("aria-valuetext", `ε = ${epsilon}`);
    try {
      const found = await call(`/api/learn?epsilon=${epsilon}&method=${method.value}`);
      if (mine !== asked) return;
      shown.replaceChildren(el("div", { class: "half" },
        el("section", { class: "card" }, el("h2", {}, "True centres"), figure(scatter({ raster: found.raster, true: found.true, alt: "The rows as shades, and 15 true centres as circles" }), "Known here because the rows are made up.")),
        el("section", { class: "card" }, el("h2", {}, "Private centres"), figure(scatter({ raster: found.raster, true: found.true, private: found.private, alt: "15 private centres as dots over the true ones" }), "Dots are private, circles true. With real rows the dots are all that is released."))),
        el("div", { class: "card" }, el("h2", {}, "What it costs, and what it promises"), el("dl", {},
          el("dt", {}, "variance, true centres"), el("dd", {}, number(found.cost.true)),
          el("dt", {}, "variance, private centres"), el("dd", {}, number(found.cost.private)),
          el("dt", {}, "who was 50 % sure a row is there"), el("dd", {}, `is at most ${number(found.chance * 100)} % sure afterwards`))));
    } catch (error) { if (mine === asked) shown.replaceChildren(el("p", { class: "alert" }, error.message)); }
  };
  slider.addEventListener("input", again);
  method.addEventListener("change", again);
  await again();
  return [el("h1", {}, "Learn: what ε does"), el("p", {}, "5,000 made-up rows in 15 clouds. They are public, so nothing is spent here. Move ε and watch the private centres leave the true ones."),
    el("div", { class: "card" }, el("div", { class: "row" }, name, labelled("Method", method), el("button", { onclick: again }, "Draw the noise again")), labelled("ε, from strong to weak protection", slider)), shown];
}
