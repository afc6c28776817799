import type { Theme } from 'vitepress'
import DefaultTheme from 'vitepress/theme'
import { defineAsyncComponent, h, onMounted } from 'vue'
import { rememberChoice, selectChosen } from './choice.ts'
import './style.css'

const Hero = defineAsyncComponent(async () => (await import('../../playground/Hero.tsx')).Hero)

/** The home page and the playground have no <main>, which screen readers jump to. */
const markMain = (): void => document.querySelector('.VPHome, .VPPage')?.setAttribute('role', 'main')

const opened = (): void => {
  markMain()
  selectChosen()
}

export default {
  extends: DefaultTheme,
  setup: () => onMounted(opened),
  Layout: () => h(DefaultTheme.Layout, null, { 'home-hero-image': () => h(Hero) }),
  enhanceApp: ({ app, router }) => {
    if (!import.meta.env.SSR) {
      rememberChoice()
      router.onAfterPageLoad = () => {
        setTimeout(opened)
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
