/** Work that is done a little in each frame, so that none is late: the latest job first, since it is at the end that people look. */

const BUDGET_MS = 8;
const jobs = new Set<() => boolean>();
let isAsked = false;

/** Call `job` in the frames to come until it answers false: it has no more to do. */
export function inFrames(job: () => boolean): void {
  jobs.add(job);
  ask();
}

function ask(): void {
  if (!isAsked && jobs.size > 0) {
    isAsked = true;
    requestAnimationFrame(work);
  }
}

function work(): void {
  isAsked = false;
  const end = performance.now() + BUDGET_MS;
  for (const job of [...jobs].reverse()) {
    if (!job()) {
      jobs.delete(job);
    }
    if (performance.now() > end) {
      break;
    }
  }
  ask();
}
