import { describe, expect, it } from "vitest";
import { parseHierarchies } from "./cgroups";

describe("parseHierarchies", () => {
  it("reads those of version 1 with their controllers, and skips other mounts", () => {
    const mountinfo = `24 1 8:1 / / rw,relatime - ext4 /dev/sda rw
31 24 0:26 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct
32 24 0:27 / /sys/fs/cgroup/systemd rw,nosuid shared:10 - cgroup cgroup rw,xattr,name=systemd
33 24 0:28 / /sys/fs/cgroup/unified rw,nosuid shared:11 - cgroup2 cgroup2 rw,nsdelegate
`;
    expect(parseHierarchies(mountinfo)).toEqual([
      { mountPoint: "/sys/fs/cgroup/cpu,cpuacct", version: 1, controllers: ["cpu", "cpuacct"] },
      { mountPoint: "/sys/fs/cgroup/systemd", version: 1, controllers: ["name=systemd"] },
      { mountPoint: "/sys/fs/cgroup/unified", version: 2, controllers: [] },
    ]);
  });

  it("lists a hierarchy once if it is mounted twice, and reads lines without optional fields", () => {
    const line = "30 24 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw";
    expect(parseHierarchies(`${line}\n${line}`)).toEqual([
      { mountPoint: "/sys/fs/cgroup", version: 2, controllers: [] },
    ]);
  });
});
