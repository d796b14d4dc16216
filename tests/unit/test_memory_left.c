/*
 * What is left of memory, read from made-up files of the kernel: the machine's, and both versions of control
 * groups.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../cases.h"
#include "proc/memory.h"

#define MIB ((uint64_t)1 << 20)
#define MEMINFO "MemTotal:       1048576 kB\nMemFree: 1 kB\nMemAvailable:    524288 kB\n"

struct file {
    const char *path, *text;
};

struct example {
    const char *name;
    struct file files[8];
    bool is_known;
    uint64_t total, available;
};

static const struct example examples[] = {
    {"nothing is known", {{0}}, false, 0, 0},
    {"a machine", {{"proc/meminfo", MEMINFO}}, true, 1024 * MIB, 512 * MIB},
    {"version 2: what the kernel can take back is available",
     {{"proc/meminfo", MEMINFO},
      {"proc/self/cgroup", "0::/unit\n"},
      {"sys/fs/cgroup/unit/memory.max", "104857600\n"},
      {"sys/fs/cgroup/unit/memory.current", "94371840\n"},
      {"sys/fs/cgroup/unit/memory.stat", "anon 1\ninactive_file 5242880\n"}},
     true,
     100 * MIB,
     15 * MIB},
    {"version 2: the group around it is tighter",
     {{"proc/meminfo", MEMINFO},
      {"proc/self/cgroup", "0::/outer/inner\n"},
      {"sys/fs/cgroup/outer/memory.max", "104857600\n"},
      {"sys/fs/cgroup/outer/memory.current", "103809024\n"},
      {"sys/fs/cgroup/outer/inner/memory.max", "max\n"},
      {"sys/fs/cgroup/outer/inner/memory.current", "1048576\n"}},
     true,
     100 * MIB,
     1 * MIB},
    {"version 1",
     {{"proc/meminfo", MEMINFO},
      {"proc/self/cgroup", "9:cpu,cpuacct:/x\n4:memory:/box\n0::/\n"},
      {"sys/fs/cgroup/memory/box/memory.limit_in_bytes", "104857600\n"},
      {"sys/fs/cgroup/memory/box/memory.usage_in_bytes", "104857600\n"},
      {"sys/fs/cgroup/memory/box/memory.stat", "total_inactive_file 1048576\n"}},
     true,
     100 * MIB,
     1 * MIB},
    {"a container: the path is the one outside",
     {{"proc/meminfo", MEMINFO},
      {"proc/self/cgroup", "4:memory:/docker/1234\n"},
      {"sys/fs/cgroup/memory/memory.limit_in_bytes", "104857600\n"},
      {"sys/fs/cgroup/memory/memory.usage_in_bytes", "62914560\n"}},
     true,
     100 * MIB,
     40 * MIB},
    {"more is used than there may be",
     {{"proc/meminfo", MEMINFO},
      {"proc/self/cgroup", "0::/unit\n"},
      {"sys/fs/cgroup/unit/memory.max", "1048576\n"},
      {"sys/fs/cgroup/unit/memory.current", "2097152\n"}},
     true,
     1 * MIB,
     0},
};

static void write_file(const char *root, const struct file *file)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", root, file->path);
    for (char *slash = strchr(path + strlen(root) + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    assert_true(fputs(file->text, f) >= 0);
    fclose(f);
}

TEST(the_tightest_bound_decides)
{
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        const struct example *e = &examples[i];
        char root[] = "/tmp/cl-mcp-test-memory-XXXXXX", command[128];
        assert_non_null(mkdtemp(root));
        for (const struct file *f = e->files; f->path != NULL; f++)
            write_file(root, f);
        struct memory_left left;
        bool is_known = memory_read(root, &left);
        snprintf(command, sizeof command, "rm -r %s", root);
        assert_int_equal(system(command), 0);
        if (is_known != e->is_known || left.total != e->total || left.available != e->available)
            fail_msg("%s: %llu of %llu bytes", e->name, (unsigned long long)left.available,
                     (unsigned long long)left.total);
    }
}
