export {
  type Mount,
  type NeutralOptions,
  type NeutralRequest,
  type NeutralResponse,
  type Send,
  testAdapter,
} from './adapter.ts'
export { type Algorithm, type Call, histories, historiesOf, momentsOf, quotas, quotasOf } from './arbitraries.ts'
export { type FakeClock, fakeClock, START } from './clock.ts'
export { type Fault, type FaultyStore, faultyStore } from './faulty.ts'
export { modelStore } from './model.ts'
export type { TestFunction } from './runner.ts'
export { type StoreSuiteOptions, testStore } from './store.ts'
export { type Row, type Vector, vectors } from './vectors.ts'
