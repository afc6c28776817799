import 'reflect-metadata'
import type { Server } from 'node:http'
import type { INestApplication, Type } from '@nestjs/common'
import { Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter } from '@nestjs/platform-fastify'

/** The platforms on which Nest serves HTTP. */
export const platforms: Readonly<Record<string, () => ExpressAdapter | FastifyAdapter>> = {
  Express: () => new ExpressAdapter(),
  Fastify: () => new FastifyAdapter(),
}

const apps: INestApplication[] = []

/** Closes the apps that a test has made. */
export const closeApps = (): Promise<unknown> => Promise.all(apps.splice(0).map((app) => app.close()))

/** An app with these modules and controllers. */
export async function appOf(
  platform: string,
  imports: readonly object[],
  controllers: readonly Type[],
  providers: readonly object[] = [],
): Promise<INestApplication> {
  class App {}
  Module({ imports: imports as never[], controllers: [...controllers], providers: providers as never[] })(App)
  const adapter = platforms[platform] as () => ExpressAdapter
  const app = await NestFactory.create(App, adapter(), { logger: false, abortOnError: false })
  apps.push(app)
  return app
}

/** The server of an app that is ready, which does not listen yet. */
export async function serverOf(app: INestApplication): Promise<Server> {
  await app.init()
  const instance = app.getHttpAdapter().getInstance() as { ready?: () => Promise<void> }
  if (instance.ready?.length === 0 || app.getHttpAdapter().getType() === 'fastify') await instance.ready?.()
  return app.getHttpServer() as Server
}

/** The paths of a route for all: Express 5 names its wildcards. */
export const everyPath = (platform: string): string[] =>
  platform === 'Fastify' || process.env.FRAMEWORKS === 'oldest' ? ['/', '*'] : ['/', '*path']
