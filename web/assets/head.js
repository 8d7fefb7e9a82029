// Reads the signed checkpoint, whose first lines are origin, size and root hash, and shows them.
const set = (id, text) => { document.getElementById(id).textContent = text; };

async function show() {
  let answer = await fetch("/log/checkpoint", { cache: "no-store" });
  // After a restore the log goes on under another name; its checkpoint is where the link leads.
  const next = /^<(\/log\/[0-9]+\/checkpoint)>; rel="successor-version"$/.exec(answer.headers.get("Link") ?? "");
  if (next) answer = await fetch(next[1], { cache: "no-store" });
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  const [origin, size, root] = (await answer.text()).split("\n");
  set("origin", origin);
  set("size", Number(size).toLocaleString("en"));
  set("time", size === "0" ? "none yet" : new Date(answer.headers.get("Last-Modified")).toISOString().replace(".000Z", "Z"));
  set("root", root);
  set("state", "");
}

const refresh = () => show().catch((error) => set("state", `The head can't be shown: ${error.message}`));
refresh();
setInterval(refresh, 5000);
