// cspell:ignore valuetext
/** The page's script: shows a chart's numbers at the pointer, the selected key, and the selected limit. Plain JavaScript. */
export const SCRIPT = `
const tip = document.getElementById('tip')
const number = new Intl.NumberFormat('en')
for (const svg of document.querySelectorAll('svg[data-chart]')) {
  const { startMs, widthMs, unit, left, right, series } = JSON.parse(svg.dataset.chart)
  const parts = Math.max(...series.map(({ values }) => values.length), 1)
  const cursor = svg.querySelector('.cursor')
  const leave = () => {
    tip.hidden = true
    cursor.setAttribute('visibility', 'hidden')
  }
  svg.addEventListener('pointerleave', leave)
  svg.addEventListener('pointermove', (event) => {
    const box = svg.getBoundingClientRect()
    const x = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width
    const part = Math.floor(((x - left) / (right - left)) * parts)
    if (part < 0 || part >= parts) return leave()
    const middle = left + ((part + 0.5) / parts) * (right - left)
    cursor.setAttribute('x1', middle)
    cursor.setAttribute('x2', middle)
    cursor.setAttribute('visibility', 'visible')
    const when = new Date(startMs + part * widthMs).toISOString().slice(0, 19).replace('T', ' ')
    const lines = series.map(({ name, values }) => name + ': ' + (values[part] == null ? 'none' : number.format(values[part]) + unit))
    tip.replaceChildren(...[when, ...lines].flatMap((line, i) => (i ? [document.createElement('br'), line] : [line])))
    tip.hidden = false
    const room = document.documentElement.clientWidth - tip.offsetWidth - 8
    tip.style.left = Math.max(Math.min(event.clientX + 14, room), 4) + 'px'
    tip.style.top = Math.max(event.clientY - tip.offsetHeight - 10, 4) + 'px'
  })
}
for (const select of document.querySelectorAll('select[data-choose]')) {
  const choose = () => {
    const charts = document.querySelectorAll('[data-of="' + select.dataset.choose + '"]')
    charts.forEach((chart, i) => { chart.hidden = i !== select.selectedIndex })
  }
  select.addEventListener('change', choose)
  choose()
}
for (const box of document.querySelectorAll('[data-limits]')) {
  const { limits, requests, period } = JSON.parse(box.dataset.limits)
  const input = box.querySelector('input')
  const output = box.querySelector('output')
  const show = () => {
    const { limit, denied, keys } = limits[input.value]
    const share = requests === 0 ? 0 : Math.round((1e5 * denied) / requests) / 1e3
    output.textContent = number.format(limit) + ' per ' + period + ': ' + number.format(denied) + ' denied (' + share + ' %), from ' + number.format(keys) + (keys === 1 ? ' key' : ' keys')
    input.setAttribute('aria-valuetext', output.textContent)
  }
  input.addEventListener('input', show)
  show()
}
`
