export { type AdminHandler, adminHandler } from './admin.ts'
export type { AdminOptions, AuditEvent } from './options.ts'
