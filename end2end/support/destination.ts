// A payment provider on loopback: it keeps what it made by idempotency key, can be looked up by it, and counts every effect.
// What it does to the next request can be said before.
import { createServer, type IncomingMessage, type Server as HttpServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Made {
  receipt: string;
  path: string;
}

export class Destination {
  private readonly made = new Map<string, Made>();
  private readonly writes = new Map<string, number>();
  /** How many of the next writes are carried out, and their connections dropped before an answer. */
  drops = 0;
  /** Whether the next write is declined: nothing is made. */
  declinesNext = false;
  /** Whether it can be asked what it made. */
  canBeAsked = true;

  private constructor(private readonly server: HttpServer) {}

  /** Starts one on a free port. */
  static async start(): Promise<Destination> {
    const server = createServer();
    const destination = new Destination(server);
    server.on('request', (request, response) => void destination.answer(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return destination;
  }

  /** Where it is. */
  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** How many objects were made under a path. */
  effects(path: string): number {
    return [...this.made.values()].filter((made) => made.path === path).length;
  }

  /** How many writes came under each key, whatever they made. */
  get attempts(): number[] {
    return [...this.writes.values()];
  }

  /** Ends it with its connections. */
  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    for await (const _ of request);
    const url = new URL(request.url!, this.url);
    if (request.method === 'GET') {
      if (!this.canBeAsked) return json(response, 503, { error: 'down for maintenance' });
      const found = this.made.get(url.searchParams.get('key') ?? '');
      return json(response, 200, { data: found ? [{ id: found.receipt }] : [] });
    }
    const key = String(request.headers['idempotency-key']);
    this.writes.set(key, (this.writes.get(key) ?? 0) + 1);
    if (this.declinesNext) {
      this.declinesNext = false;
      return json(response, 402, { error: { code: 'declined' } });
    }
    const before = this.made.get(key);
    const made = before ?? { receipt: `obj_${this.made.size + 1}`, path: url.pathname };
    this.made.set(key, made);
    if (this.drops > 0) {
      this.drops -= 1;
      request.socket.destroy();
      return;
    }
    json(response, 200, { id: made.receipt });
  }
}

function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
