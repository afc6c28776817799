import type { Theme } from 'vitepress'
import DefaultTheme from 'vitepress/theme'
import { defineAsyncComponent } from 'vue'
import './style.css'

export default {
  extends: DefaultTheme,
  enhanceApp: ({ app }) => {
    app.component(
      'Playground',
      defineAsyncComponent(async () => (await import('../../playground/Playground.tsx')).Playground),
    )
  },
} satisfies Theme
