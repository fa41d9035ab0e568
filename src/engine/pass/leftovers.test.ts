import { describe, expect, it } from "vitest";
import { FLOW_PREFIX, MANAGED_BY_LABEL, MANAGER, OWNER_UID_LABEL } from "../../api/names";
import { ForbiddenError, TransientError } from "../../core/errors";
import type { Permission } from "../../core/intent";
import { ownedName, ownerAnnotations, ownerLabels } from "../../core/owned";
import { EmptyReaders } from "../../core/testing/empty-readers";
import { FakeClock } from "../../core/testing/fake-clock";
import type { ClusterKind, ClusterObjectView } from "../../core/views";
import { makeObject, MemoryObjects, RecordingLog, RecordingMetrics, RecordingWriter } from "../testing/fakes";
import { Executor } from "../write/executor";
import { deleteLeftovers } from "./leftovers";

const MINUTE = 60_000;
const PERMISSIONS: readonly Permission[] = [
  { apiGroup: "flowcontrol.apiserver.k8s.io", resource: "flowschemas", verbs: ["delete"], why: "" },
];
const gone = { ...makeObject("team/gone"), metadata: { ...makeObject("team/gone").metadata, uid: "gone" } };

class World extends EmptyReaders {
  readonly writer = new RecordingWriter();
  readonly log = new RecordingLog();
  readonly metrics = new RecordingMetrics();
  readonly executor: Executor;
  readonly remedies = [{ permissions: PERMISSIONS }];
  readonly owners = new Set<string>();
  readonly store = new MemoryObjects();
  views: ClusterObjectView[] = [];
  failure: Error | undefined;
  leads = true;
  isLeader = () => this.leads;

  constructor(override readonly clock = new FakeClock("2025-01-01T00:00:00Z")) {
    super(clock);
    this.executor = new Executor(this);
    this.writer.answer = ({ target }) => {
      this.views = this.views.filter(({ name, kind }) => name !== target.name || kind !== target.kind);
      return Promise.resolve();
    };
  }

  /** Something that the operator made for an object an hour ago. */
  make(over: Partial<ClusterObjectView> = {}, owner = gone): ClusterObjectView {
    const kind = over.kind ?? "FlowSchema";
    const name = ownedName(FLOW_PREFIX, ["team"], [kind, `${this.views.length}`]);
    const view: ClusterObjectView = {
      ...{ apiVersion: "flowcontrol.apiserver.k8s.io/v1", kind, name, uid: `uid-${name}`, resourceVersion: "7" },
      createdAtMs: this.clock.now().getTime() - 60 * MINUTE,
      labels: ownerLabels(owner),
      annotations: ownerAnnotations(owner),
      spec: {},
      ...over,
    };
    this.views.push(view);
    return view;
  }

  override clusterObjects(kind: ClusterKind) {
    if (this.failure !== undefined) return Promise.reject(this.failure);
    return Promise.resolve(this.views.filter(view => view.kind === kind));
  }

  async sweep(): Promise<string[]> {
    const { executor, remedies, isLeader, log, store } = this;
    await deleteLeftovers({ readers: this, store, executor, remedies, isLeader, log }, this.owners);
    return this.writer.written.map(({ target }) => target.name);
  }
}

describe("leftovers of an object that is gone", () => {
  it("are deleted with uid and resourceVersion as preconditions, and logged", async () => {
    const world = new World();
    world.owners.add("uid-of-alive");
    world.make({}, makeObject("team/alive"));
    const { name, uid } = world.make();
    // A person may have removed the name of their owner.
    const nameless = world.make({ annotations: {} });
    expect(await world.sweep()).toEqual([name, nameless.name]);
    expect(world.writer.written[0]).toMatchObject({ verb: "delete", target: { name, uid, resourceVersion: "7" } });
    expect(world.log.lines).toContainEqual({
      level: "warn",
      fields: { kind: "FlowSchema", name, owner: "team/gone" },
      message: "deleted a leftover",
    });
    expect(world.metrics.seen).toContain("intent:leftovers:delete:Executed");
  });

  it.each([
    ["without an owner", { labels: { [MANAGED_BY_LABEL]: MANAGER } }],
    ["with an empty owner", { labels: { [MANAGED_BY_LABEL]: MANAGER, [OWNER_UID_LABEL]: "" } }],
    ["of another manager", { labels: { [OWNER_UID_LABEL]: "gone" } }],
    ["with a name that the operator does not give", { name: "controller-resilience-my-copy" }],
    ["that are being deleted already", { deletedAtMs: 1 }],
  ])("do not include objects %s", async (_, over) => {
    const world = new World();
    world.make(over);
    expect(await world.sweep()).toEqual([]);
  });

  it.each([
    ["stay while the owner is there, which was made after the list", "gone", []],
    ["are deleted if their owner was made again", "another", [expect.any(String)]],
  ])("%s, whatever the clocks say", async (_, uid, expected) => {
    const world = new World();
    world.make();
    world.store.put({ ...gone, metadata: { ...gone.metadata, uid } });
    expect(await world.sweep()).toEqual(expected);
  });

  it("stay where FlowSchemas cannot be read, which without the right is no failure", async () => {
    const world = new World();
    world.make();
    world.failure = new ForbiddenError("list: forbidden (403)");
    expect(await world.sweep()).toEqual([]);
    world.failure = new TransientError("list timed out");
    await expect(world.sweep()).rejects.toThrow("list timed out");
  });

  it("are deleted in one sweep, what throttles a client first", async () => {
    const world = new World();
    const on = (name: string) => ({ priorityLevelConfiguration: { name } });
    for (let i = 0; i < 199; i++) world.make({ spec: on("controller-resilience-shared") });
    const { name } = world.make({ spec: on("controller-resilience-tar-pit") });
    const deleted = await world.sweep();
    expect([deleted.length, deleted[0]]).toEqual([200, name]);
  });

  it("stay while the owners cannot be listed", async () => {
    const world = new World();
    world.make();
    world.store.list = () => Promise.reject(new TransientError("list timed out"));
    await expect(world.sweep()).rejects.toThrow("list timed out");
    expect(world.writer.written).toEqual([]);
  });

  it("are deleted by the leader only", async () => {
    const world = new World();
    world.make();
    world.leads = false;
    expect(await world.sweep()).toEqual([]);
  });

  it("whose deletion is refused are tried again", async () => {
    const world = new World();
    world.make();
    const { answer } = world.writer;
    world.writer.answer = () => Promise.reject(new ForbiddenError("delete flowschemas: forbidden (403)"));
    await world.sweep();
    expect(world.log.lines.at(-1)).toMatchObject({ level: "warn", message: "intent" });
    world.writer.answer = answer;
    await world.clock.run(MINUTE);
    expect(await world.sweep()).toHaveLength(2);
    expect(world.views).toEqual([]);
  });
});
