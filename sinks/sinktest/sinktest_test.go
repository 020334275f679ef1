package sinktest_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tablewake/tablewake/sinks/sinktest"
)

// flawEnv makes the test binary run the suite on a sink with that flaw.
const flawEnv = "TABLEWAKE_TEST_FLAW"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestSound runs the suite on a sink that holds to it; and, for TestFlaws, on
// one that does not.
func TestSound(t *testing.T) {
	f := sound
	if env := os.Getenv(flawEnv); env != "" {
		f = flaw(env)
	}
	sinktest.Run(t, suite(f))
}

// TestFlaws makes sure that each property finds the flaw that it is there for.
func TestFlaws(t *testing.T) {
	for f, property := range map[flaw]string{
		noGuard:           "Zombie",
		noTombstones:      "Fact19_LateWriteAfterDelete",
		textVersions:      "Fact1_SequencesAreNumbers",
		secondVersions:    "Fact20_OneSecond",
		swallowsErrors:    "Faults",
		firstOfBatch:      "Fact21_DeleteThenInsertInOneBatch",
		ignoresTTL:        "TTLDelete",
		ignoresUnknown:    "UnknownOperation",
		writesAtFlush:     "Crash",
		remembersTooEarly: "Fact24_PartOfABatchFails",
		losesOldState:     "OnePass",
	} {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			run := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSound$/^"+property+"$",
				"-rapid.seed=1", "-rapid.nofailfile", "-rapid.shrinktime=1ms")
			run.Env = append(os.Environ(), flawEnv+"="+string(f))
			out, err := run.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestSound/"+property) {
				t.Errorf("%s does not find the flaw: %v\n%s", property, err, out)
			}
		})
	}
}
