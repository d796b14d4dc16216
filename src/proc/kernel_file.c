/*
 * Lines of such files are short; a line longer than the buffer is read as several.
 */
#include "proc/kernel_file.h"

#include <stdio.h>
#include <string.h>

/* Whether ${line} has the number. */
static bool read_number(const char *line, const struct kernel_number *wanted)
{
    size_t key_len = strlen(wanted->key);
    long long found;
    if (strncmp(line, wanted->key, key_len) != 0 || sscanf(line + key_len, " %lld", &found) != 1)
        return false;
    *wanted->number = found;
    return true;
}

bool kernel_file_numbers(const char *path, const struct kernel_number *wanted, size_t count)
{
    char line[128];
    size_t found = 0;
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return false;
    while (found < count && fgets(line, sizeof line, f) != NULL)
        found += read_number(line, &wanted[found]);
    fclose(f);
    return found == count;
}

bool kernel_file_number(const char *path, const char *key, int64_t *number)
{
    return kernel_file_numbers(path, &(struct kernel_number){key, number}, 1);
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
