package sinktest_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/test/testmain"
)

// flawEnv makes the test binary run the suite on a sink with that flaw.
const flawEnv = "TABLEWAKE_TEST_FLAW"

func TestMain(m *testing.M) { testmain.Run(m) }

// TestSound runs the suite on a correct sink, and TestFlaws on wrong ones.
func TestSound(t *testing.T) { sinktest.Run(t, suite(flawOr(sound))) }

// TestSoundByState does so with a sink that keeps what it knows of an item.
func TestSoundByState(t *testing.T) { sinktest.Run(t, seatSuite(flawOr(sound))) }

// The sink of the example holds to the suite.
func TestExample(t *testing.T) { testCopySink(t) }

func flawOr(f flaw) flaw {
	if env := os.Getenv(flawEnv); env != "" {
		return flaw(env)
	}
	return f
}

// TestFlaws makes sure that each property finds the flaw that it is there for.
func TestFlaws(t *testing.T) {
	for f, property := range map[flaw]string{
		noGuard:           "TestSound/Zombie",
		noTombstones:      "TestSound/Fact19_LateWriteAfterDelete",
		textVersions:      "TestSound/Fact1_SequencesAreNumbers",
		secondVersions:    "TestSound/Fact20_OneSecond",
		swallowsErrors:    "TestSound/Faults",
		firstOfBatch:      "TestSound/Fact21_DeleteThenInsertInOneBatch",
		ignoresTTL:        "TestSound/TTLDelete",
		ignoresUnknown:    "TestSound/UnknownOperation",
		writesAtFlush:     "TestSound/Crash",
		remembersTooEarly: "TestSound/Fact24_PartOfABatchFails",
		losesOldState:     "TestSound/OnePass",
		keepsPlans:        "TestSound/OnePass",
		forgetsItems:      "TestSoundByState/Zombie",
		ignoresStrangers:  "TestSoundByState/MidStream",
		trustsOldImages:   "TestSoundByState/LostRange",
		forgetsWaiting:    "TestSoundByState/HandOver",
		firstCome:         "TestSoundByState/Contested",
	} {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			test, part, _ := strings.Cut(property, "/")
			run := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+test+"$/^"+part+"$",
				"-rapid.seed=1", "-rapid.nofailfile", "-rapid.shrinktime=1ms")
			run.Env = append(os.Environ(), flawEnv+"="+string(f))
			out, err := run.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: "+property) {
				t.Errorf("%s does not find the flaw: %v\n%s", property, err, out)
			}
		})
	}
}
