/** The report's style: one column, with a light and a dark theme. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --page: #f7f7f5; --card: #ffffff; --ink: #1d1d1b; --soft: #63635e; --rule: #e4e3df;
  --yes: #3b7dd8; --no: #d9472b; --warn: #8a5a00; --warn-page: #fff6e0;
  --one: #3b7dd8; --two: #c2571a; --three: #2e8b57; --four: #8a56c2; --five: #b0871a; --six: #c2407c;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #141413; --card: #1d1d1b; --ink: #ecebe7; --soft: #a3a29b; --rule: #33332f;
    --yes: #5f9cf0; --no: #ff7657; --warn: #f0c264; --warn-page: #2a2415;
    --one: #5f9cf0; --two: #f0935a; --three: #5cc48c; --four: #b58cf0; --five: #dcb84a; --six: #f07fb0;
  }
}
* { box-sizing: border-box }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 32px 20px 64px }
h1 { font-size: 26px; line-height: 1.2; margin: 0 0 4px; letter-spacing: -.01em }
h2 { font-size: 20px; margin: 40px 0 12px; letter-spacing: -.01em }
h3 { font-size: 15px; margin: 0 0 2px }
h4 { font-size: 13px; font-weight: 600; color: var(--soft); margin: 20px 0 6px }
p { margin: 0 }
.soft { color: var(--soft) } .small { font-size: 12.5px }
.card { background: var(--card); border: 1px solid var(--rule); border-radius: 10px; padding: 18px 20px; margin: 12px 0 }
.notes { background: var(--warn-page); color: var(--warn); border-radius: 10px; padding: 12px 20px; margin: 16px 0 }
.notes ul { margin: 2px 0; padding-left: 18px } .notes code { color: inherit; overflow-wrap: anywhere }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px; margin: 12px 0 }
.tile { background: var(--card); border: 1px solid var(--rule); border-radius: 10px; padding: 12px 16px }
.tile b { display: block; font-size: 26px; line-height: 1.25; font-weight: 650; letter-spacing: -.02em; font-variant-numeric: tabular-nums }
.tile.no b { color: var(--no) } .tile.yes b { color: var(--yes) }
.legend { display: flex; flex-wrap: wrap; gap: 4px 18px; font-size: 13px; color: var(--soft); margin: 2px 0 8px; padding: 0; list-style: none }
.legend i { display: inline-block; width: 10px; height: 10px; border-radius: 3px; margin-right: 6px; background: currentColor }
.legend .yes i { color: var(--yes) } .legend .no i { color: var(--no) }
.chart { display: block; width: 100%; height: auto; min-width: 560px; overflow: visible; touch-action: pan-y }
.scroll { overflow-x: auto }
.grid { stroke: var(--rule); stroke-width: 1 }
.tick { fill: var(--soft); font-size: 11px; font-variant-numeric: tabular-nums }
.cursor { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 2 2 }
.area.yes { fill: var(--yes); fill-opacity: .78 } .area.no { fill: var(--no) }
.fill { fill: currentColor; fill-opacity: .28 } .mark.no { fill: var(--no); fill-opacity: .3 }
.line { fill: none; stroke-width: 1.8; stroke-linejoin: round }
.one { color: var(--one) } .two { color: var(--two) } .three { color: var(--three) }
.four { color: var(--four) } .five { color: var(--five) } .six { color: var(--six) }
.line.one, .line.two, .line.three, .line.four, .line.five, .line.six { stroke: currentColor }
.dot { fill: currentColor }
td .legend { margin: 0; font-size: inherit }
table { border-collapse: collapse; width: 100%; font-size: 13.5px; font-variant-numeric: tabular-nums }
th { text-align: right; font-weight: 600; color: var(--soft); font-size: 12px; padding: 4px 10px; white-space: nowrap }
td { text-align: right; padding: 5px 10px; border-top: 1px solid var(--rule); white-space: nowrap }
th:first-child, td:first-child { text-align: left; padding-left: 0 }
td.key { font: 12.5px/1.5 ui-monospace, monospace; max-width: 320px; overflow: hidden; text-overflow: ellipsis }
td.share { min-width: 160px; width: 30% }
.meter { display: block; height: 10px; border-radius: 3px; background: var(--yes); overflow: hidden; min-width: 3px }
.meter i { display: block; height: 100%; background: var(--no); min-width: 2px }
select { font: 12.5px ui-monospace, monospace; color: inherit; background: var(--page); border: 1px solid var(--rule); border-radius: 6px; padding: 3px 6px; max-width: 100% }
.badge { font-size: 12px; border: 1px solid var(--rule); border-radius: 99px; padding: 1px 9px; color: var(--soft); margin-left: 8px; font-weight: 500 }
#tip { position: fixed; pointer-events: none; background: var(--ink); color: var(--page); font-size: 12px; line-height: 1.45; padding: 6px 10px; border-radius: 6px; white-space: nowrap; z-index: 1 }
#tip[hidden] { display: none }
details { margin: 16px 0 } summary { cursor: pointer; color: var(--soft) }
pre { font: 12.5px/1.5 ui-monospace, monospace; overflow-x: auto; background: var(--card); border: 1px solid var(--rule); border-radius: 10px; padding: 14px }
.parts { display: grid; grid-template-columns: repeat(auto-fit, minmax(200px, 1fr)); gap: 0 28px }
.what-if input { width: 100%; accent-color: var(--yes) } .what-if output { display: block; font-variant-numeric: tabular-nums }
footer { margin-top: 48px; color: var(--soft); font-size: 13px }
/* A chart is drawn at half its size there, its words are not. */
@media (max-width: 640px) { .tick { font-size: 16px } main { padding: 24px 14px 48px } .card { padding: 14px } td, th { padding-inline: 5px } td:last-child, th:last-child { padding-right: 0 } .share { display: none } td.key { max-width: 130px } }
@media print { body { background: #fff } .card, .tile { break-inside: avoid } select { border: 0 } }
`
