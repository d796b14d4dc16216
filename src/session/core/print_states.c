/*
 * Prints docs/states.md from the table of session states.
 */
#include <stdio.h>

#include "session/core/states.h"

static void print_table(void)
{
    printf("| |");
    for (int e = 0; e < SESSION_EVENT_COUNT; e++)
        printf(" %s |", session_event_texts[e]);
    printf("\n| --- |");
    for (int e = 0; e < SESSION_EVENT_COUNT; e++)
        printf(" --- |");
    for (int s = 0; s < SESSION_STATE_COUNT; s++) {
        printf("\n| **%s** |", session_state_texts[s]);
        for (int e = 0; e < SESSION_EVENT_COUNT; e++)
            printf(" %s |",
                   session_table[s][e] == ACTION_ignore ? "" : session_action_texts[session_table[s][e]]);
    }
    printf("\n");
}

int main(void)
{
    printf("# The states of a session\n\n"
           "Printed from `src/session/core/states.c` by `build/src/session/print_states`; a test compares "
           "the two. "
           "[design.md](design.md)\nexplains the model behind it. A session is in one state at a time, and "
           "everything that happens to it is an event. The table gives\nthe action for each state and event; "
           "the "
           "action determines the next state. Nothing else changes the state. An empty cell ignores\nthe "
           "event.\n\n");
    print_table();
    printf("\n| state | meaning |\n| --- | --- |\n");
#define X(name, text, meaning) printf("| %s | %s |\n", text, meaning);
    SESSION_STATES(X)
    printf("\n| event | meaning |\n| --- | --- |\n");
    SESSION_EVENTS(X)
#undef X
    printf("\n| action | effect | file |\n| --- | --- | --- |\n");
#define X(name, file, effect) printf("| %s | %s | %s |\n", #name, effect, file);
    SESSION_ACTIONS(X)
#undef X
    return 0;
}
