# Every step says what it does and how long it took. Without ROS sourced, tools/ros-env builds a
# private ROS 2 Jazzy in .ros/ first; with it, that is used and nothing is downloaded.

RUN = tools/ros-env
BUILD = tools/ros-env --build
DEV = tools/ros-env --dev

.PHONY: demo test test-all bench soak build setup workspace packages clean distclean

demo: build
	@$(RUN) tools/demo

test: build
	@$(DEV) tools/test

test-all: build
	@$(DEV) tools/test --long

bench: build
	@$(DEV) tools/bench

soak: build
	@$(DEV) tools/soak

# While the interfaces are built, what the package itself imports is installed.
build: setup
	@$(MAKE) --silent --jobs=2 workspace packages

setup:
	@$(BUILD)

workspace:
	@$(BUILD) tools/build

packages:
	@$(RUN) true

clean:
	rm -rf build install log .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .benchmarks

distclean: clean
	rm -rf .ros
