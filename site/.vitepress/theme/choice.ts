const KEY = 'spillway framework'

/** Selects a framework's tab in all groups of the page. */
function select(name: string | null): void {
  for (const label of document.querySelectorAll<HTMLLabelElement>('.vp-code-group .tabs label')) {
    const input = document.getElementById(label.htmlFor)
    if (label.textContent?.trim() === name && input instanceof HTMLInputElement && !input.checked) input.click()
  }
}

/** The framework that the visitor has chosen, as samples name it; null if none. */
export function chosenFramework(): string | null {
  try {
    return localStorage.getItem(KEY)
  } catch {
    return null // A browser may forbid it.
  }
}

/** Remembers a framework, and selects it in all samples of the page. */
export function chooseFramework(name: string): void {
  try {
    localStorage.setItem(KEY, name)
  } catch {
    // The choice then lasts for this page.
  }
  select(name)
}

/** Applies the chosen framework to a page that was opened. */
export const selectChosen = (): void => select(chosenFramework())

/** Remembers a visitor's choice, and applies it to the other samples of the page. */
export function rememberChoice(): void {
  addEventListener('click', (event) => {
    const label = event.target instanceof Element ? event.target.closest('.vp-code-group .tabs label') : null
    if (label === null || !event.isTrusted) return
    requestAnimationFrame(() => chooseFramework(label.textContent?.trim() ?? ''))
  })
}
