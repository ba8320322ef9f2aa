// One release: looked at, clustered again, downloaded. All of it is free.
import { bars, call, el, figure, labelled, number, scatter, table, tree } from "./parts.js";

export async function release(current, id) {
  const found = await call(`/api/releases/${id}`);
  const head = [el("h1", {}, `Release of ${found.name}`), el("p", { class: "soft" }, `${found.at.slice(0, 16).replace("T", " ")} UTC, method ${found.method}. `, el("strong", {}, found.guarantee))];
  const files = el("section", { class: "card" }, el("h2", {}, "Take it along"), el("div", { class: "row" },
    el("a", { class: "button", href: `/api/releases/${id}/report`, target: "_blank", rel: "noopener" }, "Open the report"),
    ...["report.html", "model.json", "dossier.json"].map((name) => el("a", { class: "button", href: `/api/releases/${id}/${name}`, download: name }, `Download ${name}`)),
    found.synopsis ? el("a", { class: "button", href: `/api/releases/${id}/synthetic.csv?n=1000`, download: "synthetic.csv" }, "Download 1,000 synthetic rows") : null));
  return [...head, ...(found.picture ? pictured(id, found) : []), files, receipt(found)];
}

// What another clustering of a synopsis is called, and what its picture shows.
const WAYS = {
  kmeans: ["other centres (k-means)", "Dots are centres."],
  median: ["medians, robust to far rows", "Dots are centres that lower distances, not their squares."],
  mixture: ["a mixture of normal distributions", "Ellipses are two standard deviations."],
  regions: ["regions of any shape (density)", "Each colour is a region; the rest is noise."],
  tree: ["a tree of clusters (Ward)", "Dots are the small clusters at the feet of the tree."],
};

function pictured(id, found) {
  const drawn = el("div");
  const view = { x: found.picture.x, y: found.picture.y };
  const axes = found.picture.axes;
  const again = free(id, found, view);
  const show = (picture) => drawn.replaceChildren(figure(scatter({ raster: picture.raster, private: picture.centers, numbered: true, x: axes[picture.x], y: axes[picture.y], alt: `${picture.centers.length} private centres by ${axes[picture.x].name} and ${axes[picture.y].name}; the table has their numbers` }),
    !picture.centers.length ? "Shades are the released synopsis." : picture.raster ? "Shades are the released synopsis, dots the private centres." : "Dots are the private centres. This method releases no synopsis."));
  const pick = (way) => {
    const select = el("select", {}, axes.map((axis, i) => el("option", { value: String(i), selected: i === view[way] }, axis.name)));
    select.addEventListener("change", async () => {
      view[way] = Number(select.value);
      show((await call(`/api/releases/${id}?x=${view.x}&y=${view.y}`)).picture);
      again.refresh();
    });
    return select;
  };
  show(found.picture);
  const choose = axes.length > 2 ? el("div", { class: "row" }, labelled("Across", pick("x")), labelled("Up", pick("y"))) : null;
  const clusters = el("section", { class: "card" }, el("h2", {}, "Clusters"), choose, drawn);
  if (!found.table) return [clusters, again.node];
  const { columns, rows, sizes, heat } = found.table;
  const shade = (text, part) => {
    const cell = el("span", {}, text);
    if (part !== null) {
      cell.style.background = `linear-gradient(to right, rgba(var(--cloud), .3) ${part * 100}%, transparent ${part * 100}%)`;
      cell.style.display = "block";
    }
    return cell;
  };
  const centers = table(["", "noisy size", ...columns], rows.map((row, i) => [`cluster ${i}`, number(sizes[i], 6), ...row.map((cell, j) => shade(cell, heat[i][j]))]), [1]);
  return [el("div", { class: "two" }, clusters, el("section", { class: "card" }, el("h2", {}, "Noisy sizes"), bars(sizes, (i) => `cluster ${i}`, "Noisy sizes of the clusters"))),
    el("section", { class: "card" }, el("h2", {}, "Centres"), centers), again.node];
}

function free(id, found, view) {
  const title = el("h2", {}, "Cluster it again, for free");
  if (!found.synopsis) return { node: el("section", { class: "card" }, title, el("p", {}, `The method ${found.method} released no synopsis. EUGkM always releases one, Auto where the columns are few.`)), refresh: () => {} };
  const ways = Object.keys(WAYS).filter((way) => way !== "regions" || found.synopsis.grid);
  const how = el("select", {}, ways.map((way) => el("option", { value: way }, WAYS[way][0])));
  const k = el("input", { type: "range", min: "1", max: "20", value: String(Math.min(found.picture.centers.length || 5, 20)) });
  const name = el("output", {});
  const shown = el("div", { "aria-live": "polite" });
  const advice = el("p", { class: "soft small" });
  const axes = found.picture.axes;
  let asked = 0;
  const refresh = async () => {
    const mine = ++asked;
    try {
      const made = await call(`/api/releases/${id}/clusters?how=${how.value}&k=${k.value}&x=${view.x}&y=${view.y}`);
      if (mine !== asked) return;
      const facts = { raster: made.raster, regions: made.regions, ellipses: made.ellipses, leaves: made.leaves, labels: made.labels, private: made.centers, x: axes[view.x], y: axes[view.y], numbered: true, alt: `The same synopsis, clustered again: ${made.sizes.length} clusters` };
      shown.replaceChildren(el("div", { class: "two" }, figure(scatter(facts), `The same release, another clustering. ${WAYS[made.how][1]} Nothing was spent.`),
        el("div", {}, made.linkage ? tree(made.linkage, made.leaves.length, Number(k.value)) : null, made.sizes.length ? bars(made.sizes, (i) => `cluster ${i}`, "Noisy sizes") : el("p", {}, "Nothing stands out from the noise."))));
    } catch (error) { if (mine === asked) shown.replaceChildren(el("p", { class: "alert" }, error.message)); }
  };
  let timer = 0;
  const label = () => {
    name.textContent = how.value === "regions" ? "the number is found" : `k = ${k.value}`;
    k.disabled = how.value === "regions";
    k.setAttribute("aria-valuetext", name.textContent);
  };
  const soon = () => { label(); clearTimeout(timer); timer = setTimeout(refresh, 150); };
  how.addEventListener("change", soon);
  k.addEventListener("input", soon);
  label();
  call(`/api/releases/${id}/curve`).then((curve) => { advice.textContent = `The elbow criterion takes k = ${curve.best}, of 2 to 16.`; }).catch(() => {});
  refresh();
  return { node: el("section", { class: "card" }, title, el("p", { class: "small soft" }, `The synopsis has ${number(found.synopsis.cells, 6)} cells, each ± ${number(found.synopsis.noise_std)} rows.`), el("div", { class: "row" }, labelled("How", how), labelled("Number of clusters", k), name), advice, shown), refresh };
}

function receipt(found) {
  const queries = found.receipt.queries || [];
  const names = queries.length ? Object.keys(queries[0]).filter((name) => ["query", "cost", "delta", "mechanism", "scale", "kind"].includes(name)) : [];
  return el("section", { class: "card" }, el("h2", {}, "Receipt"), el("p", {}, found.guarantee),
    names.length ? table(names, queries.map((query) => names.map((name) => String(query[name])))) : null,
    el("ul", { class: "small" }, (found.receipt.notes || []).map((note) => el("li", {}, note))));
}
