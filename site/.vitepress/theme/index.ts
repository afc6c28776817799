import type { Theme } from 'vitepress'
import DefaultTheme from 'vitepress/theme'
import { defineAsyncComponent, h } from 'vue'
import './style.css'

const Hero = defineAsyncComponent(async () => (await import('../../playground/Hero.tsx')).Hero)

export default {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, null, { 'home-hero-image': () => h(Hero) }),
  enhanceApp: ({ app }) => {
    app.component(
      'Playground',
      defineAsyncComponent(async () => (await import('../../playground/Playground.tsx')).Playground),
    )
    app.component(
      'Figure',
      defineAsyncComponent(async () => (await import('../../playground/Figure.tsx')).Figure),
    )
  },
} satisfies Theme
