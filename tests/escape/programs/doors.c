/* Tries what leads out of a box; says one line each: name and errno's name, or "open". */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static void tell(const char *name, long result)
{
    int error = errno;
    printf("%s %s\n", name, result >= 0 ? "open" : strerrorname_np(error));
    fflush(stdout);
}
#define TRY(name, call) do { errno = 0; tell(name, (long)(call)); } while (0)

int main(void)
{
    char bytes[256] = "user";
    struct { void *at; size_t size; } here = {bytes, 8}, there = {(void *)0x400000, 8};
    struct sched_param least = {0};
    unsigned long words[16] = {48 | 5UL << 32};
    struct rlimit none = {0, 0};
    struct clone_args clone = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
    int parent = getppid();

    TRY("unshare-user", syscall(SYS_unshare, CLONE_NEWUSER));
    TRY("unshare-mount", syscall(SYS_unshare, CLONE_NEWNS));
    TRY("unshare-net", syscall(SYS_unshare, CLONE_NEWNET));
    TRY("setns", syscall(SYS_setns, 0, 0));
    TRY("clone-user", syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
    TRY("clone3-user", syscall(SYS_clone3, &clone, sizeof clone));
    TRY("mount", syscall(SYS_mount, "none", "/tmp", "tmpfs", 0, 0));
    TRY("umount", syscall(SYS_umount2, "/proc", 2));
    TRY("pivot-root", syscall(SYS_pivot_root, ".", "."));
    TRY("chroot", syscall(SYS_chroot, "/tmp"));
    TRY("fsopen", syscall(SYS_fsopen, "tmpfs", 0));
    TRY("open-tree", syscall(SYS_open_tree, -100, "/", 1));
    TRY("move-mount", syscall(SYS_move_mount, -100, "/", -100, "/tmp", 0));
    TRY("bpf", syscall(SYS_bpf, 0, 0, 0));
    TRY("perf", syscall(SYS_perf_event_open, 0, 0, -1, -1, 0));
    TRY("userfaultfd", syscall(SYS_userfaultfd, 1));
    TRY("io-uring", syscall(SYS_io_uring_setup, 4, words));
    TRY("keyctl", syscall(SYS_keyctl, 0, -3, 0));
    TRY("add-key", syscall(SYS_add_key, bytes, "x", "y", 1, -3));
    TRY("request-key", syscall(SYS_request_key, bytes, "x", 0, 0));
    TRY("kexec", syscall(SYS_kexec_load, 0, 0, 0, 0));
    TRY("init-module", syscall(SYS_init_module, 0, 0, ""));
    TRY("syslog", syscall(SYS_syslog, 3, bytes, 8));
    TRY("open-by-handle", syscall(SYS_open_by_handle_at, -100, bytes, 0));
    TRY("fanotify", syscall(SYS_fanotify_init, 0, 0));
    TRY("pidfd-getfd", syscall(SYS_pidfd_getfd, 0, 0, 0));
    TRY("reboot", syscall(SYS_reboot, 0, 0, 0, 0));
    TRY("sethostname", syscall(SYS_sethostname, "x", 1));
    TRY("settimeofday", syscall(SYS_settimeofday, 0, 0));
    TRY("acct", syscall(SYS_acct, 0));
    TRY("swapon", syscall(SYS_swapon, "x", 0));
    TRY("iopl", syscall(SYS_iopl, 3));
    TRY("kcmp", syscall(SYS_kcmp, 1, 1, 0, 0, 0));
    TRY("vhangup", syscall(SYS_vhangup));
    TRY("ptrace-attach", syscall(SYS_ptrace, 16, parent, 0, 0));
    TRY("ptrace-seize", syscall(SYS_ptrace, 0x4206, 1, 0, 0));
    TRY("read-memory", syscall(SYS_process_vm_readv, parent, &here, 1, &there, 1, 0));
    TRY("write-memory", syscall(SYS_process_vm_writev, parent, &here, 1, &there, 1, 0));
    TRY("limit-supervisor", syscall(SYS_prlimit64, 1, RLIMIT_NOFILE, &none, 0));
    TRY("limit-slot", syscall(SYS_prlimit64, parent, RLIMIT_CPU, &none, 0));
    TRY("idle-supervisor", syscall(SYS_sched_setscheduler, 1, SCHED_IDLE, &least));
    TRY("idle-slot", syscall(SYS_sched_setscheduler, parent, SCHED_IDLE, &least));
    TRY("param-slot", syscall(SYS_sched_setparam, parent, &least));
    TRY("attr-slot", syscall(SYS_sched_setattr, parent, words, 0));
    TRY("pin-slot", syscall(SYS_sched_setaffinity, parent, 8, words));
    TRY("nice-slot", syscall(SYS_setpriority, PRIO_PROCESS, parent, 19));
    TRY("nice-session", syscall(SYS_setpriority, PRIO_PGRP, parent, 19));
    TRY("nice-everybody", syscall(SYS_setpriority, PRIO_USER, 0, 19));
    TRY("io-idle-slot", syscall(SYS_ioprio_set, 1, parent, 3 << 13));
    TRY("io-idle-everybody", syscall(SYS_ioprio_set, 3, getuid(), 3 << 13));
    TRY("kill-supervisor", parent == 1 ? -1 : kill(1, SIGKILL));
    TRY("type-into-terminal", syscall(SYS_ioctl, 0, 0x5412, "x"));
    TRY("sysv-queue", syscall(SYS_msgget, 1, 0666 | 01000));
    TRY("message-queue", syscall(SYS_mq_open, "x", O_CREAT | O_RDWR, 0600, 0));
    for (int family = 3; family < 46; family++)
        if (family != AF_INET6 && family != AF_NETLINK) {
            char name[32];
            sprintf(name, "family-%d", family);
            TRY(name, socket(family, SOCK_STREAM, 0) & socket(family, SOCK_RAW, 0)
                          & socket(family, SOCK_DGRAM, 0) & socket(family, SOCK_SEQPACKET, 0));
        }
    TRY("raw-socket", socket(AF_INET, SOCK_RAW, 1));
    TRY("audit-socket", socket(AF_NETLINK, SOCK_RAW, 9));
    static const char *files[] = {
        "/proc/1/mem", "/proc/1/environ", "/proc/1/maps", "/proc/1/fd", "/proc/1/root",
        "/proc/1/cwd", "/proc/1/oom_score_adj", "/proc/sysrq-trigger",
        "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/kcore", "/dev/mem",
        "/dev/kmsg", "/dev/fuse", "/dev/kvm", "/dev/console", "/dev/tty", "/dev/vda", "/dev/sda",
        "/dev/net/tun", "/sys/kernel/debug", "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/pids/pids.max", "/sys/fs/cgroup/cgroup.procs",
        "/sys/fs/cgroup/memory/cgroup.procs", "/var/run/docker.sock", "/run/docker.sock",
    };
    for (unsigned i = 0; i < sizeof files / sizeof *files; i++)
        TRY(files[i], open(files[i], strncmp(files[i], "/proc/1/", 8) || strstr(files[i], "adj") ? O_WRONLY
                                                                                       : O_RDONLY));
    static const char *doors[] = {"mem", "fd", "maps", "environ", "oom_score_adj", "autogroup"};
    for (unsigned i = 0; i < sizeof doors / sizeof *doors; i++) {
        char path[64], name[64];
        sprintf(path, "/proc/%d/%s", parent, doors[i]);
        sprintf(name, "slot-%s", doors[i]);
        TRY(name, open(path, i < 4 ? O_RDONLY : O_WRONLY));
    }
    return 0;
}
