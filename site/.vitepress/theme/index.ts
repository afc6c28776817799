import type { Theme } from 'vitepress'
import DefaultTheme from 'vitepress/theme'
import { defineAsyncComponent, h, onMounted } from 'vue'
import { rememberChoice, selectChosen } from './choice.ts'
import './style.css'

const Hero = defineAsyncComponent(async () => (await import('../../playground/Hero.tsx')).Hero)

export default {
  extends: DefaultTheme,
  setup: () => onMounted(selectChosen),
  Layout: () => h(DefaultTheme.Layout, null, { 'home-hero-image': () => h(Hero) }),
  enhanceApp: ({ app, router }) => {
    if (!import.meta.env.SSR) {
      rememberChoice()
      router.onAfterPageLoad = () => {
        setTimeout(selectChosen)
      }
    }
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
