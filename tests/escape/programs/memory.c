/* Takes memory in a way that is not a process's own, 16 MiB at a time, and says how much it got.
 * memory sysv|memfd|shared|semaphores|sockets MEBIBYTES */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define STEP (16 << 20)

static int sysv(void)
{
    int id = shmget(IPC_PRIVATE, STEP, 0600 | IPC_CREAT);
    char *at = id < 0 ? (char *)-1 : shmat(id, 0, 0);
    if (at == (char *)-1)
        return -1;
    memset(at, 1, STEP);
    return shmdt(at);
}

static int mapped(int fd)
{
    int flags = fd < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED;
    if (fd >= 0 && ftruncate(fd, STEP))
        return -1;
    char *at = mmap(0, STEP, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (at == MAP_FAILED)
        return -1;
    memset(at, 1, STEP);
    return fd < 0 ? 0 : munmap(at, STEP);
}

static int semaphores(void)
{
    for (int i = 0; i < 8; i++)
        if (semget(IPC_PRIVATE, 32000, 0600 | IPC_CREAT) < 0)
            return -1;
    return 0;
}

static int sockets(void)
{
    static char bytes[65536];
    for (int i = 0; i < 100; i++) {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends))
            if (fork() == 0)
                return close_range(3, ~0U, 0);
            else
                exit(wait(0) < 0);
        while (send(ends[0], bytes, sizeof bytes, MSG_NOSIGNAL) > 0)
            ;
    }
    return 0;
}

int main(int count, char **words)
{
    int got = 0, most = atoi(words[2]);

    while (got < most) {
        int failed = words[1][1] == 'y'   ? sysv()
                     : words[1][0] == 'm' ? mapped(memfd_create("x", 0))
                     : words[1][1] == 'e' && words[1][2] == 'm' && words[1][3] == 'a' ? semaphores()
                     : words[1][1] == 'o' ? sockets()
                                          : mapped(-1);
        if (failed)
            break;
        got += 16;
    }
    printf("%d\n", got);
    return 0;
}
