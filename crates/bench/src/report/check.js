// The page looks at itself when it is opened with ?check: what it finds stands in the element #check, as JSON.
if (location.search === "?check") {
  const troubles = [];
  addEventListener("error", event => troubles.push(String(event.message)));
  const charts = [...document.querySelectorAll("svg")];
  for (const svg of charts) {
    const view = svg.viewBox.baseVal, name = svg.getAttribute("aria-label");
    for (const part of svg.querySelectorAll("text, rect")) {
      const box = part.getBBox();
      if (box.x < -0.5 || box.y < -0.5 || box.x + box.width > view.width + 0.5 || box.y + box.height > view.height + 0.5)
        troubles.push(name + ": outside: " + (part.textContent || part.getAttribute("class")));
    }
    const parts = [...svg.querySelectorAll("text, rect")].map(part => [part.tagName === "rect" ? "a bar" : part.textContent, part.getBBox()]);
    parts.forEach(([a, p], i) => parts.slice(i + 1).forEach(([b, q]) => {
      const across = Math.min(p.x + p.width, q.x + q.width) - Math.max(p.x, q.x);
      const down = Math.min(p.y + p.height, q.y + q.height) - Math.max(p.y, q.y);
      if (across > 1 && down > 4) troubles.push(`${name}: overlap: ${a} | ${b}`);
    }));
    const drawn = svg.querySelectorAll("rect.bar").length, absent = svg.querySelectorAll("text.absent").length;
    if (drawn + absent !== Number(svg.dataset.contenders))
      troubles.push(`${name}: ${drawn} bars and ${absent} notes for ${svg.dataset.contenders} contenders`);
  }
  if (document.documentElement.scrollWidth > innerWidth) troubles.push("the page is wider than the window");
  const broken = [...document.querySelectorAll("a")].filter(a => a.pathname === location.pathname && !document.getElementById(a.hash.slice(1)));
  broken.forEach(a => troubles.push("a link to nowhere: " + a.hash));
  const found = document.createElement("pre");
  found.id = "check";
  found.textContent = JSON.stringify({ charts: charts.length, bars: document.querySelectorAll("rect.bar").length, troubles });
  document.body.append(found);
}
