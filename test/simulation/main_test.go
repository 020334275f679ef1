package simulation

import (
	"os"
	"testing"

	"github.com/tablewake/tablewake/test/testmain"
)

func TestMain(m *testing.M) { os.Exit(testmain.WithoutRace(m.Run)) }
