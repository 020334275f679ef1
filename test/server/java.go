package server

import (
	"context"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
)

// InstallJava installs the dependencies of the pom and the compiled source into a folder of the cache, and returns
// the class path. Only the first call on a machine installs them. name is the first part of the folder's name, so a
// different pom or source is a separate install.
func InstallJava(ctx context.Context, name string, pom []byte, file string, source []byte) (string, error) {
	jdk := jdk{least: 17}
	check := func() error { return checkTools(jdk.tool("java", "-version"), jdk.tool("javac", "-version"), maven()) }
	dir, err := installOnce(fmt.Sprintf("%s-%08x", name, recipe(pom, source)), check, func(dir string) error {
		if err := copyDependencies(ctx, dir, pom); err != nil {
			return err
		}
		return compile(ctx, dir, jdk.program("javac"), file, source)
	})
	return classpath(dir), err
}

// recipe returns a number that identifies a pom and a source.
func recipe(pom, source []byte) uint32 {
	return crc32.Update(crc32.ChecksumIEEE(pom), crc32.IEEETable, source)
}

// compile compiles a source file, which may use dir/lib, into dir/classes.
func compile(ctx context.Context, dir, javac, file string, source []byte) error {
	path := filepath.Join(dir, file)
	if err := os.WriteFile(path, source, 0o644); err != nil {
		return err
	}
	return runTool(ctx, dir, javac, "-cp", filepath.Join(dir, "lib", "*"), "-d", filepath.Join(dir, "classes"), path)
}

func classpath(dir string) string {
	return filepath.Join(dir, "classes") + string(os.PathListSeparator) + filepath.Join(dir, "lib", "*")
}
