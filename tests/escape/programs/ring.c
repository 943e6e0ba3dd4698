/* Chains of forks in which every process lives for an instant only, deaf to all signals.
 * ring CHAINS [reaper] [slot]: with a reaper of its own; killing the slot as well. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int count, char **words)
{
    int slot = getppid();

    for (int number = 1; number < 65; number++)
        signal(number, SIG_IGN);
    for (int i = 2; i < count; i++)
        if (strcmp(words[i], "reaper") == 0)
            prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (int i = 0; i < atoi(words[1]); i++)
        if (fork() == 0)
            for (;;) {
                setsid();
                int child = fork();
                if (child > 0)
                    _exit(0);
                if (child < 0)
                    usleep(100);
            }
    if (strcmp(words[count - 1], "slot") == 0)
        kill(slot, SIGKILL);
    usleep(200000);
    return 0;
}
