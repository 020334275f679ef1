package testmain_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/test/testmain"
)

const leaking, child, without = "TABLEWAKE_TEST_LEAK", "TABLEWAKE_TEST_CHILD", "TABLEWAKE_TEST_WITHOUT_RACE"

func TestMain(m *testing.M) {
	testmain.Run(m,
		testmain.Child(child, func(value string) { fmt.Println("child", value) }),
		testmain.Child(without, func(string) { os.Exit(testmain.WithoutRace(func() int { return codeOf(os.Args[1:]) })) }))
}

// codeOf is 0 of a test run that has its flags, and not the race detector.
func codeOf(args []string) int {
	info, ok := debug.ReadBuildInfo()
	if !ok || slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		return 2
	}
	if !slices.Equal(args, []string{"-test.run=^TestRun_FindsGoroutines$"}) {
		return 3
	}
	fmt.Println("without")
	return 0
}

func TestRun_FindsGoroutines(t *testing.T) {
	if os.Getenv(leaking) != "" {
		go func() { select {} }()
		return
	}
	if out, err := again(t, leaking+"=1"); err == nil || !strings.Contains(out, "goroutines outlive the tests") {
		t.Errorf("a test that leaves a goroutine ends with %v: %s", err, out)
	}
}

func TestChild(t *testing.T) {
	if out, err := again(t, child+"=x"); err != nil || out != "child x\n" {
		t.Errorf("a child ends with %v: %s", err, out)
	}
}

func TestWithoutRace(t *testing.T) {
	if out, err := again(t, without+"=1"); err != nil || out != "without\n" {
		t.Errorf("the tests end with %v: %s", err, out)
	}
}

// again runs the leaking test in another process.
func again(t *testing.T, env string) (string, error) {
	t.Helper()
	run := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRun_FindsGoroutines$")
	run.Env = append(os.Environ(), env)
	out, err := run.CombinedOutput()
	return string(out), err
}
