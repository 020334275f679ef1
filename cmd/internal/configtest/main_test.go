package configtest

import (
	"testing"

	"github.com/tablewake/tablewake/test/testmain"
)

// Each test of a file opens stores.
func TestMain(m *testing.M) { testmain.Run(m, testmain.Checks(20)) }
