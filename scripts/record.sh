# Shared by the scripts that run tests: they write the results to a record, and scripts/summary.py reads it.
# To be sourced, in the folder above scripts/, by a script that sets `label`. A caller that merges several records names
# the file in CL_MCP_TEST_RECORD.

record=${CL_MCP_TEST_RECORD:-}
[ -n "$record" ] || record=$(mktemp)
: >"$record"

note() { # note KIND LABEL TEXT: a line of the record; scripts/summary.py has the kinds
    printf '%s\t%s\t%s\n' "$1" "$2" "$3" >>"$record"
}

finish() { # finish [STEP]: print the summary and end; STEP failed, if one is named
    trap - EXIT INT TERM
    # shellcheck disable=SC2154 # the script that sources this sets it
    [ -z "${1:-}" ] || note failed "$label" "$1"
    echo end >>"$record"
    status=0
    python3 scripts/summary.py "$record" || status=$?
    # Without Python the set-up has failed.
    [ "$status" -le 1 ] || echo "0 passed, 1 failed"
    [ -n "${CL_MCP_TEST_RECORD:-}" ] || rm -f "$record"
    exit "$((status > 0))"
}

trap 'finish "it stopped early"' EXIT
trap 'finish interrupted' INT TERM

step() { # step NAME COMMAND...: run it; the end of everything if it fails
    name=$1
    shift
    echo
    echo "== $name"
    "$@" || finish "$name"
}

# A file with a failure is run once more, by itself: a test that fails twice has failed. The summary names those that pass
# the second time.
run_again() { # run_again LOG COMMAND...: COMMAND with the names of the tests that failed in LOG, if any did
    again=$(python3 scripts/summary.py --failed "$1" 2>/dev/null)
    shift
    [ -n "$again" ] || return 0
    echo
    echo "== once more, one after the other: $again"
    # shellcheck disable=SC2086 # one word a test
    "$@" $again </dev/null
}

# Most files keep one processor busy, some wait for most of their time: two of them for each processor leave little idle.
test_processes=$(($(nproc) * 2))

suites() { # suites LABEL FOLDER LOG MESON-TEST-ARGUMENT...: run tests of a build folder; LOG is the name of their log
    suites_label=$1 folder=$2 log=$3
    shift 3
    rm -f "$folder/meson-logs/$log.json" "$folder/meson-logs/$log-again.json"
    meson test -C "$folder" --no-rebuild --print-errorlogs --logbase "$log" \
        --num-processes "$test_processes" --timeout-multiplier "${CL_MCP_TEST_STRETCH:-1}" "$@" </dev/null
    run_again "$folder/meson-logs/$log.json" meson test -C "$folder" --no-rebuild --print-errorlogs \
        --logbase "$log-again" --num-processes 1 --timeout-multiplier "${CL_MCP_TEST_STRETCH:-1}"
    note tests "$suites_label" "$(meson test -C "$folder" --no-rebuild --list "$@" 2>/dev/null </dev/null | wc -l)"
    if [ -e "$folder/meson-logs/$log.json" ]; then
        note log "$suites_label" "$folder/meson-logs/$log.json"
    else
        note failed "$suites_label" "tests in $folder"
    fi
}
