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

// victimEnv makes the test binary a process that writes to the file it names
// until it is killed.
const victimEnv = "TABLEWAKE_TEST_SQLITE_VICTIM"

// countingEnv does so with a process that counts items in groups.
const countingEnv = "TABLEWAKE_TEST_SQLITE_COUNTING"

// rowsPerCall is how many rows the victim writes in one call, all of one version.
const rowsPerCall = 50

// victim raises all rows from version to version, and tells each version that is held.
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

// killed runs a victim until it has told a number, kills it, and returns what it told last.
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
	for lines.Scan() { // the answers that it got before it died
		told, _ = strconv.Atoi(lines.Text())
	}
	if err := process.Wait(); err == nil {
		t.Fatal("the process ended by itself")
	}
	return told
}

// A killed process leaves the writes that were reported as held, each call whole or not at all, and the next process
// continues.
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
