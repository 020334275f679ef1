package main

import (
	"cmp"
	"runtime/debug"
)

// version is a release's; what links one sets it (-X main.version=v1.2.3).
var version string

// release is the version, or what the go command knows of where the program is from.
func release() string {
	built := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok {
		built = cmp.Or(info.Main.Version, built)
	}
	return cmp.Or(version, built)
}
