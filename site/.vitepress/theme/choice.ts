const KEY = 'spillway framework'

/** Selects a framework's tab in all groups of the page. */
function select(name: string | null): void {
  for (const label of document.querySelectorAll<HTMLLabelElement>('.vp-code-group .tabs label')) {
    const input = document.getElementById(label.htmlFor)
    if (label.textContent?.trim() === name && input instanceof HTMLInputElement && !input.checked) input.click()
  }
}

function stored(): string | null {
  try {
    return localStorage.getItem(KEY)
  } catch {
    return null // A browser may forbid it.
  }
}

/** Applies the chosen framework to a page that was opened. */
export const selectChosen = (): void => select(stored())

/** Remembers a visitor's choice, and applies it to the other samples of the page. */
export function rememberChoice(): void {
  addEventListener('click', (event) => {
    const label = event.target instanceof Element ? event.target.closest('.vp-code-group .tabs label') : null
    if (label === null || !event.isTrusted) return
    const name = label.textContent?.trim() ?? ''
    try {
      localStorage.setItem(KEY, name)
    } catch {
      // The choice then lasts for this page.
    }
    requestAnimationFrame(() => select(name))
  })
}
