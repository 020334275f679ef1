package main

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tablewake/tablewake/cmd/internal/clitest"
	"github.com/tablewake/tablewake/cmd/internal/commands"
	"github.com/tablewake/tablewake/pipeline/filelock"
	"github.com/tablewake/tablewake/sinks/local"
)

// update rewrites the golden parts of the scripts: go test ./cmd/tablewake -update.
var update = flag.Bool("update", false, "rewrite the golden parts of the scripts")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"tablewake": main})
}

// TestScripts runs the command line as users do. Each script in testdata covers one workflow.
func TestScripts(t *testing.T) {
	shop, err := filepath.Abs(filepath.Join("..", "..", "test", "fixtures", "shop"))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           "testdata",
		UpdateScripts: *update,
		Setup: func(e *testscript.Env) error {
			e.Setenv("SHOP", shop)
			e.Setenv("STREAMS", shopStreams(t))
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits,
			"lock":  lock,
		},
	})
}

// exits runs tablewake and checks its exit code: exits CODE ARG...
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE ARG...")
	}
	script := `tablewake "$@"; echo $? > ` + ts.MkAbs(".exit")
	ts.Check(ts.Exec("sh", append([]string{"-c", script, "tablewake"}, args[1:]...)...))
	code, err := os.ReadFile(ts.MkAbs(".exit"))
	ts.Check(err)
	if got := string(code[:len(code)-1]); got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

// lock holds a --local folder as another process would, up to the end of the script: lock shared|exclusive DIR.
func lock(ts *testscript.TestScript, neg bool, args []string) {
	how := map[string]filelock.Mode{"shared": filelock.Shared, "exclusive": filelock.Exclusive}
	if neg || len(args) != 2 || how[args[0]] == 0 {
		ts.Fatalf("usage: lock shared|exclusive DIR")
	}
	taken, err := filelock.Take(context.Background(), filepath.Join(ts.MkAbs(args[1]), local.LockFile), how[args[0]], 0)
	ts.Check(err)
	ts.Defer(func() { _ = taken.Release() })
}

// program has all commands of tablewake.
var program = clitest.Program(commands.All())
