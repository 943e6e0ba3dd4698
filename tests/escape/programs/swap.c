/* Exchanges folders, files and links without a pause, until it is killed: swap NAME OTHER ... */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(int count, char **words)
{
    for (;;)
        for (int i = 1; i + 1 < count; i += 2)
            renameat2(AT_FDCWD, words[i], AT_FDCWD, words[i + 1], RENAME_EXCHANGE);
}
