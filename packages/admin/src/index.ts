export { type AdminHandler, type AdminOptions, type AuditEvent, adminHandler } from './admin.ts'
