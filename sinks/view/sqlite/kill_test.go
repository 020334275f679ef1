package sqlite_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/sinks/view/sqlite"
)

// victimEnv is an environment variable with the path of a file. It makes the test binary a process that writes rows to
// the file until it is killed.
const victimEnv = "TABLEWAKE_TEST_SQLITE_VICTIM"

// countingEnv makes the test binary a process that counts items in groups of the file until it is killed.
const countingEnv = "TABLEWAKE_TEST_SQLITE_COUNTING"

// rowsPerCall is the number of rows that the victim writes in one call. All rows of a call have the same version.
const rowsPerCall = 50

// victim writes all rows at increasing versions, and prints each version after it is durable.
func victim(path string) {
	s, err := sqlite.Open(context.Background(), path, sqlite.Options{})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for version := 1; ; version++ {
		var ms []view.Mutation
		for i := range rowsPerCall {
			ms = append(ms, put(fmt.Sprintf("%04d", i), version))
		}
		if _, err := s.Apply(context.Background(), target, ms); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(version)
	}
}

// killed starts a process, kills it after it has printed last, and returns the last number that it printed.
func killed(t *testing.T, env, path string, last int) (told int) {
	t.Helper()
	process := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	process.Env = append(os.Environ(), env+"="+path)
	out, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for told < last && lines.Scan() {
		if told, err = strconv.Atoi(lines.Text()); err != nil {
			t.Fatalf("the process says %q", lines.Text())
		}
	}
	if err := process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // numbers that the process printed before it was killed
		told, _ = strconv.Atoi(lines.Text())
	}
	if err := process.Wait(); err == nil {
		t.Fatal("the process ended by itself")
	}
	return told
}

// After a process is killed, the file has all writes that were reported as written, and no partial call. The next
// process continues from there.
func TestKilledProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "views.db")
	for _, last := range []int{3, 20, 60} {
		told := killed(t, victimEnv, path, last)
		s := open(t, path, sqlite.Options{})
		versions := make(map[string]int)
		for row, err := range s.Rows(t.Context(), target.Table, view.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			versions[row.Version.String()]++
		}
		if len(versions) != 1 {
			t.Fatalf("rows of several calls: %v", versions)
		}
		for v, n := range versions {
			held, err := strconv.Atoi(v[10:])
			if err != nil {
				t.Fatal(err)
			}
			if held < told || n != rowsPerCall {
				t.Errorf("%d rows of version %d, want %d of version %d or more", n, held, rowsPerCall, told)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
