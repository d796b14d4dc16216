# A thin front: every target is the script of the same name. Nothing here that a script does not do.
PREFIX ?= /usr/local
BUILD ?= build

all:
	@scripts/build $(BUILD)

setup:
	@scripts/setup

demo:
	@scripts/demo

check:
	@scripts/check

weight:
	@scripts/weight

bench:
	@scripts/bench

install:
	@CL_MCP_BUILD_TARGET=installed scripts/build $(BUILD) -Dprefix=$(PREFIX)
	@meson install -C $(BUILD) --no-rebuild

clean:
	rm -rf build build-*

.PHONY: all setup demo check weight bench install clean
