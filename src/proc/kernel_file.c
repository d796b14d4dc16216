/*
 * Lines of such files are short; a line longer than the buffer is read as several.
 */
#include "proc/kernel_file.h"

#include <stdio.h>
#include <string.h>

bool kernel_file_number(const char *path, const char *key, int64_t *number)
{
    char line[128];
    size_t key_len = strlen(key);
    bool is_found = false;
    long long found;
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return false;
    while (!is_found && fgets(line, sizeof line, f) != NULL)
        is_found = strncmp(line, key, key_len) == 0 && sscanf(line + key_len, " %lld", &found) == 1;
    fclose(f);
    if (is_found)
        *number = found;
    return is_found;
}

bool kernel_file_line(const char *path, char *line, size_t size)
{
    FILE *f = fopen(path, "re");
    bool is_read = f != NULL && fgets(line, (int)size, f) != NULL;
    if (f != NULL)
        fclose(f);
    if (is_read)
        line[strcspn(line, "\n")] = '\0';
    return is_read;
}
