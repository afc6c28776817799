export { type AdminHandler, adminHandler } from './admin.ts'
export type { AdminOptions, AuditEvent, ShownShedder } from './options.ts'
