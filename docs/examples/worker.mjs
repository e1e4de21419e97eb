// A remote worker for Node 18 or newer: claims tasks over HTTP, runs them, renews their leases and settles them.
//
//     RENTROLL_URL=http://127.0.0.1:8000 RENTROLL_TOKEN=token-tenant-a node worker.mjs films
//
// Needs no package. Put your own functions into `handlers`, by the names of the tasks. Ctrl-C or SIGTERM ends it once
// the task in hand is settled, or the wait for one is over; the same once more ends it at once.

import { fileURLToPath } from "node:url";

const LEASE_SECONDS = Number(process.env.LEASE_SECONDS ?? 30);
const WAIT_SECONDS = 20;
const REFUSED = [400, 401, 403, 404, 413];

/** Another attempt cannot help: the task becomes a dead letter. */
export class Permanent extends Error {}

export const handlers = {
  // An example. What it returns is kept as the result; what it throws is a failed attempt.
  async "film.cut"(task) {
    if (!("reel" in task.payload)) throw new Permanent("Which reel?");
    task.progress = { done: 1, total: 2, note: "cutting" }; // shown while it runs
    task.stop.throwIfAborted(); // ask now and then, or pass it to fetch: cancelled, or somebody else has it
    return { cut: task.payload.reel, fencing_token: task.generation };
  },
};

const sleep = (seconds) => new Promise((wake) => setTimeout(wake, seconds * 1000));

const failure = (error, permanent) => ({
  outcome: "failed",
  permanent,
  error: {
    class: (error?.constructor?.name || "Error").slice(0, 200),
    message: String(error?.message ?? error).slice(0, 4096),
    traceback: String(error?.stack ?? "").slice(0, 32768),
  },
});

/** One task at a time. Start more of them for more. */
export class Worker {
  constructor(url, token, queues) {
    this.url = url;
    this.headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
    this.asked = { queues, lease_seconds: LEASE_SECONDS };
    this.stopping = false;
  }

  /** Until told to stop. While the server cannot be reached, it asks again every second. */
  async run() {
    while (!this.stopping) {
      let tasks = [];
      try {
        tasks = await this.claim();
      } catch (error) {
        console.error(`No answer: ${error.message}`);
      }
      for (const task of tasks) await this.workOn(task);
      if (tasks.length === 0) await sleep(1); // the server may not have let us wait
    }
  }

  async claim(wait = WAIT_SECONDS) {
    const claimed = await this.post("/v1/leases", { ...this.asked, wait });
    this.asked.worker = claimed.worker; // who we are from now on
    return claimed.tasks;
  }

  async workOn(task) {
    const stopping = new AbortController();
    task.stop = stopping.signal;
    const heart = setInterval(() => this.keep(task, heart, stopping), (LEASE_SECONDS / 3) * 1000);
    const verdict = await this.verdictOn(task);
    clearInterval(heart);
    await this.settle(task, verdict);
  }

  async verdictOn(task) {
    let result;
    try {
      const handler = Object.hasOwn(handlers, task.name) && handlers[task.name];
      if (!handler) throw new Permanent(`No handler for ${task.name}.`);
      result = await handler(task);
    } catch (error) {
      return task.stop.aborted ? { outcome: "released" } : failure(error, error instanceof Permanent);
    }
    try {
      return { outcome: "succeeded", result: JSON.parse(JSON.stringify(result) ?? "null") };
    } catch (error) {
      return failure(error, true); // its work is done, and cannot be told
    }
  }

  /** Renew the lease, until somebody else has it: what we do from then on does not count. */
  async keep(task, heart, stopping) {
    const { progress } = task;
    delete task.progress; // said once: what is refused stops no other renewal
    try {
      const news = progress ? { progress } : {};
      const answer = await this.lease("renew", task, news, { lease_seconds: LEASE_SECONDS });
      if (answer.problem || answer.cancel_requested) stopping.abort();
      if (!answer.problem) return;
      console.error(`Lost: ${answer.problem.detail}`);
      clearInterval(heart);
    } catch (error) {
      console.error(`Not renewed: ${error.message}`); // two more tries before it is over
    }
  }

  /** Say it until it was heard: saying it twice does no harm. */
  async settle(task, verdict) {
    let answer;
    while (!answer) {
      try {
        answer = await this.lease("settle", task, verdict);
      } catch ({ status, message }) {
        if (REFUSED.includes(status)) answer = { problem: { status, detail: message } };
        else await sleep(1);
      }
    }
    const { problem } = answer;
    if ([400, 413].includes(problem?.status) && verdict.outcome === "succeeded") {
      const refused = new Error(`The result was refused: ${JSON.stringify(problem)}`);
      return this.settle(task, failure(refused, true));
    }
    if (problem) console.error(`Refused: ${problem.detail}`);
    return answer;
  }

  /** Renew or settle one lease; what became of it. */
  async lease(verb, task, said = {}, more = {}) {
    const fence = { task_id: task.id, generation: task.generation };
    const body = { worker: this.asked.worker, leases: [{ ...fence, ...said }], ...more };
    return (await this.post(`/v1/leases/${verb}`, body)).leases[0];
  }

  async post(path, body) {
    const signal = AbortSignal.timeout((WAIT_SECONDS + 10) * 1000);
    const options = { method: "POST", headers: this.headers, body: JSON.stringify(body), signal };
    const answer = await fetch(this.url + path, options);
    if (answer.ok) return answer.json();
    throw Object.assign(new Error(await answer.text()), { status: answer.status });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { RENTROLL_URL, RENTROLL_TOKEN } = process.env;
  const worker = new Worker(RENTROLL_URL, RENTROLL_TOKEN, process.argv.slice(2));
  for (const name of ["SIGINT", "SIGTERM"]) process.once(name, () => (worker.stopping = true));
  await worker.run();
}
