import { checkUnit, type UnitOptions } from '../../http/headers/header-item.ts'
import type { Feature, OptionTypes, Seams } from '../../http/pipeline/seams.ts'
import { type HeaderOptions, headerBuilder } from './header-builder.ts'

/** The types of its options. */
export interface HeaderTypes extends OptionTypes {
  readonly limiter: HeaderOptions
  readonly policy: UnitOptions
}

/** `headers`, `exposeHeaders`, `jitter` and `unit`: what headers report, and in which form. */
export const headerForms: Feature<HeaderTypes> = {
  name: 'headerForms',
  options: ['headers', 'jitter', 'exposeHeaders'],
  policyOptions: ['unit'],
  layers: { headers, policy },
}

function headers<R, S>(next: Seams<R, S>['headers']): Seams<R, S>['headers'] {
  return (policies, options) => headerBuilder(options as HeaderOptions) ?? next(policies, options)
}

function policy<R, S>(next: Seams<R, S>['policy']): Seams<R, S>['policy'] {
  return (options, building) => {
    checkUnit((options as UnitOptions).unit)
    return next(options, building)
  }
}
