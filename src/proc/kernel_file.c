/*
 * Lines of such files are short; a line longer than the buffer is read as several.
 */
#include "proc/kernel_file.h"

#include <limits.h>
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

bool kernel_file_group(const char *root, const char *controller, char *path, size_t size)
{
    char file[PATH_MAX], line[PATH_MAX + 64];
    snprintf(file, sizeof file, "%s/proc/self/cgroup", root);
    FILE *f = fopen(file, "re");
    if (f == NULL)
        return false;
    bool is_found = false;
    /* A line is ID:CONTROLLERS:PATH. */
    while (!is_found && fgets(line, sizeof line, f) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        char *of_line = strchr(line, ':'), *group = of_line == NULL ? NULL : strchr(of_line + 1, ':');
        if (group == NULL)
            continue;
        *group++ = '\0';
        is_found = strcmp(of_line + 1, controller) == 0 && strlen(group) < size;
        if (is_found)
            strcpy(path, group);
    }
    fclose(f);
    return is_found;
}
