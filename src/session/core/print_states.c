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
                   session_table[s][e] == ACTION_never ? "" : session_action_texts[session_table[s][e]]);
    }
    printf("\n");
}

static void print_next(enum session_state state)
{
    const char *between = "";
    for (int next = 0; next < SESSION_STATE_COUNT; next++)
        if ((session_nexts[state] & SESSION_NEXT(next)) != 0) {
            printf("%s%s", between, session_state_texts[next]);
            between = ", ";
        }
    printf(" |\n");
}

int main(void)
{
    printf(
        "# The states of a session\n\n"
        "Printed from `src/session/core/states.c` by `build/src/session/print_states`; a test compares "
        "the two. "
        "[design.md](design.md)\nexplains the model behind it. A session is in one state at a time, and "
        "everything that happens to it is an event. The table gives\nthe action for each state and event; "
        "the action determines the next state, one of those that the second table names. Where\ntwo purposes "
        "lead into one state, a step is given with it, which follows the state (the last table). An event "
        "whose cell is\nempty cannot happen in that state.\n\n");
    print_table();
    printf("\n| state | meaning | next |\n| --- | --- | --- |\n");
#define X(name, text, meaning)                                                                               \
    printf("| %s | %s | ", text, meaning);                                                                   \
    print_next(SESSION_##name);
    SESSION_STATES(X)
#undef X
#define X(name, text, meaning) printf("| %s | %s |\n", text, meaning);
    printf("\n| event | meaning |\n| --- | --- |\n");
    SESSION_EVENTS(X)
#undef X
    printf("\n| action | effect | file |\n| --- | --- | --- |\n");
#define X(name, file, effect) printf("| %s | %s | %s |\n", #name, effect, file);
    SESSION_ACTIONS(X)
#undef X
    printf("\n| step | follows | effect | file |\n| --- | --- | --- | --- |\n");
#define X(name, state, file, effect)                                                                         \
    printf("| %s | %s | %s | %s |\n", #name, session_state_texts[SESSION_##state], effect, file);
    SESSION_STEPS(X)
#undef X
    return 0;
}
