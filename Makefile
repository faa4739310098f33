# Every step says what it does and how long it took. Without ROS sourced, tools/ros-env builds a
# private ROS 2 Jazzy in .ros/ first; with it, that is used and nothing is downloaded.

RUN = tools/ros-env

.PHONY: demo test test-all bench soak build setup clean distclean

demo: build
	@$(RUN) tools/demo

test: build
	@$(RUN) tools/test

test-all: build
	@$(RUN) tools/test --long

bench: build
	@$(RUN) tools/bench

soak: build
	@$(RUN) tools/soak

build: setup
	@$(RUN) tools/build

setup:
	@$(RUN)

clean:
	rm -rf build install log .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .benchmarks

distclean: clean
	rm -rf .ros
